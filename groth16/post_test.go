package groth16

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/pce"
)

// vanillaProofs cuts a file of vanilla proofs, which all have the same size, into pieces.
func vanillaProofs(t testing.TB, path string, size int) (out [][]byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	d, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer d.Close()
	all, err := d.DecodeAll(b, nil)
	require.NoError(t, err)
	require.Zero(t, len(all)%size)
	for ; len(all) > 0; all = all[size:] {
		out = append(out, all[:size:size])
	}
	return out
}

// vectorBytes are 32 bytes of a vector's inputs.json.
func vectorBytes(t testing.TB, digits string) [32]byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	require.NoError(t, err)
	return [32]byte(b)
}

// postCircuits are a vector's partitions.
func postCircuits(t testing.TB, vector string) (list []circuits.Circuit, blank circuits.Circuit) {
	t.Helper()
	var in struct {
		Proof      string `json:"registered_proof"`
		Randomness string
	}
	readTestdata(t, vector+"/inputs.json", &in)
	proof, err := post.ParseRegisteredProof(in.Proof)
	require.NoError(t, err)
	p, err := proof.Params()
	require.NoError(t, err)
	vanilla, err := post.DecodeAll(p, vanillaProofs(t, "../circuits/post/testdata/"+vector+".vanilla.bin.zst", p.VanillaSize()))
	require.NoError(t, err)
	partitions, err := post.StatementOf(proof, vectorBytes(t, in.Randomness), vanilla).Circuits(vanilla)
	require.NoError(t, err)
	for _, c := range partitions {
		list = append(list, c)
	}
	return list, post.Blank(p)
}

// updateCircuits are a vector's partitions.
func updateCircuits(t testing.TB, vector string) (list []circuits.Circuit, blank circuits.Circuit) {
	t.Helper()
	var in struct {
		Proof    string `json:"registered_proof"`
		CommROld string `json:"comm_r_old"`
		CommRNew string `json:"comm_r_new"`
		CommDNew string `json:"comm_d_new"`
	}
	readTestdata(t, vector+"/inputs.json", &in)
	proof, err := update.ParseRegisteredProof(in.Proof)
	require.NoError(t, err)
	p, err := proof.Params()
	require.NoError(t, err)
	file := "../circuits/update/testdata/" + vector + ".vanilla.bin.zst"
	vanilla, err := update.DecodeAll(p, vanillaProofs(t, file, p.VanillaSize()))
	require.NoError(t, err)
	s := &update.Statement{
		Proof: proof, CommROld: vectorBytes(t, in.CommROld), CommRNew: vectorBytes(t, in.CommRNew),
		CommDNew: vectorBytes(t, in.CommDNew),
	}
	partitions, err := s.Circuits(vanilla)
	require.NoError(t, err)
	for _, c := range partitions {
		list = append(list, c)
	}
	return list, update.Blank(p)
}

// WindowPoSt, WinningPoSt and SnapDeals as PoRep above: the reference's keys from the reference's secrets, and from its
// vanilla proofs, with its r and s, the proofs of all partitions.
func TestVectorsEqualReference(t *testing.T) {
	for _, c := range []struct {
		vector     string
		circuits   func(t testing.TB, vector string) ([]circuits.Circuit, circuits.Circuit)
		partitions int
		slow       bool
	}{
		{"window-post", postCircuits, 3, false},
		{"winning-post", postCircuits, 1, false},
		{"snap-deals", updateCircuits, 1, true},
	} {
		t.Run(c.vector, func(t *testing.T) {
			if c.slow && !*slow || testing.Short() {
				t.Skip("takes long; runs without -short, SnapDeals with -slow")
			}
			partitions, blank := c.circuits(t, c.vector)
			require.Len(t, partitions, c.partitions)
			system, err := pce.Record(t.Context(), blank.Name(), blank.Synthesize, nil)
			require.NoError(t, err)
			key := openKey(t, vectorKey(t, c.vector, system).Params)
			requireFixedProofs(t, c.vector, newProver(t, key, system, onCPU), partitions)
			requireVector(t, c.vector, key.VerifyingKey(), partitions)
		})
	}
}

// requireFixedProofs proves each partition with the reference's r and s.
func requireFixedProofs(t *testing.T, vector string, p Prover, partitions []circuits.Circuit) {
	t.Helper()
	for k, c := range partitions {
		var v porepVector
		readTestdata(t, fmt.Sprintf("%s/fixed-%d.json", vector, k), &v)
		public, err := c.PublicInputs()
		require.NoError(t, err)
		require.Equal(t, scalarList(t, v.Inputs), public)
		ctx := blinding.Fix(t.Context(), blinding.Factors{R: enginetest.Scalar(t, v.R), S: enginetest.Scalar(t, v.S)})
		start := time.Now()
		r, err := p.Prove(ctx, list(c), nil)
		require.NoError(t, err)
		t.Logf("partition %d proved in %v: %+v", k, time.Since(start), r.Partitions[0].Stats)
		require.Equal(t, v.Proof, hex.EncodeToString(r.Bytes()))
	}
}

// requireVector verifies the reference's own proof with the key made here, which is the reference's.
func requireVector(t *testing.T, vector string, vk *VerifyingKey, partitions []circuits.Circuit) {
	t.Helper()
	want, err := OpenVerifyingKey(filepath.Join("testdata", vector, "vk"))
	require.NoError(t, err)
	require.Equal(t, want.key, vk.key)
	b, err := os.ReadFile(filepath.Join("testdata", vector, "proof.bin"))
	require.NoError(t, err)
	proofs, err := ParseProofs(b)
	require.NoError(t, err)
	require.Len(t, proofs, len(partitions))
	for k, c := range partitions {
		public, err := c.PublicInputs()
		require.NoError(t, err)
		require.NoError(t, Verify(vk, proofs[k], public))
	}
}
