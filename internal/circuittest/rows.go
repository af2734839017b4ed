package circuittest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/pce"
)

// Synthesize describes a circuit.
type Synthesize = func(pce.Builder) error

// R1CS is what the reference says of a circuit's rows.
type R1CS struct {
	Circuit    string `json:"circuit"`
	SectorSize string `json:"sector_size"` // empty for parts of circuits
	Rows       int    `json:"rows"`
	Inputs     int    `json:"inputs"`
	Aux        int    `json:"aux"`
	SHA256     string `json:"sha256"`
	SHA256Full string `json:"sha256_full"`
	NNZA       uint64 `json:"nnz_a"`
	NNZB       uint64 `json:"nnz_b"`
	NNZC       uint64 `json:"nnz_c"`
	ZeroTerms  uint64 `json:"zero_terms"`
	DensityA   int    `json:"density_a_aux"`
	DensityB   int    `json:"density_b_aux"`
	DensityBIn int    `json:"density_b_inputs"`
}

// Reference is the reference's entry for a circuit; ok is false if it has none. It is for tests of packages two folders
// below the module's root.
func Reference(t testing.TB, circuit, size string) (d R1CS, ok bool) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/r1cs-digests.json")
	require.NoError(t, err)
	var list []R1CS
	require.NoError(t, json.Unmarshal(data, &list))
	i := slices.IndexFunc(list, func(d R1CS) bool { return d.Circuit == circuit && d.SectorSize == size })
	if i < 0 {
		return d, false
	}
	return list[i], true
}

// RequireRows records a circuit and compares rows, counts and densities with the reference's.
func RequireRows(t testing.TB, circuit, size string, s Synthesize, o *pce.RecordOptions) {
	t.Helper()
	want, ok := Reference(t, circuit, size)
	require.True(t, ok, "no reference of %s %s", circuit, size)
	sys, err := pce.Record(t.Context(), circuit, s, o)
	require.NoError(t, err)
	d, err := sys.R1CSDigest(t.Context())
	require.NoError(t, err)
	c, l := sys.Counts(), sys.Layout()
	require.Equal(t, want, R1CS{
		Circuit: circuit, SectorSize: size, Rows: c.Rows, Inputs: c.Inputs, Aux: c.Aux,
		SHA256: hex.EncodeToString(d.SHA256[:]), SHA256Full: hex.EncodeToString(d.SHA256Full[:]),
		NNZA: d.NonZero[0], NNZB: d.NonZero[1], NNZC: d.NonZero[2], ZeroTerms: d.ZeroTerms,
		DensityA: l.Densities.AAux.Count(), DensityB: l.Densities.BAux.Count(), DensityBIn: l.Densities.BInput.Count(),
	})
}

// RequireSmall records a circuit, compares its counts with the reference's, and requires less than a number of bytes for
// the stored system.
func RequireSmall(t testing.TB, circuit, size string, s Synthesize, bytes int) {
	t.Helper()
	want, ok := Reference(t, circuit, size)
	require.True(t, ok, "no reference of %s %s", circuit, size)
	sys, err := pce.Record(t.Context(), circuit, s, nil)
	require.NoError(t, err)
	var n countingWriter
	_, err = sys.WriteTo(&n)
	require.NoError(t, err)
	require.Less(t, int(n), bytes)
	c := sys.Counts()
	require.Equal(t, [3]int{want.Rows, want.Inputs, want.Aux}, [3]int{c.Rows, c.Inputs, c.Aux})
}

// countingWriter counts bytes.
type countingWriter int

// Write implements io.Writer.
func (c *countingWriter) Write(b []byte) (int, error) {
	*c += countingWriter(len(b))
	return len(b), nil
}

// Witness is what the reference says of a witness: digests of 32 bytes, least significant first, for each value.
type Witness struct {
	Rows   int    `json:"rows_full"`
	Inputs string `json:"sha256_inputs"`
	Aux    string `json:"sha256_aux"`
	A      string `json:"sha256_a"`
	B      string `json:"sha256_b"`
	C      string `json:"sha256_c"`
}

// RequireWitness compares public inputs and private variables with the reference's, and with rows also the values of all
// rows, which follow from these and the rows' digests.
func RequireWitness(t testing.TB, want Witness, sys *pce.System, w *pce.Witness, rows bool) {
	t.Helper()
	aux := make([]fr.Element, sys.Counts().Aux)
	require.NoError(t, sys.Layout().Expand(w, aux))
	got := Witness{Rows: sys.FullRows(), Inputs: digest(w.Inputs), Aux: digest(aux), A: want.A, B: want.B, C: want.C}
	if rows {
		abc := evaluated(t, sys, w)
		got.A, got.B, got.C = digest(abc[0]), digest(abc[1]), digest(abc[2])
	}
	require.Equal(t, want, got)
}

func digest(values []fr.Element) string {
	h := sha256.New()
	for _, v := range values {
		h.Write(bytesLE(v))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// evaluated are the values of A, B and C in all rows.
func evaluated(t testing.TB, sys *pce.System, w *pce.Witness) (abc [3][]fr.Element) {
	t.Helper()
	for m := range abc {
		abc[m] = make([]fr.Element, sys.FullRows())
	}
	require.NoError(t, sys.Eval(t.Context(), w, abc[0], abc[1], abc[2]))
	return abc
}

// RequireDirect makes sure that a circuit without a System gives the same witness, layout and rows as with one, and that a
// circuit with values is recorded like a blank one.
func RequireDirect(t testing.TB, s, blank Synthesize) {
	t.Helper()
	w, err := pce.MakeWitness(t.Context(), s, nil)
	require.NoError(t, err)
	direct, rows, err := pce.Direct(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, direct, w)
	sys, err := pce.Record(t.Context(), "same", s, nil)
	require.NoError(t, err)
	require.Equal(t, sys.Layout(), rows.Layout)
	abc := evaluated(t, sys, w)
	require.True(t, slices.Equal(rows.A, abc[0]) && slices.Equal(rows.B, abc[1]) && slices.Equal(rows.C, abc[2]))
	other, err := pce.Record(t.Context(), "same", blank, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(stored(t, sys), stored(t, other)))
}

func stored(t testing.TB, sys *pce.System) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := sys.WriteTo(&b)
	require.NoError(t, err)
	return b.Bytes()
}

// RequireRowsNamed makes sure that no row of a circuit is unsatisfied, and that one altered value, wherever it is, breaks a
// row that pce.CheckWitness names. It tries some random places.
func RequireRowsNamed(t testing.TB, s Synthesize, tries int) {
	t.Helper()
	require.NoError(t, pce.Check(t.Context(), s))
	w, err := pce.MakeWitness(t.Context(), s, nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range tries {
		bad := *w
		bad.Bits, bad.Dense = slices.Clone(w.Bits), slices.Clone(w.Dense)
		if i := r.IntN(w.NumBits + len(w.Dense)); i < w.NumBits {
			bad.Bits[i/64] ^= 1 << (i % 64)
		} else {
			bad.Dense[i-w.NumBits].SetRandom()
		}
		var re *pce.RowError
		require.ErrorAs(t, pce.CheckWitness(t.Context(), s, &bad), &re)
		require.NotEmpty(t, re.Path)
	}
}
