package vanilla

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/gadget"
)

// shapes have one tree of each variant, over 2^6 leaves.
func shapes() []gadget.Shape {
	return []gadget.Shape{{Base: 8}, {Base: 4, Sub: 4}, {Base: 8, Sub: 4, Top: 2}}
}

func randomPath(t testing.TB, levels []int) gadget.MerklePath {
	t.Helper()
	m := gadget.BlankPath(levels)
	random := func(e *fr.Element) {
		_, err := e.SetRandom()
		require.NoError(t, err)
	}
	random(&m.Root)
	random(&m.Leaf)
	for i := range m.Levels {
		m.Levels[i].Index = rand.IntN(levels[i])
		for k := range m.Levels[i].Siblings {
			random(&m.Levels[i].Siblings[k])
		}
	}
	return m
}

func TestMerkleRoundTrip(t *testing.T) {
	for _, shape := range shapes() {
		levels := shape.Levels(6)
		m := randomPath(t, levels)
		data := AppendMerkle(nil, shape, &m)
		require.Len(t, data, MerkleSize(shape, levels))
		r := NewReader(data)
		require.Equal(t, m, r.Merkle(shape, levels))
		require.NoError(t, r.Finish())
	}
}

// The order of fields and the variants are those of spec §8.1; sizes of production are in §8.3.
func TestMerkleLayout(t *testing.T) {
	m := gadget.BlankPath([]int{2})
	m.Root.SetUint64(1)
	m.Leaf.SetUint64(2)
	single := AppendMerkle(nil, gadget.Shape{Base: 2}, &m)
	require.Equal(t, [3]byte{0, 1, 2}, [3]byte{single[0], single[4], single[36]})
	m = gadget.BlankPath([]int{2, 2})
	m.Root.SetUint64(1)
	m.Leaf.SetUint64(2)
	sub := AppendMerkle(nil, gadget.Shape{Base: 2, Sub: 2}, &m)
	require.Equal(t, [3]byte{1, 1, 2}, [3]byte{sub[0], sub[len(sub)-64], sub[len(sub)-32]})

	large := gadget.Shape{Base: 8, Sub: 8}
	require.Equal(t, 2484, MerkleSize(large, large.Levels(30)))
	large.Top = 2
	require.Equal(t, 2540, MerkleSize(large, large.Levels(31)))
	data := gadget.Shape{Base: 2}
	require.Equal(t, 1516, MerkleSize(data, data.Levels(30)))
}

func TestReaderFaults(t *testing.T) {
	shape := gadget.Shape{Base: 8, Sub: 4, Top: 2}
	levels := shape.Levels(6)
	m := randomPath(t, levels)
	good := AppendMerkle(nil, shape, &m)
	for name, c := range map[string]struct {
		change func(b []byte) []byte
		path   string
		offset int64
		err    error
	}{
		"empty":         {func([]byte) []byte { return nil }, "data", 0, io.ErrUnexpectedEOF},
		"variant":       {func(b []byte) []byte { b[0] = 1; return b }, "data", 0, ErrVariant},
		"levels":        {func(b []byte) []byte { b[4] = 2; return b }, "data.Top.base_proof.path", 4, ErrCount},
		"absurd length": {func(b []byte) []byte { b[19] = 0xff; return b }, "data.Top.base_proof.path[0].hashes", 12, ErrCount},
		"not canonical": {func(b []byte) []byte { b[20+63] = 0xff; return b }, "data.Top.base_proof.path[0].hashes[1]", 20 + 32, ErrNonCanonical},
		"index":         {func(b []byte) []byte { b[20+7*32] = 8; return b }, "data.Top.base_proof.path[0].index", 20 + 7*32, ErrRange},
		"large index":   {func(b []byte) []byte { b[20+7*32+7] = 1; return b }, "data.Top.base_proof.path[0].index", 20 + 7*32, ErrRange},
		"cut":           {func(b []byte) []byte { return b[:len(b)-1] }, "data.Top.leaf", int64(len(good) - 32), io.ErrUnexpectedEOF},
		"trailing":      {func(b []byte) []byte { return append(b, 0) }, "", int64(len(good)), ErrTrailing},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(c.change(append([]byte(nil), good...)))
			r.Merkle(shape, levels)
			err := r.Finish()
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.path, e.Path)
			require.Equal(t, c.offset, e.Offset)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.path)
			require.NotContains(t, Bare(err), "vanilla:")
		})
	}
}

// FuzzMerkle: an error, or a path that comes out equal when it is written.
func FuzzMerkle(f *testing.F) {
	for i, shape := range shapes() {
		m := gadget.BlankPath(shape.Levels(6))
		f.Add(uint8(i), AppendMerkle(nil, shape, &m))
		f.Add(uint8(i), []byte{byte(i)})
	}
	f.Fuzz(func(t *testing.T, i uint8, data []byte) {
		shape := shapes()[int(i)%len(shapes())]
		r := NewReader(data)
		m := r.Merkle(shape, shape.Levels(6))
		if err := r.Finish(); err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.NoError(t, m.Validate(shape.Levels(6)))
		require.Equal(t, data, AppendMerkle(nil, shape, &m))
	})
}

func TestFirstError(t *testing.T) {
	bad := errors.New("bad")
	worse := errors.New("worse")
	for _, workers := range []int{-1, 0, 1, 2, 7, 200} {
		var calls atomic.Int64
		require.NoError(t, FirstError(t.Context(), 100, workers, func(int) error { calls.Add(1); return nil }))
		require.Equal(t, int64(100), calls.Load())
		require.NoError(t, FirstError(t.Context(), 0, workers, func(int) error { return bad }))
		err := FirstError(t.Context(), 100, workers, func(i int) error {
			switch {
			case i == 40:
				return bad
			case i > 40:
				return worse
			}
			return nil
		})
		require.Equal(t, bad, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worse)
	require.Equal(t, worse, FirstError(ctx, 10, 1, func(int) error { return bad }))
}

func TestJoinAndSplit(t *testing.T) {
	parts := [][]byte{make([]byte, ProofSize), make([]byte, ProofSize)}
	parts[1][5] = 1
	joined, err := Join(parts)
	require.NoError(t, err)
	again, err := Split(joined, 2)
	require.NoError(t, err)
	require.Equal(t, parts, again)
	for _, n := range []int{-1, 0, 1, 3} {
		_, err := Split(joined, n)
		require.ErrorIs(t, err, ErrProofLength)
	}
	_, err = Split(nil, 0)
	require.ErrorIs(t, err, ErrProofLength)
	_, err = Join(nil)
	require.ErrorIs(t, err, ErrProofLength)
	_, err = Join([][]byte{joined})
	require.ErrorIs(t, err, ErrProofLength)
}
