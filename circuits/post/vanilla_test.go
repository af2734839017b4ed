package post

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Decoding loses nothing: what is read is written byte for byte.
func TestRoundTrip(t *testing.T) {
	for _, name := range vectorNames() {
		s, proofs := decodeVector(t, name)
		p := params(t, s)
		for i, data := range blobs(t, name) {
			require.Len(t, data, p.VanillaSize())
			require.Equal(t, data, proofs[i].Append(nil, p.Shape))
			one, err := Decode(data, p)
			require.NoError(t, err)
			require.Equal(t, proofs[i], one)
		}
	}
}

// A proof of one tree is not one of another: the first length or variant tells.
func TestDecodeForeignShape(t *testing.T) {
	window, err := ParamsFor(Window, 2<<10)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		params func(p *Params)
		path   string
		err    error
	}{
		"winning":    {func(p *Params) { *p, _ = ParamsFor(Winning, 2<<10) }, "vanilla_proof.sectors[0].inclusion_proofs", ErrCount},
		"16 KiB":     {func(p *Params) { *p, _ = ParamsFor(Window, 16<<10) }, "vanilla_proof.sectors[0].inclusion_proofs[0].data", ErrVariant},
		"8 MiB":      {func(p *Params) { *p, _ = ParamsFor(Window, 8<<20) }, "vanilla_proof.sectors[0].inclusion_proofs[0].data.Single.path.path", ErrCount},
		"arity four": {func(p *Params) { p.SectorSize, p.Shape = 512, Shape{Base: 4} }, "vanilla_proof.sectors[0].inclusion_proofs[0].data.Single.path.path[0].hashes", ErrCount},
	} {
		t.Run(name, func(t *testing.T) {
			p := window
			c.params(&p)
			_, err := Decode(blobs(t, "window-post")[0], p)
			var d *DecodeError
			require.ErrorAs(t, err, &d)
			require.Equal(t, c.path, d.Path)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.path)
		})
	}
}

// Every prefix is refused as too short, at the field that it ends in.
func TestDecodeTruncated(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 13
	}
	for _, name := range []string{"window-post", "window-post-32KiB"} {
		s := loadVector(t, name).statement(t)
		p, data := params(t, s), blobs(t, name)[0]
		for n := 0; n < len(data); n += step {
			_, err := Decode(data[:n], p)
			var d *DecodeError
			require.ErrorAs(t, err, &d)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.LessOrEqual(t, d.Offset, int64(n))
			require.Greater(t, d.Offset+32, int64(n))
			require.NotEmpty(t, d.Path)
		}
	}
}

// TestMutations turns one bit of every byte of a vanilla proof, or of some: decoding or the check
// refuses it and names the part that it is in.
func TestMutations(t *testing.T) {
	step := 37
	if testing.Short() {
		step = 311
	}
	s := loadVector(t, "window-post").statement(t)
	s.Sectors = s.Sectors[2:3]
	p, data := params(t, s), blobs(t, "window-post")[2]
	size := (p.VanillaSize() - 120) / p.Challenges // of an inclusion proof
	for at := 0; at < len(data); at += step {
		bad := append([]byte(nil), data...)
		bad[at] ^= 0x10
		changed, err := Decode(bad, p)
		if err == nil {
			err = checkAll(t, s, []*Vanilla{changed})
		}
		var d *DecodeError
		var c *CheckError
		switch {
		case errors.As(err, &d):
			require.LessOrEqual(t, d.Offset, int64(at))
		case errors.As(err, &c):
			require.Zero(t, c.Sector)
			if in := at - 56; in >= 0 && in < p.Challenges*size {
				require.Equal(t, in/size, c.Challenge, "byte %d", at)
				require.True(t, strings.HasPrefix(c.Field, pathField(in/size)))
			}
		default:
			t.Fatalf("byte %d changed: %v", at, err)
		}
	}
}

// tinyParams are the smallest there are, so that fuzzing has short documents.
func tinyParams() Params {
	return Params{Kind: Window, SectorSize: 128, Shape: Shape{Base: 2, Sub: 2}, Sectors: 1, Challenges: 2}
}

// FuzzDecode: an error, or a proof that comes out equal when it is written; never a panic, and no more
// memory than a good proof warrants.
func FuzzDecode(f *testing.F) {
	p := tinyParams()
	v := &Vanilla{Paths: Blank(p).Sectors[0].Paths}
	good := v.Append(nil, p.Shape)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(good[:len(good):len(good)], 0))
	f.Add(bytes.Repeat([]byte{0xff}, len(good)))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := Decode(data, p)
		runtime.ReadMemStats(&after)
		// The fuzzing engine allocates at the same time, hence the slack.
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
		if err != nil {
			var d *DecodeError
			require.ErrorAs(t, err, &d)
			return
		}
		require.Equal(t, data, v.Append(nil, p.Shape))
		s := StatementOf(Window2KiBV1_2, [32]byte{}, []*Vanilla{v})
		s.Params = &p
		_ = s.Check(t.Context(), []*Vanilla{v}, 1) // any answer, but no panic
	})
}
