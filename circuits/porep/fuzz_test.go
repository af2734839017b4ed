package porep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tinyParams are the smallest there are, so that fuzzing has short documents.
func tinyParams() *Params {
	return &Params{SectorSize: 64, Shape: Shape{Base: 2}, Layers: 2, Partitions: 1, Challenges: 1}
}

// FuzzC1 decodes a small document of which cut bytes from at on are replaced, raw and as the content
// of Lotus's wrapper: an error or a document that comes out equal when it is written and read again,
// never a panic, and no more memory than the input warrants. (Documents as such would be too long for
// the fuzzing engine to work with; a cut of everything lets it write its own.)
func FuzzC1(f *testing.F) {
	small := encodeC1(randomC1(f, StackedDrg2KiBV1_1, *tinyParams()))
	all := uint(len(small))
	f.Add(uint(0), uint(0), []byte(nil))
	f.Add(all/2, all, []byte(nil))
	f.Add(uint(0), all, wrap(small[:100], 64))
	f.Add(uint(0), all, []byte(`{"Phase1Out":"e30=","SectorNum":1,"SectorSize":64}`))
	f.Add(uint(1), uint(0), []byte(`"a":[1,-2.5e3,true,null,{"b":"\u00e9\n"}],`))
	for _, word := range []string{"registered_proof", "hashes", "index", "Single", "rows", "node", "layer_index", "[", ",", "}", ":", "1"} {
		f.Add(uint(bytes.Index(small, []byte(word))), uint(len(word)), []byte("256"))
		f.Add(uint(bytes.LastIndex(small, []byte(word))), uint(0), []byte(" -1e1"))
	}
	o := &DecodeOptions{Params: tinyParams()}
	f.Fuzz(func(t *testing.T, at, cut uint, by []byte) {
		at = min(at, all)
		text := splice(small, int(at), int(at+min(cut, all-at)), string(by))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := DecodeC1(bytes.NewReader(text), o)
		runtime.ReadMemStats(&after)
		// The fuzzing engine allocates at the same time, hence the slack.
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20+20*len(text)))
		_, inner := DecodeC1(bytes.NewReader(wrap(text, 64)), o)
		require.True(t, err != nil || inner == nil || c.Lotus != nil, "wrapped: %v", inner)
		if err != nil {
			var d *DecodeError
			require.ErrorAs(t, err, &d)
			return
		}
		c.Lotus = nil
		again, err := DecodeC1(bytes.NewReader(encodeC1(c)), o)
		require.NoError(t, err)
		require.Equal(t, c, again)
		_ = c.Check(context.Background(), 1) // any answer, but no panic
	})
}

// FuzzSkip compares the scanner with encoding/json on what is JSON at all.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e+3,0.1,true,null,{"b":"\u00e9\n"}]}`, ` "x" `, `01`, `-`, `-0`, `1.`, `.5`, `1e`, `1E-9`, `[1,]`, `{"a":1,}`,
		`{,}`, `[,]`, `{"a" 1}`, `{"a":1 "b":2}`, `nul`, `truex`, `"\x"`, `"\u12g4"`, "\"\n\"", `[[[]]]`, ``, `1 2`, `"`, `{"a"`, `[1`, "\ufeff1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := newScanner(bytes.NewReader(text))
		err := s.skip(0)
		if err == nil {
			err = s.finish()
		}
		if errors.Is(err, ErrDepth) {
			require.Greater(t, strings.Count(string(text), "[")+strings.Count(string(text), "{"), maxDepth)
			return
		}
		require.Equal(t, json.Valid(text), err == nil, "%q: %v", text, err)
	})
}
