package porep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/sectorsize"
	"github.com/gocuzk/cuzk/pce"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

// r1cs is what the reference says of a circuit's rows.
type r1cs struct {
	Circuit    string `json:"circuit"`
	SectorSize string `json:"sector_size"`
	Rows       int    `json:"rows"`
	Inputs     int    `json:"inputs"`
	Aux        int    `json:"aux"`
	SHA256     string `json:"sha256"`
	SHA256Full string `json:"sha256_full"`
	NNZA       uint64 `json:"nnz_a"`
	NNZB       uint64 `json:"nnz_b"`
	NNZC       uint64 `json:"nnz_c"`
	DensityA   int    `json:"density_a_aux"`
	DensityB   int    `json:"density_b_aux"`
	DensityBIn int    `json:"density_b_inputs"`
}

func reference(t *testing.T, circuit, size string) r1cs {
	t.Helper()
	data, err := os.ReadFile("../../testdata/r1cs-digests.json")
	require.NoError(t, err)
	var list []r1cs
	require.NoError(t, json.Unmarshal(data, &list))
	i := slices.IndexFunc(list, func(d r1cs) bool { return d.Circuit == circuit && (size == "" || d.SectorSize == size) })
	require.GreaterOrEqual(t, i, 0)
	return list[i]
}

// requireRows records a circuit and compares rows, counts and densities with the reference's.
func requireRows(t *testing.T, want r1cs, s func(pce.Builder) error, o *pce.RecordOptions) {
	t.Helper()
	sys, err := pce.Record(t.Context(), want.Circuit, s, o)
	require.NoError(t, err)
	d, err := sys.R1CSDigest(t.Context())
	require.NoError(t, err)
	c, l := sys.Counts(), sys.Layout()
	require.Equal(t, want, r1cs{
		Circuit: want.Circuit, SectorSize: want.SectorSize, Rows: c.Rows, Inputs: c.Inputs, Aux: c.Aux,
		SHA256: hex.EncodeToString(d.SHA256[:]), SHA256Full: hex.EncodeToString(d.SHA256Full[:]),
		NNZA: d.NonZero[0], NNZB: d.NonZero[1], NNZC: d.NonZero[2],
		DensityA: l.Densities.AAux.Count(), DensityB: l.Densities.BAux.Count(), DensityBIn: l.Densities.BInput.Count(),
	})
	require.Zero(t, d.ZeroTerms)
}

func TestRowsEqualReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	sizes := []uint64{2 << 10, 4 << 10, 16 << 10, 32 << 10, 8 << 20}
	if *slow {
		sizes = Sizes()
	}
	for _, size := range sizes {
		p, err := ParamsFor(size)
		require.NoError(t, err)
		t.Run(p.Name(), func(t *testing.T) {
			requireRows(t, reference(t, "porep", sectorsize.Format(size)), Blank(p).Synthesize, nil)
		})
	}
}

// TestEveryBlockInstance compares all instances of all blocks and not just three of each.
func TestEveryBlockInstance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	p, err := ParamsFor(2 << 10)
	require.NoError(t, err)
	requireRows(t, reference(t, "porep", "2KiB"), Blank(p).Synthesize, &pce.RecordOptions{VerifyBlocks: true})
}

func TestGadgetRowsEqualReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Run("prefix", func(t *testing.T) {
		requireRows(t, reference(t, "gadget:porep-prefix", ""), func(b pce.Builder) error {
			new(Circuit).prefix(b)
			return nil
		}, nil)
	})
	t.Run("test circuit", func(t *testing.T) {
		p := Params{SectorSize: 8 * 32, Shape: Shape{Base: 8}, Layers: 2, Partitions: 1, Challenges: 1}
		requireRows(t, reference(t, "gadget:porep-test", ""), Blank(p).Synthesize, nil)
	})
	t.Run("create_label", func(t *testing.T) {
		requireRows(t, reference(t, "gadget:create_label", ""), func(b pce.Builder) error {
			parents := make([]number, totalParents)
			for i := range parents {
				parents[i] = streamNumber(b)
			}
			createLabel(b, streamNumber(b), parents, 3, [2]pce.Word{pce.ConstWord(22), pce.ConstWord(0)})
			return nil
		}, nil)
	})
}

// streamNumber allocates 256 bits in the order in which SHA-256 reads them.
func streamNumber(b pce.Builder) number {
	var n number
	for i := range n {
		w := make([]pce.Bit, 32)
		for k := range w {
			w[31-k] = b.AllocBit(false)
		}
		n[i] = pce.WordOf(w).ByteSwap()
	}
	return n
}

// vectorCircuit is the circuit of partition 0 of a test vector.
func vectorCircuit(t testing.TB, name string) *Circuit {
	t.Helper()
	c1, _, _ := decodeVector(t, name)
	circuits, err := c1.Circuits()
	require.NoError(t, err)
	require.Len(t, circuits, 1)
	return circuits[0]
}

func elementsDigest(values []fr.Element) string {
	h := sha256.New()
	for _, v := range values {
		var b [fr.Bytes]byte
		fr.LittleEndian.PutElement(&b, v)
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestWitnessEqualsReference makes the witness of every vector and compares inputs, private variables
// and the values of all rows with the reference's, and the circuit's public inputs with those computed
// from chain values.
func TestWitnessEqualsReference(t *testing.T) {
	type digests struct {
		Rows   int    `json:"rows_full"`
		Inputs string `json:"sha256_inputs"`
		Aux    string `json:"sha256_aux"`
		A      string `json:"sha256_a"`
		B      string `json:"sha256_b"`
		C      string `json:"sha256_c"`
	}
	want := loadJSON[map[string]digests](t, "witness.json")
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	names := c1Vectors()
	if !*slow { // 12 million rows each
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, "-11layers") })
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			ctx, c := t.Context(), vectorCircuit(t, name)
			w, err := pce.MakeWitness(ctx, c.Synthesize, nil)
			require.NoError(t, err)
			public, err := c.PublicInputs()
			require.NoError(t, err)
			require.Equal(t, public, w.Inputs[1:])
			sys, err := pce.Record(ctx, c.Name(), Blank(c.Params).Synthesize, nil)
			require.NoError(t, err)
			abc := [3][]fr.Element{}
			for m := range abc {
				abc[m] = make([]fr.Element, sys.FullRows())
			}
			require.NoError(t, sys.Eval(ctx, w, abc[0], abc[1], abc[2]))
			aux := make([]fr.Element, sys.Counts().Aux)
			require.NoError(t, sys.Layout().Expand(w, aux))
			require.Equal(t, want[name], digests{
				Rows: sys.FullRows(), Inputs: elementsDigest(w.Inputs), Aux: elementsDigest(aux),
				A: elementsDigest(abc[0]), B: elementsDigest(abc[1]), C: elementsDigest(abc[2]),
			})
		})
	}
}

// TestDirectEqualsBlocks: the path without a System gives the same witness and the same rows.
func TestDirectEqualsBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	ctx, c := t.Context(), vectorCircuit(t, "porep")
	w, err := pce.MakeWitness(ctx, c.Synthesize, nil)
	require.NoError(t, err)
	slowWitness, rows, err := pce.Direct(ctx, c.Synthesize)
	require.NoError(t, err)
	require.Equal(t, slowWitness, w)
	sys, err := pce.Record(ctx, c.Name(), Blank(c.Params).Synthesize, nil)
	require.NoError(t, err)
	require.Equal(t, sys.Layout(), rows.Layout)
	abc := [3][]fr.Element{}
	for m := range abc {
		abc[m] = make([]fr.Element, sys.FullRows())
	}
	require.NoError(t, sys.Eval(ctx, w, abc[0], abc[1], abc[2]))
	require.Equal(t, [3][]fr.Element{rows.A, rows.B, rows.C}, abc)
}

// TestCheckNamesTheRow: no row of a real sector is unsatisfied, and one altered value, wherever it is,
// breaks a row that Check names.
func TestCheckNamesTheRow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	ctx, c := t.Context(), vectorCircuit(t, "porep")
	require.NoError(t, pce.Check(ctx, c.Synthesize))
	w, err := pce.MakeWitness(ctx, c.Synthesize, nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	tries := 3
	if *slow {
		tries = 100
	}
	for range tries {
		bad := *w
		bad.Bits, bad.Dense = slices.Clone(w.Bits), slices.Clone(w.Dense)
		if i := r.IntN(w.NumBits + len(w.Dense)); i < w.NumBits {
			bad.Bits[i/64] ^= 1 << (i % 64)
		} else {
			bad.Dense[i-w.NumBits].SetRandom()
		}
		var re *pce.RowError
		require.ErrorAs(t, pce.CheckWitness(ctx, c.Synthesize, &bad), &re)
		require.NotEmpty(t, re.Path)
	}
}

// TestShapeIsChecked: rows follow from the shape of the vanilla proofs, so a wrong shape is refused.
func TestShapeIsChecked(t *testing.T) {
	p, err := ParamsFor(2 << 10)
	require.NoError(t, err)
	for name, alter := range map[string]func(c *Circuit){
		"sector size":        func(c *Circuit) { c.Params.SectorSize = 3 << 10 },
		"layers":             func(c *Circuit) { c.Params.Layers = 3 },
		"challenges":         func(c *Circuit) { c.Challenges = c.Challenges[1:] },
		"data path":          func(c *Circuit) { c.Challenges[1].DPath.Levels = c.Challenges[1].DPath.Levels[1:] },
		"replica path":       func(c *Circuit) { c.Challenges[1].RPath.Levels[0].Siblings = nil },
		"column path":        func(c *Circuit) { c.Challenges[1].CPath.Levels[1].Index = 8 },
		"parent labels":      func(c *Circuit) { c.Challenges[1].Drg[3].Rows = nil },
		"parent path":        func(c *Circuit) { c.Challenges[1].Exp[7].Path.Levels[0].Index = -1 },
		"another size's":     func(c *Circuit) { c.Params.SectorSize = 8 << 20 },
		"another tree shape": func(c *Circuit) { c.Params.Shape = Shape{Base: 4, Sub: 4} },
	} {
		t.Run(name, func(t *testing.T) {
			c := Blank(p)
			alter(c)
			_, err := pce.Record(t.Context(), "x", c.Synthesize, nil)
			require.ErrorContains(t, err, "porep: ")
			require.NotErrorIs(t, err, pce.ErrPanic)
			_, err = pce.MakeWitness(t.Context(), c.Synthesize, nil)
			require.Error(t, err)
		})
	}
	_, err = Blank(p).PublicInputs()
	require.ErrorIs(t, err, ErrBlank)
}

func BenchmarkRecord(b *testing.B) {
	for _, size := range []uint64{2 << 10, 32 << 30} {
		p, err := ParamsFor(size)
		require.NoError(b, err)
		b.Run(p.Name(), func(b *testing.B) {
			for b.Loop() {
				_, err := pce.Record(b.Context(), p.Name(), Blank(p).Synthesize, nil)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkWitness(b *testing.B) {
	c := vectorCircuit(b, "porep")
	for b.Loop() {
		_, err := pce.MakeWitness(b.Context(), c.Synthesize, &pce.WitnessOptions{Workers: 1})
		require.NoError(b, err)
	}
}

func BenchmarkEval(b *testing.B) {
	c := vectorCircuit(b, "porep")
	w, err := pce.MakeWitness(b.Context(), c.Synthesize, nil)
	require.NoError(b, err)
	sys, err := pce.Record(b.Context(), c.Name(), c.Synthesize, nil)
	require.NoError(b, err)
	abc := [3][]fr.Element{}
	for m := range abc {
		abc[m] = make([]fr.Element, sys.FullRows())
	}
	for b.Loop() {
		require.NoError(b, sys.Eval(b.Context(), w, abc[0], abc[1], abc[2]))
	}
}

func BenchmarkR1CSDigest(b *testing.B) {
	p, err := ParamsFor(2 << 10)
	require.NoError(b, err)
	sys, err := pce.Record(b.Context(), p.Name(), Blank(p).Synthesize, nil)
	require.NoError(b, err)
	for b.Loop() {
		_, err := sys.R1CSDigest(b.Context())
		require.NoError(b, err)
	}
}
