package vectortest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
)

func (v *Vector) openPoRep(t testing.TB) {
	t.Helper()
	c1, err := porep.DecodeC1(bytes.NewReader(unpack(t, v.folder+"/c1.json.zst")), nil)
	require.NoError(t, err)
	partitions, err := c1.Circuits()
	require.NoError(t, err)
	v.Partitions, v.Blank = listOf(partitions), porep.Blank(c1.Params)
}

func (v *Vector) openPoSt(t testing.TB, vanillaFile string) {
	t.Helper()
	var in struct {
		Proof      string `json:"registered_proof"`
		Randomness string
	}
	v.read(t, "inputs.json", &in)
	proof, err := post.ParseRegisteredProof(in.Proof)
	require.NoError(t, err)
	p, err := proof.Params()
	require.NoError(t, err)
	vanilla, err := post.DecodeAll(p, cut(t, unpack(t, vanillaFile), p.VanillaSize()))
	require.NoError(t, err)
	partitions, err := post.StatementOf(proof, [32]byte(unhex(t, in.Randomness)), vanilla).Circuits(vanilla)
	require.NoError(t, err)
	v.Partitions, v.Blank = listOf(partitions), post.Blank(p)
}

func (v *Vector) openUpdate(t testing.TB, vanillaFile string) {
	t.Helper()
	var in struct {
		Proof    string `json:"registered_proof"`
		CommROld string `json:"comm_r_old"`
		CommRNew string `json:"comm_r_new"`
		CommDNew string `json:"comm_d_new"`
	}
	v.read(t, "inputs.json", &in)
	proof, err := update.ParseRegisteredProof(in.Proof)
	require.NoError(t, err)
	p, err := proof.Params()
	require.NoError(t, err)
	vanilla, err := update.DecodeAll(p, cut(t, unpack(t, vanillaFile), p.VanillaSize()))
	require.NoError(t, err)
	s := &update.Statement{
		Proof: proof, CommROld: [32]byte(unhex(t, in.CommROld)), CommRNew: [32]byte(unhex(t, in.CommRNew)),
		CommDNew: [32]byte(unhex(t, in.CommDNew)),
	}
	partitions, err := s.Circuits(vanilla)
	require.NoError(t, err)
	v.Partitions, v.Blank = listOf(partitions), update.Blank(p)
}

// cut cuts vanilla proofs, which all have the same size, apart.
func cut(t testing.TB, all []byte, size int) (out [][]byte) {
	t.Helper()
	require.Zero(t, len(all)%size)
	for ; len(all) > 0; all = all[size:] {
		out = append(out, all[:size:size])
	}
	return out
}

func listOf[C circuits.Circuit](partitions []C) (out []circuits.Circuit) {
	for _, c := range partitions {
		out = append(out, c)
	}
	return out
}
