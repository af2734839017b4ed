package porep

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// hex32 is 32 bytes, hex in JSON.
type hex32 [32]byte

func (h *hex32) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	copy(h[:], b)
	return err
}

// vector is the statement of a test vector and what the reference derives from it.
type vector struct {
	RegisteredProof       string `json:"registered_proof"`
	RegisteredProofNumber int    `json:"registered_proof_number"`
	ProverID              hex32  `json:"prover_id"`
	MinerActor            uint64 `json:"miner_actor"`
	SectorID              uint64 `json:"sector_id"`
	SectorSize            uint64 `json:"sector_size"`
	Layers                int
	Partitions            int
	Ticket                hex32
	Seed                  hex32
	CommR                 hex32      `json:"comm_r"`
	CommD                 hex32      `json:"comm_d"`
	ReplicaID             hex32      `json:"replica_id"`
	PoRepID               hex32      `json:"porep_id"`
	APIVersion            string     `json:"api_version"`
	PublicInputs          [][]string `json:"public_inputs_le"`
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
	return loadJSON[*vector](t, "c1", name+".inputs.json")
}

// loadJSON reads a file of testdata, decompressed if it is a .zst.
func loadJSON[T any](t testing.TB, path ...string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(testdata(t, path...), &v))
	return v
}

// testdata is the content of a file of testdata, decompressed if it is a .zst.
func testdata(t testing.TB, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	require.NoError(t, err)
	if filepath.Ext(path[len(path)-1]) != ".zst" {
		return b
	}
	d, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer d.Close()
	b, err = d.DecodeAll(b, nil)
	require.NoError(t, err)
	return b
}

func hexLE(e fr.Element) string {
	var b [fr.Bytes]byte
	fr.LittleEndian.PutElement(&b, e)
	return hex.EncodeToString(b[:])
}

func hexesLE(in [][]fr.Element) [][]string {
	out := make([][]string, len(in))
	for k := range in {
		for _, e := range in[k] {
			out[k] = append(out[k], hexLE(e))
		}
	}
	return out
}

func mustSize(t testing.TB, s string) uint64 {
	t.Helper()
	n, err := sectorsize.Parse(s)
	require.NoError(t, err)
	return n
}
