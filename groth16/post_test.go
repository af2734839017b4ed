package groth16

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/vectortest"
)

// postCircuits are a vector's partitions, and the circuit without values.
func postCircuits(t testing.TB, vector string) (list []circuits.Circuit, blank circuits.Circuit) {
	t.Helper()
	v := vectortest.Open(t, "..", vector)
	return v.Partitions, v.Blank
}

// updateCircuits are the same of SnapDeals.
func updateCircuits(t testing.TB, vector string) (list []circuits.Circuit, blank circuits.Circuit) {
	t.Helper()
	return postCircuits(t, vector)
}

// WindowPoSt, WinningPoSt and SnapDeals as PoRep above: the reference's keys from the reference's secrets, and from its
// vanilla proofs, with its r and s, the proofs of all partitions.
func TestVectorsEqualReference(t *testing.T) {
	for _, c := range []struct {
		vector     string
		partitions int
		slow       bool
	}{
		{"window-post", 3, false},
		{"winning-post", 1, false},
		{"snap-deals", 1, true},
	} {
		t.Run(c.vector, func(t *testing.T) {
			if c.slow && !*slow || testing.Short() {
				t.Skip("takes long; runs without -short, SnapDeals with -slow")
			}
			v := vectortest.Open(t, "..", c.vector)
			require.Len(t, v.Partitions, c.partitions)
			system := vectorSystem(t, v)
			key := openKey(t, vectorKey(t, v, system).Params)
			requireFixedProofs(t, v, newProver(t, key, system, onCPU))
			requireVector(t, v, key.VerifyingKey())
		})
	}
}

// requireFixedProofs proves each partition with the reference's r and s. It returns how long the last took.
func requireFixedProofs(t *testing.T, v *vectortest.Vector, p Prover) (took time.Duration) {
	t.Helper()
	for k, c := range v.Partitions {
		want := v.Fixed(t, k)
		public, err := c.PublicInputs()
		require.NoError(t, err)
		require.Equal(t, want.Inputs, public)
		ctx := blinding.Fix(t.Context(), blinding.Factors{R: want.R, S: want.S})
		start := time.Now()
		r, err := p.Prove(ctx, list(c), nil)
		require.NoError(t, err)
		took = time.Since(start)
		t.Logf("partition %d proved in %v: %+v", k, took, r.Partitions[0].Stats)
		require.Equal(t, want.Proof, r.Bytes())
	}
	return took
}

// requireVector verifies the reference's own proof with the key made here, which is the reference's.
func requireVector(t *testing.T, v *vectortest.Vector, vk *VerifyingKey) {
	t.Helper()
	want, err := OpenVerifyingKey(filepath.Join("testdata", v.Name, "vk"))
	require.NoError(t, err)
	require.Equal(t, want.key, vk.key)
	b, err := os.ReadFile(filepath.Join("testdata", v.Name, "proof.bin"))
	require.NoError(t, err)
	proofs, err := ParseProofs(b)
	require.NoError(t, err)
	require.Len(t, proofs, len(v.Partitions))
	for k, c := range v.Partitions {
		public, err := c.PublicInputs()
		require.NoError(t, err)
		require.NoError(t, Verify(vk, proofs[k], public))
	}
}
