package pce

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// TestCheckNamesTheRow alters every value of a witness in turn; each must break a row, and Check must
// name one that has the value in it.
func TestCheckNamesTheRow(t *testing.T) {
	s := func(b Builder) error {
		x := b.Alloc(fr.NewElement(3))
		b.Within("squares", func() {
			for range 2 {
				x = b.Block("square", []Arg{x}, square)[0].(Num)
			}
		})
		b.Inputize(x)
		return nil
	}
	ctx := t.Context()
	w, rows, err := Direct(ctx, s)
	require.NoError(t, err)
	require.NoError(t, CheckWitness(ctx, s, w))
	broken := func(alter func(w *Witness)) {
		t.Helper()
		bad := *w
		bad.Inputs, bad.Bits, bad.Dense = slices.Clone(w.Inputs), slices.Clone(w.Bits), slices.Clone(w.Dense)
		alter(&bad)
		var re *RowError
		err := CheckWitness(ctx, s, &bad)
		require.ErrorIs(t, err, ErrUnsatisfied)
		require.ErrorAs(t, err, &re)
		require.Less(t, re.Row, rows.Layout.Counts.Rows)
		require.Contains(t, re.Path, "circuit")
	}
	for i := 1; i < len(w.Inputs); i++ {
		broken(func(w *Witness) { w.Inputs[i].Double(&w.Inputs[i]).Add(&w.Inputs[i], &pow2[0]) })
	}
	for i := range w.NumBits {
		broken(func(w *Witness) { w.Bits[i/64] ^= 1 << (i % 64) })
	}
	for i := range w.Dense {
		broken(func(w *Witness) { w.Dense[i].Add(&w.Dense[i], &pow2[0]) })
	}
}

func TestCheckPath(t *testing.T) {
	err := Check(t.Context(), func(b Builder) error {
		x := b.Alloc(fr.NewElement(3))
		b.Within("outer", func() {
			b.Blocks("inner", 3, func(int) []Arg { return []Arg{x} }, func(b Builder, i int, in []Arg) []Arg {
				y := b.Alloc(fr.NewElement(uint64(i)))
				z := b.Alloc(fr.NewElement(min(uint64(i), 1)))
				b.Equal(y, z)
				return nil
			})
		})
		return nil
	})
	var re *RowError
	require.ErrorAs(t, err, &re)
	require.Equal(t, RowError{Row: 2, Path: "circuit/outer/inner[2]"}, *re)
}

func TestEvalRefusesOtherWitness(t *testing.T) {
	sys := record(t, many(4))
	w, err := MakeWitness(t.Context(), many(4), nil)
	require.NoError(t, err)
	abc := make([]fr.Element, sys.FullRows())
	require.NoError(t, sys.Eval(t.Context(), w, abc, abc, abc))
	require.Error(t, sys.Eval(t.Context(), w, abc[1:], abc, abc), "wrong length")

	other, err := MakeWitness(t.Context(), many(5), nil)
	require.NoError(t, err)
	short := *w
	short.Bits = w.Bits[:len(w.Bits)-1]
	moved := *w // the same counts in another order
	moved.Layout[0] ^= 1
	for _, bad := range []*Witness{other, &short, &moved, {}} {
		err := sys.Eval(t.Context(), bad, abc, abc, abc)
		require.ErrorIs(t, err, ErrLayout)
		var le *LayoutError
		require.ErrorAs(t, err, &le)
		require.Equal(t, sys.Layout().Digest, le.Want)
		require.Equal(t, bad.Layout, le.Got)
		require.ErrorIs(t, sys.Layout().Expand(bad, nil), ErrLayout)
		require.ErrorIs(t, CheckWitness(t.Context(), many(4), bad), ErrLayout)
	}
	require.ErrorIs(t, sys.Eval(t.Context(), nil, abc, abc, abc), ErrLayout)
	require.ErrorIs(t, CheckWitness(t.Context(), many(4), nil), ErrLayout)
	require.NoError(t, CheckWitness(t.Context(), many(4), w))
	for _, n := range []int{-1, 1} {
		aux := make([]fr.Element, sys.Counts().Aux+n)
		require.ErrorContains(t, sys.Layout().Expand(w, aux), "pce: expand: room for")
	}
}

// TestEvalTiles: tiles cover the rows once and have what Eval has, whether from the blocks or from the direct path.
func TestEvalTiles(t *testing.T) {
	ctx := t.Context()
	s := many(100) // more rows than a tile has
	sys := record(t, s)
	w, err := MakeWitness(ctx, s, nil)
	require.NoError(t, err)
	n := sys.Counts().Rows
	require.Greater(t, n, stretchRows)
	want := [3][]fr.Element{make([]fr.Element, sys.FullRows()), make([]fr.Element, sys.FullRows()), make([]fr.Element, sys.FullRows())}
	require.NoError(t, sys.Eval(ctx, w, want[0], want[1], want[2]))
	var mu sync.Mutex
	got := [3][]fr.Element{make([]fr.Element, n), make([]fr.Element, n), make([]fr.Element, n)}
	covered := 0
	require.NoError(t, sys.EvalTiles(ctx, w, func(first int, a, b, c []fr.Element) error {
		mu.Lock()
		defer mu.Unlock()
		covered += len(a)
		for m, v := range [3][]fr.Element{a, b, c} {
			copy(got[m][first:], v)
		}
		return nil
	}))
	require.Equal(t, n, covered)
	for m := range got {
		require.True(t, slices.Equal(want[m][:n], got[m]))
	}
	next := 0
	_, layout, err := DirectTiles(ctx, s, func(first int, a, b, c []fr.Element) error {
		require.Equal(t, next, first)
		next += len(a)
		for m, v := range [3][]fr.Element{a, b, c} {
			require.True(t, slices.Equal(want[m][first:next], v))
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, n, next)
	require.Equal(t, sys.Layout().Digest, layout.Digest)

	stop := errors.New("stop")
	_, _, err = DirectTiles(ctx, s, func(int, []fr.Element, []fr.Element, []fr.Element) error { return stop })
	require.ErrorIs(t, err, stop)
	require.ErrorIs(t, sys.EvalTiles(ctx, w, func(int, []fr.Element, []fr.Element, []fr.Element) error { return stop }), stop)
	require.ErrorIs(t, sys.EvalTiles(ctx, &Witness{}, nil), ErrLayout)
}
