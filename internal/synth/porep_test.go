package synth

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
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

// Blocks, packed bits and tiles give what a plain run of the circuit gives, variable by variable and row by row.
func TestPoRepAgainstDirect(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	proof := porep.RegisteredProof(6) // 8 MiB
	if *slow {
		proof = 8 // 32 GiB: 20 minutes and 15 GB
	}
	for seed := range uint64(3) {
		c, err := PoRep(proof, nil, seed)
		require.NoError(t, err)
		circuits, err := c.Circuits()
		require.NoError(t, err)
		circuit := circuits[int(seed)%len(circuits)]
		want, rows, err := pce.Direct(t.Context(), circuit.Synthesize)
		require.NoError(t, err)
		got, err := pce.MakeWitness(t.Context(), circuit.Synthesize, nil)
		require.NoError(t, err)
		require.True(t, slices.Equal(want.Inputs, got.Inputs) && slices.Equal(want.Bits, got.Bits) && slices.Equal(want.Dense, got.Dense))
		system, err := pce.Record(t.Context(), circuit.Name(), circuit.Synthesize, nil)
		require.NoError(t, err)
		err = system.EvalTiles(t.Context(), got, func(first int, a, b, c []fr.Element) error {
			n := first + len(a)
			if !slices.Equal(a, rows.A[first:n]) || !slices.Equal(b, rows.B[first:n]) || !slices.Equal(c, rows.C[first:n]) {
				return fmt.Errorf("rows from %d differ", first)
			}
			return nil
		})
		require.NoError(t, err)
	}
}
