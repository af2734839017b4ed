package update

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

// hex32 is 32 bytes, hex in JSON.
type hex32 [32]byte

func (h *hex32) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	copy(h[:], b)
	return err
}

// vector is the statement of a test vector and what the reference derives from it.
type vector struct {
	SectorSize   uint64 `json:"sector_size"`
	Partitions   int
	H            int
	CommROld     hex32      `json:"comm_r_old"`
	CommRNew     hex32      `json:"comm_r_new"`
	CommDNew     hex32      `json:"comm_d_new"`
	PublicInputs [][]string `json:"public_inputs_le"`
}

// vectorNames are the names of all vectors, the smallest first.
func vectorNames() []string {
	return []string{"snap-deals", "snap-deals-16KiB", "snap-deals-32KiB", "snap-deals-8MiB"}
}

func loadVector(t testing.TB, name string) *vector {
	t.Helper()
	return loadJSON[*vector](t, name+".json.zst")
}

// statement of v. Sizes without a registered proof have the parameters of theirs.
func (v *vector) statement(t testing.TB) *Statement {
	t.Helper()
	s := &Statement{CommROld: v.CommROld, CommRNew: v.CommRNew, CommDNew: v.CommDNew}
	var err error
	if s.Proof, err = RegisteredProofFor(v.SectorSize); err != nil {
		p, err := ParamsFor(Sha256, v.SectorSize)
		require.NoError(t, err)
		s.Params = &p
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
	all := testdata(t, name+".vanilla.bin.zst")
	v := loadVector(t, name)
	size := len(all) / v.Partitions
	require.Equal(t, params(t, v.statement(t)).VanillaSize(), size)
	out := make([][]byte, v.Partitions)
	for k := range out {
		out[k] = all[k*size : (k+1)*size : (k+1)*size]
	}
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

// loadJSON reads a file of testdata, decompressed if it is a .zst.
func loadJSON[T any](t testing.TB, name string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(testdata(t, name), &v))
	return v
}

// testdata is the content of a file of testdata, decompressed if it is a .zst.
func testdata(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	if filepath.Ext(name) != ".zst" {
		return b
	}
	d, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer d.Close()
	b, err = d.DecodeAll(b, nil)
	require.NoError(t, err)
	return b
}

func hexesLE(in [][]fr.Element) [][]string {
	out := make([][]string, len(in))
	for k := range in {
		for _, e := range in[k] {
			out[k] = append(out[k], show(e))
		}
	}
	return out
}
