package update

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
		for k, data := range blobs(t, name) {
			require.Len(t, data, p.VanillaSize())
			require.Equal(t, data, proofs[k].Append(nil, p))
			one, err := Decode(data, p)
			require.NoError(t, err)
			require.Equal(t, proofs[k], one)
		}
	}
}

// A proof for one size or variant is not one for another: the first length or variant tells.
func TestDecodeForeignShape(t *testing.T) {
	data := blobs(t, "snap-deals")[0]
	for name, c := range map[string]struct {
		variant Variant
		size    uint64
		path    string
		err     error
	}{
		"16 KiB":   {Sha256, 16 << 10, "apex_leafs", ErrCount},
		"4 KiB":    {Sha256, 4 << 10, "challenge_proofs[0].proof_r_old.data", ErrVariant},
		"poseidon": {Poseidon, 2 << 10, "challenge_proofs", ErrCount},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := ParamsFor(c.variant, c.size)
			require.NoError(t, err)
			_, err = Decode(data, p)
			var d *DecodeError
			require.ErrorAs(t, err, &d)
			require.Equal(t, c.path, d.Path)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.path)
		})
	}
	p, err := ParamsFor(Sha256, 2<<10)
	require.NoError(t, err)
	_, err = DecodeAll(p, [][]byte{data, append(data, 0)})
	var d *DecodeError
	require.ErrorAs(t, err, &d)
	require.ErrorIs(t, err, ErrTrailing)
	require.Equal(t, 1, d.Partition)
	require.Equal(t, int64(len(data)), d.Offset)
}

// Every prefix is refused as too short, at the field that it ends in.
func TestDecodeTruncated(t *testing.T) {
	p, data := params(t, loadVector(t, "snap-deals").statement(t)), blobs(t, "snap-deals")[0]
	step := 3
	if testing.Short() {
		step = 43
	}
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

// TestMutations turns one bit of some bytes of a vanilla proof: decoding or the check refuses it and
// names the part that it is in, or the one that the part must agree with.
func TestMutations(t *testing.T) {
	step := 23
	if testing.Short() {
		step = 211
	}
	s := loadVector(t, "snap-deals").statement(t)
	p, data := params(t, s), blobs(t, "snap-deals")[0]
	head := 32 + 8 + 32*p.ApexLeaves + 8
	size := (len(data) - head) / p.Challenges
	for at := 0; at < len(data); at += step {
		bad := append([]byte(nil), data...)
		bad[at] ^= 0x10
		v, err := Decode(bad, p)
		if err == nil {
			err = s.Check(t.Context(), []*Vanilla{v}, 1)
		}
		var d *DecodeError
		var c *CheckError
		switch {
		case errors.As(err, &d):
			require.LessOrEqual(t, d.Offset, int64(at))
		case errors.As(err, &c):
			// A root of the first challenge is what all others are compared with.
			if i := (at - head) / size; at >= head && i > 0 {
				require.Equal(t, i, c.Challenge, "byte %d", at)
				require.True(t, strings.HasPrefix(c.Field, "challenge_proofs["))
			}
		default:
			t.Fatalf("byte %d changed: %v", at, err)
		}
	}
}

// tinyParams are the smallest there are, so that fuzzing has short documents.
func tinyParams(v Variant) Params {
	p := Params{
		Variant: v, SectorSize: 128, Shape: Shape{Base: 2, Sub: 2}, Partitions: 1, Challenges: 2,
		Heights: [nHeights]int{1, 1, 1, 1, 1, 1}, H: 1,
	}
	if v == Sha256 {
		p.ApexLeaves = 2
	}
	return p
}

// FuzzDecode: an error, or a proof that comes out equal when it is written; never a panic, and no more
// memory than a good proof warrants.
func FuzzDecode(f *testing.F) {
	for _, v := range []Variant{Sha256, Poseidon} {
		good := Blank(tinyParams(v)).Vanilla.Append(nil, tinyParams(v))
		f.Add(v == Poseidon, good)
		f.Add(v == Poseidon, good[:len(good)-1])
		f.Add(v == Poseidon, append(good[:len(good):len(good)], 0))
		f.Add(v == Poseidon, bytes.Repeat([]byte{0xff}, len(good)))
		f.Add(v == Poseidon, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, isPoseidon bool, data []byte) {
		p := tinyParams(Sha256)
		if isPoseidon {
			p = tinyParams(Poseidon)
		}
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
		require.Equal(t, data, v.Append(nil, p))
		s := &Statement{Params: &p}
		_ = s.Check(t.Context(), []*Vanilla{v}, 1) // any answer, but no panic
	})
}
