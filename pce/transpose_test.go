package pce

import (
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// ⟨weights, M·z⟩ = ⟨Mᵀ·weights, z⟩, in a circuit of one stretch and in one of many.
func TestTranspose(t *testing.T) {
	for _, n := range []int{9, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { testTranspose(t, n) })
	}
}

func testTranspose(t *testing.T, blocks int) {
	ctx, r := t.Context(), newRand(5)
	s := many(blocks)
	sys := record(t, s)
	w, err := MakeWitness(ctx, s, nil)
	require.NoError(t, err)
	n := sys.FullRows()
	abc := [3][]fr.Element{make([]fr.Element, n), make([]fr.Element, n), make([]fr.Element, n)}
	require.NoError(t, sys.Eval(ctx, w, abc[0], abc[1], abc[2]))
	weights := make([]fr.Element, n)
	for i := range weights {
		weights[i] = randomElement(r)
	}
	cols, err := sys.Transpose(ctx, weights)
	require.NoError(t, err)
	aux := make([]fr.Element, sys.Counts().Aux)
	require.NoError(t, sys.Layout().Expand(w, aux))
	for m, col := range []Column{cols.A, cols.B, cols.C} {
		require.Equal(t, innerProduct(weights, abc[m]),
			*new(fr.Element).Add(ptr(innerProduct(col.Inputs, w.Inputs)), ptr(innerProduct(col.Aux, aux))), "%c", "ABC"[m])
	}
	_, err = sys.Transpose(ctx, weights[1:])
	require.Error(t, err)
}

func innerProduct(x, y []fr.Element) fr.Element {
	var sum, p fr.Element
	for i := range x {
		sum.Add(&sum, p.Mul(&x[i], &y[i]))
	}
	return sum
}

func ptr(e fr.Element) *fr.Element { return &e }
