package synth

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/pce"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

// TestPoRep: what is made up passes the native check for every registered size and satisfies the circuit.
func TestPoRep(t *testing.T) {
	for _, proof := range []porep.RegisteredProof{0, 5, 6, 7, 8, 9} {
		t.Run(proof.String(), func(t *testing.T) {
			if proof.SectorSize() >= 32<<30 && !*slow {
				t.Skip("takes 20 s; runs with -slow")
			}
			c, err := PoRep(proof, nil, 3)
			require.NoError(t, err)
			require.NoError(t, c.Check(t.Context(), 0))
			s, err := c.Statement(Miner, Sector)
			require.NoError(t, err)
			want, err := s.PublicInputs()
			require.NoError(t, err)
			circuits, err := c.Circuits()
			require.NoError(t, err)
			require.Len(t, circuits, c.Params.Partitions)
			w, err := pce.MakeWitness(t.Context(), circuits[len(circuits)-1].Synthesize, nil)
			require.NoError(t, err)
			require.Equal(t, want[len(want)-1], w.Inputs[1:])
		})
	}
}

func TestPoRepSatisfiesRows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	c, err := PoRep(6, nil, 4)
	require.NoError(t, err)
	circuits, err := c.Circuits()
	require.NoError(t, err)
	require.NoError(t, pce.Check(t.Context(), circuits[0].Synthesize))
}

func TestPoRepIsDeterministic(t *testing.T) {
	first, err := PoRep(5, nil, 1)
	require.NoError(t, err)
	again, err := PoRep(5, nil, 1)
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := PoRep(5, nil, 2)
	require.NoError(t, err)
	require.NotEqual(t, first.CommR, other.CommR)
}

func TestPoRepRefusesSyntheticChallenges(t *testing.T) {
	_, err := PoRep(10, nil, 1)
	require.ErrorIs(t, err, porep.ErrUnsupported)
}
