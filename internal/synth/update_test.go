package synth

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/pce"
)

// TestUpdate: what is made up passes the native check for every size and variant, is the same as
// bytes, and gives the statement's public inputs.
func TestUpdate(t *testing.T) {
	for _, v := range []update.Variant{update.Sha256, update.Poseidon} {
		for _, size := range update.Sizes() {
			p, err := update.ParamsFor(v, size)
			require.NoError(t, err)
			t.Run(p.Name(), func(t *testing.T) {
				if size > 8<<20 && !*slow || testing.Short() && size > 2<<10 {
					t.Skip("takes seconds; runs without -short, the largest with -slow")
				}
				s, proofs, err := Update(t.Context(), 0, &p, 3)
				require.NoError(t, err)
				require.NoError(t, s.Check(t.Context(), proofs, 0))
				for _, v := range proofs {
					again, err := update.Decode(v.Append(nil, p), p)
					require.NoError(t, err)
					require.Equal(t, v.Challenges, again.Challenges)
				}
				c, err := s.Circuit(p.Partitions-1, proofs[p.Partitions-1])
				require.NoError(t, err)
				w, err := c.Witness(t.Context(), nil)
				require.NoError(t, err)
				require.Equal(t, c.Public, w.Inputs[1:])
			})
		}
	}
}

func TestUpdateSatisfiesRows(t *testing.T) {
	p, err := update.ParamsFor(update.Poseidon, 8<<20)
	require.NoError(t, err)
	s, proofs, err := Update(t.Context(), 0, &p, 4)
	require.NoError(t, err)
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	require.NoError(t, pce.Check(t.Context(), circuits[0].Synthesize))
	if !*slow {
		return // the next takes long
	}
	s, proofs, err = Update(t.Context(), 0, nil, 4)
	require.NoError(t, err)
	circuits, err = s.Circuits(proofs)
	require.NoError(t, err)
	require.NoError(t, pce.Check(t.Context(), circuits[0].Synthesize))
}

func TestUpdateIsDeterministic(t *testing.T) {
	s, first, err := Update(t.Context(), 0, nil, 1)
	require.NoError(t, err)
	again, second, err := Update(t.Context(), 0, nil, 1)
	require.NoError(t, err)
	require.Equal(t, s, again)
	require.Equal(t, first, second)
	other, _, err := Update(t.Context(), 0, nil, 2)
	require.NoError(t, err)
	require.NotEqual(t, s.CommRNew, other.CommRNew)
	_, _, err = Update(t.Context(), 5, nil, 1)
	require.ErrorIs(t, err, update.ErrProofType)
}

// TestStripedTree compares with a tree whose leaves are all given.
func TestStripedTree(t *testing.T) {
	arities := []int{8, 4, 2}
	for logStripes := range 7 {
		stripes := make([]fr.Element, 1<<logStripes)
		for i := range stripes {
			stripes[i].SetUint64(uint64(i) + 7)
		}
		leaves := make(map[uint64]fr.Element)
		for i := range uint64(64) {
			leaves[i] = stripes[i>>(6-logStripes)]
		}
		got, err := newStripedTree(t.Context(), arities, stripes, gadget.HashSealed)
		require.NoError(t, err)
		want, err := newTree(t.Context(), arities, leaves, fr.Element{}, gadget.HashSealed)
		require.NoError(t, err)
		require.Equal(t, want.root(), got.root())
		for i := range uint64(64) {
			require.Equal(t, want.path(i), got.path(i))
		}
	}
}
