package enginetest

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/wire"
	"github.com/gocuzk/cuzk/pce"
)

//go:embed testdata
var testdata embed.FS

// SmallNames are the circuits of [Small].
func SmallNames() []string { return []string{"cubic", "feistel", "sparse"} }

// Vector is a small circuit with everything that the reference implementation made of it.
type Vector struct {
	Circuit *Explicit
	Secrets Secrets
	Params  []byte
	VK      []byte
	R, S    fr.Element
	Proof   []byte // with R and S
	Random  []byte // another proof
	// SHA256 has hex digests of "inputs", "aux", "a", "b", "c" and "h".
	SHA256 map[string]string
}

// Secrets are the numbers behind a key.
type Secrets struct{ Alpha, Beta, Gamma, Delta, Tau fr.Element }

// Small loads one of [SmallNames].
func Small(t testing.TB, name string) *Vector {
	t.Helper()
	v := &Vector{Circuit: &Explicit{Label: name, Rows: readRows(t, name)}, SHA256: map[string]string{}}
	var w struct {
		Inputs []string          `json:"inputs_le"`
		Aux    []string          `json:"aux_le"`
		Setup  map[string]string `json:"setup"`
	}
	readJSON(t, name+"/witness.json", &w)
	v.Circuit.Inputs = scalars(t, w.Inputs)[1:]
	v.Circuit.Aux = scalars(t, w.Aux)
	for field, to := range map[string]*fr.Element{
		"alpha_le": &v.Secrets.Alpha, "beta_le": &v.Secrets.Beta, "gamma_le": &v.Secrets.Gamma,
		"delta_le": &v.Secrets.Delta, "tau_le": &v.Secrets.Tau,
	} {
		*to = Scalar(t, w.Setup[field])
	}
	var fixed map[string]any
	readJSON(t, name+"/fixed.json", &fixed)
	text := func(field string) string { return fmt.Sprint(fixed[field]) }
	v.R, v.S = Scalar(t, text("r_le")), Scalar(t, text("s_le"))
	v.Proof = unhex(t, text("proof"))
	for _, what := range []string{"inputs", "aux", "a", "b", "c", "h"} {
		v.SHA256[what] = text("sha256_" + what)
	}
	var random struct {
		Proof string `json:"proof"`
	}
	readJSON(t, name+"/random.json", &random)
	v.Random = unhex(t, random.Proof)
	v.Params, v.VK = read(t, name+"/params"), read(t, name+"/vk")
	return v
}

// System records the vector's circuit.
func (v *Vector) System(t testing.TB) *pce.System {
	t.Helper()
	s, err := pce.Record(t.Context(), v.Circuit.Name(), v.Circuit.Synthesize, nil)
	require.NoError(t, err)
	return s
}

// ParamsFile writes the parameter file to a temporary folder and returns its path.
func (v *Vector) ParamsFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), v.Circuit.Name()+".params")
	require.NoError(t, os.WriteFile(path, v.Params, 0o600))
	return path
}

// Encode is the concatenation of the encodings of scalars, as the vectors' digests have it.
func Encode(s []fr.Element) []byte {
	var b []byte
	for i := range s {
		b = wire.AppendFr(b, &s[i])
	}
	return b
}

// Scalar decodes 32 little-endian bytes in hex.
func Scalar(t testing.TB, s string) fr.Element {
	t.Helper()
	e, err := wire.Fr(unhex(t, s))
	require.NoError(t, err)
	return e
}

func scalars(t testing.TB, list []string) []fr.Element {
	t.Helper()
	out := make([]fr.Element, len(list))
	for i, s := range list {
		out[i] = Scalar(t, s)
	}
	return out
}

func readRows(t testing.TB, name string) []Row {
	t.Helper()
	var rows []Row
	lines := bufio.NewScanner(bytes.NewReader(read(t, name+"/r1cs.jsonl")))
	for lines.Scan() {
		var line struct{ A, B, C [][3]any }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		var r Row
		for m, terms := range [][][3]any{line.A, line.B, line.C} {
			for _, x := range terms {
				var c fr.Element
				require.NoError(t, c.SetBytesCanonical(unhex(t, x[2].(string))))
				r[m] = append(r[m], Term{Input: x[0] == "I", Index: int(x[1].(float64)), Coeff: c})
			}
		}
		rows = append(rows, r)
	}
	require.NoError(t, lines.Err())
	return rows
}

func readJSON(t testing.TB, name string, to any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(read(t, name), to))
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := testdata.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return b
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}
