package synth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/pce"
)

// TestPoSt: what is made up passes the native check for every size, is the same as bytes, and gives the
// statement's public inputs.
func TestPoSt(t *testing.T) {
	for _, proof := range post.RegisteredProofs() {
		t.Run(proof.String(), func(t *testing.T) {
			if testing.Short() && proof.SectorSize() > 2<<10 {
				t.Skip("takes seconds; runs without -short")
			}
			sectors := 5
			if proof.Kind() == post.Winning {
				sectors = 1
			}
			s, proofs, err := PoSt(t.Context(), proof, nil, sectors, 3)
			require.NoError(t, err)
			requirePoSt(t, s, proofs)
			p, err := proof.Params()
			require.NoError(t, err)
			if p.Sectors > 100 {
				return // the witness of a whole partition takes long
			}
			circuits, err := s.Circuits(proofs)
			require.NoError(t, err)
			c := circuits[len(circuits)-1]
			w, err := c.Witness(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, c.Public, w.Inputs[1:])
		})
	}
}

func requirePoSt(t *testing.T, s *post.Statement, proofs []*post.Vanilla) {
	t.Helper()
	p, err := s.Proof.Params()
	require.NoError(t, err)
	if s.Params != nil {
		p = *s.Params
	}
	require.NoError(t, s.Check(t.Context(), proofs, 0))
	for _, v := range proofs {
		again, err := post.Decode(v.Append(nil, p.Shape), p)
		require.NoError(t, err)
		require.Equal(t, v, again)
	}
}

// TestPoStOfTestSizes: the sizes that have no registered proof.
func TestPoStOfTestSizes(t *testing.T) {
	for _, size := range []uint64{4 << 10, 16 << 10, 32 << 10, 16 << 20, 1 << 30} {
		p, err := post.ParamsFor(post.Window, size)
		require.NoError(t, err)
		s, proofs, err := PoSt(t.Context(), post.Window2KiBV1_2, &p, 3, 4)
		require.NoError(t, err)
		requirePoSt(t, s, proofs)
		circuits, err := s.Circuits(proofs)
		require.NoError(t, err)
		require.NoError(t, pce.Check(t.Context(), circuits[1].Synthesize))
	}
}

// TestFullWindowPoSt: a whole partition of the production size, from bytes to the packed witness.
func TestFullWindowPoSt(t *testing.T) {
	if !*slow {
		t.Skip("takes a minute; runs with -slow")
	}
	s, proofs, err := PoSt(t.Context(), post.Window2KiBV1_2+3, nil, 2349, 5)
	require.NoError(t, err)
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	require.Len(t, circuits, 1)
	w, err := circuits[0].Witness(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, w.Inputs, 25_840)
	require.Equal(t, circuits[0].Public, w.Inputs[1:])
}

func TestPoStIsDeterministic(t *testing.T) {
	s, first, err := PoSt(t.Context(), post.Window2KiBV1, nil, 3, 1)
	require.NoError(t, err)
	again, second, err := PoSt(t.Context(), post.Window2KiBV1, nil, 3, 1)
	require.NoError(t, err)
	require.Equal(t, s, again)
	require.Equal(t, first, second)
	_, other, err := PoSt(t.Context(), post.Window2KiBV1, nil, 3, 2)
	require.NoError(t, err)
	require.NotEqual(t, first[0].CommR, other[0].CommR)
}

func TestPoStRefusals(t *testing.T) {
	_, _, err := PoSt(t.Context(), 15, nil, 1, 1)
	require.ErrorIs(t, err, post.ErrProofType)
	_, _, err = PoSt(t.Context(), post.Winning2KiBV1, nil, 2, 1)
	require.ErrorIs(t, err, post.ErrTooManySectors)
	_, _, err = PoSt(t.Context(), post.Window2KiBV1, nil, 0, 1)
	require.ErrorIs(t, err, post.ErrNoSectors)
}
