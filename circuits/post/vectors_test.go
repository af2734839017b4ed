package post

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

// vector is the statement of a test vector and what the reference derives from it.
type vector struct {
	RegisteredProof       string `json:"registered_proof"`
	RegisteredProofNumber int    `json:"registered_proof_number"`
	SameShapeAs           string `json:"same_shape_as"`
	APIVersion            string `json:"api_version"`
	SectorSize            uint64 `json:"sector_size"`
	SectorsPerPartition   int    `json:"sectors_per_partition"`
	ChallengesPerSector   int    `json:"challenges_per_sector"`
	Partitions            int
	Randomness            circuittest.Hex32
	Sectors               []struct {
		ID         uint64            `json:"sector_id"`
		CommR      circuittest.Hex32 `json:"comm_r"`
		Challenges []uint64
		Bytes      int `json:"vanilla_bytes"`
	}
	ProverID     circuittest.Hex32 `json:"prover_id"`
	PublicInputs [][]string        `json:"public_inputs_le"`

	// Of a WinningPoSt: all sectors, and the positions of those that are proved.
	Eligible []struct {
		ID uint64 `json:"sector_id"`
	}
	Picked []uint64 `json:"picked_positions"`
}

// vectorNames are the names of all vectors, 2 KiB ones first.
func vectorNames() []string {
	return []string{"window-post", "window-post-v1", "winning-post", "window-post-32KiB", "winning-post-32KiB"}
}

func loadVector(t testing.TB, name string) *vector {
	t.Helper()
	return circuittest.LoadJSON[*vector](t, name+".json.zst")
}

// statement of v. Sizes without a registered proof have the parameters of theirs and the rules of the
// registered proof with the same trees.
func (v *vector) statement(t testing.TB) *Statement {
	t.Helper()
	name := v.RegisteredProof
	if v.SameShapeAs != "" {
		name = v.SameShapeAs
	}
	proof, err := ParseRegisteredProof(name)
	require.NoError(t, err)
	s := &Statement{Proof: proof, Randomness: v.Randomness}
	if v.SectorSize != proof.SectorSize() {
		p, err := ParamsFor(proof.Kind(), v.SectorSize)
		require.NoError(t, err)
		s.Params = &p
	}
	for _, sector := range v.Sectors {
		s.Sectors = append(s.Sectors, Sector{ID: sector.ID, CommR: sector.CommR})
	}
	return s
}

// params of a statement.
func params(t testing.TB, s *Statement) Params {
	t.Helper()
	c, err := s.claim()
	require.NoError(t, err)
	return c.params
}

// blobs are the vanilla proofs of a vector as bytes.
func blobs(t testing.TB, name string) [][]byte {
	t.Helper()
	all := circuittest.Testdata(t, name+".vanilla.bin.zst")
	var out [][]byte
	for _, s := range loadVector(t, name).Sectors {
		out = append(out, all[:s.Bytes:s.Bytes])
		all = all[s.Bytes:]
	}
	require.Empty(t, all)
	return out
}

// decodeVector is the statement of a vector and its vanilla proofs.
func decodeVector(t testing.TB, name string) (*Statement, []*Vanilla) {
	t.Helper()
	s := loadVector(t, name).statement(t)
	proofs, err := DecodeAll(params(t, s), blobs(t, name))
	require.NoError(t, err)
	return s, proofs
}
