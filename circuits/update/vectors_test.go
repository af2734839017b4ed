package update

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

// vector is the statement of a test vector and what the reference derives from it.
type vector struct {
	SectorSize   uint64 `json:"sector_size"`
	Partitions   int
	H            int
	CommROld     circuittest.Hex32 `json:"comm_r_old"`
	CommRNew     circuittest.Hex32 `json:"comm_r_new"`
	CommDNew     circuittest.Hex32 `json:"comm_d_new"`
	PublicInputs [][]string        `json:"public_inputs_le"`
}

// vectorNames are the names of all vectors, the smallest first.
func vectorNames() []string {
	return []string{"snap-deals", "snap-deals-16KiB", "snap-deals-32KiB", "snap-deals-8MiB"}
}

func loadVector(t testing.TB, name string) *vector {
	t.Helper()
	return circuittest.LoadJSON[*vector](t, name+".json.zst")
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
	all := circuittest.Testdata(t, name+".vanilla.bin.zst")
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
