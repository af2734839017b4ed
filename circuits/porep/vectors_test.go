package porep

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
)

// vector is the statement of a test vector and what the reference derives from it.
type vector struct {
	RegisteredProof       string            `json:"registered_proof"`
	RegisteredProofNumber int               `json:"registered_proof_number"`
	ProverID              circuittest.Hex32 `json:"prover_id"`
	MinerActor            uint64            `json:"miner_actor"`
	SectorID              uint64            `json:"sector_id"`
	SectorSize            uint64            `json:"sector_size"`
	Layers                int
	Partitions            int
	Ticket                circuittest.Hex32
	Seed                  circuittest.Hex32
	CommR                 circuittest.Hex32 `json:"comm_r"`
	CommD                 circuittest.Hex32 `json:"comm_d"`
	ReplicaID             circuittest.Hex32 `json:"replica_id"`
	PoRepID               circuittest.Hex32 `json:"porep_id"`
	APIVersion            string            `json:"api_version"`
	PublicInputs          [][]string        `json:"public_inputs_le"`
	// Flat in seal-inputs.json, by partition elsewhere.
	Challenges          json.RawMessage
	SyntheticChallenges []uint64 `json:"synthetic_challenges"`
}

// statement of v, with the parameters of its sector size.
func (v *vector) statement(t testing.TB) *Statement {
	t.Helper()
	p, err := ParseRegisteredProof(v.RegisteredProof)
	require.NoError(t, err)
	return &Statement{
		Proof: p, ProverID: v.ProverID, SectorNumber: v.SectorID,
		Ticket: v.Ticket, Seed: v.Seed, CommR: v.CommR, CommD: v.CommD,
		Params: v.params(t, p),
	}
}

// params are nil where the registered proof p has the vector's sector size.
func (v *vector) params(t testing.TB, p RegisteredProof) *Params {
	t.Helper()
	if v.SectorSize == 0 || v.SectorSize == p.SectorSize() {
		return nil
	}
	o, err := ParamsFor(v.SectorSize)
	require.NoError(t, err)
	o.Layers = v.Layers
	if o.Layers == 0 {
		o.Layers = 2
	}
	return &o
}

// c1Vectors are the names of the vectors that have a phase-1 output of a supported proof.
func c1Vectors() []string {
	return []string{"porep", "porep-v1", "porep-synthetic", "porep-16KiB", "porep-32KiB", "porep-16KiB-11layers", "porep-32KiB-11layers"}
}

func loadVector(t testing.TB, name string) *vector {
	t.Helper()
	return circuittest.LoadJSON[*vector](t, "c1", name+".inputs.json")
}
