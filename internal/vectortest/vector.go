package vectortest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/pce"
)

// Names are the vectors.
func Names() []string { return []string{"porep", "window-post", "winning-post", "snap-deals"} }

// Vector is one proof of the reference with everything that it is of.
type Vector struct {
	Name       string
	Partitions []circuits.Circuit
	Blank      circuits.Circuit // of the same constraint system, without values
	folder     string
}

// Open reads a vector. root is the module's root folder.
func Open(t testing.TB, root, name string) *Vector {
	t.Helper()
	v := &Vector{Name: name, folder: filepath.Join(root, "groth16", "testdata", name)}
	switch name {
	case "porep":
		v.openPoRep(t)
	case "snap-deals":
		v.openUpdate(t, filepath.Join(root, "circuits", "update", "testdata", name+".vanilla.bin.zst"))
	default:
		v.openPoSt(t, filepath.Join(root, "circuits", "post", "testdata", name+".vanilla.bin.zst"))
	}
	return v
}

// System records the constraint system.
func (v *Vector) System(t testing.TB) *pce.System {
	t.Helper()
	s, err := pce.Record(t.Context(), v.Blank.Name(), v.Blank.Synthesize, nil)
	require.NoError(t, err)
	return s
}

// Setup is the reference's key by the secrets that it was made from.
type Setup struct {
	Secrets    enginetest.Secrets
	Params, VK Digest
}

// Digest is that of a file.
type Digest struct {
	BLAKE2b512 string
	Size       int64
}

// Setup reads it.
func (v *Vector) Setup(t testing.TB) *Setup {
	t.Helper()
	var in struct {
		Params struct {
			Digest
			Setup map[string]string
		}
		VK Digest
	}
	v.read(t, "params.json", &in)
	s := &Setup{Params: in.Params.Digest, VK: in.VK}
	for name, to := range map[string]*fr.Element{
		"alpha_le": &s.Secrets.Alpha, "beta_le": &s.Secrets.Beta, "gamma_le": &s.Secrets.Gamma,
		"delta_le": &s.Secrets.Delta, "tau_le": &s.Secrets.Tau,
	} {
		*to = enginetest.Scalar(t, in.Params.Setup[name])
	}
	return s
}

// Fixed is a partition's proof with known r and s.
type Fixed struct {
	Inputs []fr.Element // public, without ONE
	R, S   fr.Element
	Proof  []byte
}

// Fixed reads that of partition k.
func (v *Vector) Fixed(t testing.TB, k int) *Fixed {
	t.Helper()
	name := fmt.Sprintf("fixed-%d.json", k)
	if v.Name == "porep" {
		name = "fixed.json"
	}
	var in struct {
		Proof  string
		Inputs []string `json:"public_inputs_le"`
		R      string   `json:"r_le"`
		S      string   `json:"s_le"`
	}
	v.read(t, name, &in)
	f := &Fixed{R: enginetest.Scalar(t, in.R), S: enginetest.Scalar(t, in.S), Proof: unhex(t, in.Proof)}
	for _, s := range in.Inputs {
		f.Inputs = append(f.Inputs, enginetest.Scalar(t, s))
	}
	return f
}

func (v *Vector) read(t testing.TB, name string, to any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(v.folder, name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, to))
}

// unpack is the contents of a compressed file.
func unpack(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	d, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer d.Close()
	all, err := d.DecodeAll(b, nil)
	require.NoError(t, err)
	return all
}

func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	b, err := hex.DecodeString(digits)
	require.NoError(t, err)
	return b
}
