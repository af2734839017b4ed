package blinding

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func TestFixed(t *testing.T) {
	_, ok := Fixed(t.Context(), 0)
	require.False(t, ok)
	f := Factors{R: fr.NewElement(1), S: fr.NewElement(2)}
	ctx := Fix(t.Context(), Factors{}, f)
	got, ok := Fixed(ctx, 1)
	require.True(t, ok)
	require.Equal(t, f, got)
	_, ok = Fixed(ctx, 2)
	require.False(t, ok)
}
