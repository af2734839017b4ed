package synth

import (
	"flag"
	"math/big"
	"slices"
	"sync"
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
			c, err := PoRep(t.Context(), proof, nil, 3)
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
	c, err := PoRep(t.Context(), 6, nil, 4)
	require.NoError(t, err)
	circuits, err := c.Circuits()
	require.NoError(t, err)
	require.NoError(t, pce.Check(t.Context(), circuits[0].Synthesize))
}

func TestPoRepIsDeterministic(t *testing.T) {
	first, err := PoRep(t.Context(), 5, nil, 1)
	require.NoError(t, err)
	again, err := PoRep(t.Context(), 5, nil, 1)
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := PoRep(t.Context(), 5, nil, 2)
	require.NoError(t, err)
	require.NotEqual(t, first.CommR, other.CommR)
}

func TestPoRepRefusesSyntheticChallenges(t *testing.T) {
	_, err := PoRep(t.Context(), 10, nil, 1)
	require.ErrorIs(t, err, porep.ErrUnsupported)
}

// fingerprint stands for the values of all rows: Σ aᵢ·ρⁱ, and the same for b and c, for a random ρ. Different rows have the
// same one with a probability of about 2⁻²²⁷. Tiles may come in any order.
type fingerprint struct {
	rho fr.Element

	mu   sync.Mutex
	rows int
	sums [3]fr.Element
}

func (f *fingerprint) add(first int, a, b, c []fr.Element) error {
	var power, term fr.Element
	var sums [3]fr.Element
	power.Exp(f.rho, big.NewInt(int64(first)))
	for i := range a {
		for m, v := range []*fr.Element{&a[i], &b[i], &c[i]} {
			sums[m].Add(&sums[m], term.Mul(v, &power))
		}
		power.Mul(&power, &f.rho)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows += len(a)
	for m := range sums {
		f.sums[m].Add(&f.sums[m], &sums[m])
	}
	return nil
}

// Blocks, packed bits and tiles give what a plain run of the circuit gives, variable by variable and row by row.
func TestPoRepAgainstDirect(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	proof := porep.RegisteredProof(6) // 8 MiB
	if *slow {
		proof = 8 // 32 GiB: a quarter of an hour
	}
	for seed := range uint64(3) {
		c, err := PoRep(t.Context(), proof, nil, seed)
		require.NoError(t, err)
		circuits, err := c.Circuits()
		require.NoError(t, err)
		circuit := circuits[int(seed)%len(circuits)]
		var rho fr.Element
		_, err = rho.SetRandom()
		require.NoError(t, err)
		direct, blocks := fingerprint{rho: rho}, fingerprint{rho: rho}
		want, _, err := pce.DirectTiles(t.Context(), circuit.Synthesize, direct.add)
		require.NoError(t, err)
		got, err := pce.MakeWitness(t.Context(), circuit.Synthesize, nil)
		require.NoError(t, err)
		require.True(t, slices.Equal(want.Inputs, got.Inputs) && slices.Equal(want.Bits, got.Bits) && slices.Equal(want.Dense, got.Dense))
		system, err := pce.Record(t.Context(), circuit.Name(), circuit.Synthesize, nil)
		require.NoError(t, err)
		require.NoError(t, system.EvalTiles(t.Context(), got, blocks.add))
		require.Equal(t, direct.rows, blocks.rows)
		require.Equal(t, direct.sums, blocks.sums, "seed %d", seed)
	}
}
