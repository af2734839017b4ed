package post

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

	"github.com/gocuzk/cuzk/internal/sectorsize"
	"github.com/gocuzk/cuzk/internal/vanilla"
	"github.com/gocuzk/cuzk/pce"
)

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
	ZeroTerms  uint64 `json:"zero_terms"`
	DensityA   int    `json:"density_a_aux"`
	DensityB   int    `json:"density_b_aux"`
	DensityBIn int    `json:"density_b_inputs"`
}

// reference is the reference's entry for a circuit; ok is false if it has none.
func reference(t *testing.T, circuit, size string) (d r1cs, ok bool) {
	t.Helper()
	data, err := os.ReadFile("../../testdata/r1cs-digests.json")
	require.NoError(t, err)
	var list []r1cs
	require.NoError(t, json.Unmarshal(data, &list))
	i := slices.IndexFunc(list, func(d r1cs) bool { return d.Circuit == circuit && d.SectorSize == size })
	if i < 0 {
		return d, false
	}
	return list[i], true
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
		NNZA: d.NonZero[0], NNZB: d.NonZero[1], NNZC: d.NonZero[2], ZeroTerms: d.ZeroTerms,
		DensityA: l.Densities.AAux.Count(), DensityB: l.Densities.BAux.Count(), DensityBIn: l.Densities.BInput.Count(),
	})
}

// TestRowsEqualReference compares every row of every sector size; WindowPoSt of 32 and 64 GiB, of 125
// and 130 million rows, with -slow.
func TestRowsEqualReference(t *testing.T) {
	for _, k := range []Kind{Winning, Window} {
		for _, size := range Sizes() {
			p, err := ParamsFor(k, size)
			require.NoError(t, err)
			t.Run(p.Name(), func(t *testing.T) {
				if size > 2<<10 && testing.Short() || p.Sectors > 100 && !*slow {
					t.Skip("takes long; runs without -short, the largest with -slow")
				}
				t.Parallel()
				want, ok := reference(t, k.String()+"-post", sectorsize.Format(size))
				if !ok {
					requireCounts(t, p)
					return
				}
				requireRows(t, want, Blank(p).Synthesize, nil)
			})
		}
	}
}

// requireCounts compares the sizes that the reference has no digests of with the specification's (§6.4).
func requireCounts(t *testing.T, p Params) {
	t.Helper()
	want, ok := map[string]pce.Counts{
		"winning-post-16MiB": {Rows: 251_394, Inputs: 133, Aux: 254_232},
		"winning-post-1GiB":  {Rows: 321_354, Inputs: 133, Aux: 325_116},
		"window-post-16MiB":  {Rows: 70_546, Inputs: 23, Aux: 71_388},
		"window-post-1GiB":   {Rows: 91_746, Inputs: 23, Aux: 92_868},
	}[p.Name()]
	require.True(t, ok)
	sys, err := pce.Record(t.Context(), p.Name(), Blank(p).Synthesize, nil)
	require.NoError(t, err)
	got := sys.Counts()
	got.Bits, got.Dense = 0, 0
	require.Equal(t, want, got)
}

// TestGadgetRowsEqualReference: three sectors of five challenges over 64 leaves; every instance of
// every block is compared.
func TestGadgetRowsEqualReference(t *testing.T) {
	want, ok := reference(t, "gadget:post-test", "")
	require.True(t, ok)
	p := Params{Kind: Window, SectorSize: 64 * 32, Shape: Shape{Base: 8}, Sectors: 3, Challenges: 5}
	requireRows(t, want, Blank(p).Synthesize, &pce.RecordOptions{VerifyBlocks: true})
}

// countingWriter counts bytes.
type countingWriter int

func (c *countingWriter) Write(b []byte) (int, error) {
	*c += countingWriter(len(b))
	return len(b), nil
}

// TestSystemIsSmall: 2,349 sectors are stored as one.
func TestSystemIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, size := range []uint64{32 << 30, 64 << 30} {
		p, err := ParamsFor(Window, size)
		require.NoError(t, err)
		sys, err := pce.Record(t.Context(), p.Name(), Blank(p).Synthesize, nil)
		require.NoError(t, err)
		var n countingWriter
		_, err = sys.WriteTo(&n)
		require.NoError(t, err)
		require.Less(t, int(n), 5_000_000)
		want, ok := reference(t, "window-post", sectorsize.Format(size))
		require.True(t, ok)
		require.Equal(t, [3]int{want.Rows, want.Inputs, want.Aux}, [3]int{sys.Counts().Rows, sys.Counts().Inputs, sys.Counts().Aux})
	}
}

func elementsDigest(values []fr.Element) string {
	h := sha256.New()
	for _, v := range values {
		b := vanilla.Bytes(v)
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestWitnessEqualsReference makes the witness of every partition of every vector and compares inputs,
// private variables and the values of all rows with the reference's, and the circuit's public inputs
// with those computed from chain values.
func TestWitnessEqualsReference(t *testing.T) {
	type digests struct {
		Rows   int    `json:"rows_full"`
		Inputs string `json:"sha256_inputs"`
		Aux    string `json:"sha256_aux"`
		A      string `json:"sha256_a"`
		B      string `json:"sha256_b"`
		C      string `json:"sha256_c"`
	}
	want := loadJSON[map[string][]digests](t, "witness.json")
	names := vectorNames()
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		s, proofs := decodeVector(t, name)
		circuits, err := s.Circuits(proofs)
		require.NoError(t, err)
		require.Len(t, circuits, len(want[name]))
		sys, err := pce.Record(t.Context(), circuits[0].Name(), Blank(circuits[0].Params).Synthesize, nil)
		require.NoError(t, err)
		public, err := s.PublicInputs()
		require.NoError(t, err)
		for k, c := range circuits {
			ctx := t.Context()
			w, err := c.Witness(ctx, nil)
			require.NoError(t, err)
			again, err := pce.MakeWitness(ctx, c.Synthesize, nil)
			require.NoError(t, err)
			require.Equal(t, again, w)
			own, err := c.PublicInputs()
			require.NoError(t, err)
			require.Equal(t, public[k], own)
			require.Equal(t, own, w.Inputs[1:])
			abc := [3][]fr.Element{}
			for m := range abc {
				abc[m] = make([]fr.Element, sys.FullRows())
			}
			require.NoError(t, sys.Eval(ctx, w, abc[0], abc[1], abc[2]))
			aux := make([]fr.Element, sys.Counts().Aux)
			require.NoError(t, sys.Layout().Expand(w, aux))
			require.Equal(t, want[name][k], digests{
				Rows: sys.FullRows(), Inputs: elementsDigest(w.Inputs), Aux: elementsDigest(aux),
				A: elementsDigest(abc[0]), B: elementsDigest(abc[1]), C: elementsDigest(abc[2]),
			}, "%s partition %d", name, k)
		}
	}
}

// TestDirectEqualsBlocks: the path without a System gives the same witness and the same rows, and a
// circuit with values is recorded like a blank one.
func TestDirectEqualsBlocks(t *testing.T) {
	s, proofs := decodeVector(t, "window-post")
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	ctx, c := t.Context(), circuits[2]
	w, err := pce.MakeWitness(ctx, c.Synthesize, nil)
	require.NoError(t, err)
	direct, rows, err := pce.Direct(ctx, c.Synthesize)
	require.NoError(t, err)
	require.Equal(t, direct, w)
	sys, err := pce.Record(ctx, c.Name(), c.Synthesize, nil)
	require.NoError(t, err)
	require.Equal(t, sys.Layout(), rows.Layout)
	blank, err := pce.Record(ctx, c.Name(), Blank(c.Params).Synthesize, nil)
	require.NoError(t, err)
	var one, other bytes.Buffer
	_, err = sys.WriteTo(&one)
	require.NoError(t, err)
	_, err = blank.WriteTo(&other)
	require.NoError(t, err)
	require.Equal(t, one.Bytes(), other.Bytes())
}

// TestCheckNamesTheRow: no row of a real partition is unsatisfied, and one altered value, wherever it
// is, breaks a row that Check names.
func TestCheckNamesTheRow(t *testing.T) {
	s, proofs := decodeVector(t, "window-post")
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	ctx, c := t.Context(), circuits[0]
	require.NoError(t, pce.Check(ctx, c.Synthesize))
	w, err := pce.MakeWitness(ctx, c.Synthesize, nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	tries := 20
	if testing.Short() {
		tries = 3
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
	p, err := ParamsFor(Window, 2<<10)
	require.NoError(t, err)
	for name, alter := range map[string]func(c *Circuit){
		"sector size":        func(c *Circuit) { c.Params.SectorSize = 3 << 10 },
		"sectors":            func(c *Circuit) { c.Sectors = c.Sectors[1:] },
		"challenges":         func(c *Circuit) { c.Sectors[1].Paths = c.Sectors[1].Paths[1:] },
		"levels":             func(c *Circuit) { c.Sectors[1].Paths[3].Levels = nil },
		"siblings":           func(c *Circuit) { c.Sectors[1].Paths[3].Levels[1].Siblings = nil },
		"index":              func(c *Circuit) { c.Sectors[1].Paths[3].Levels[1].Index = 8 },
		"negative index":     func(c *Circuit) { c.Sectors[0].Paths[0].Levels[0].Index = -1 },
		"another size's":     func(c *Circuit) { c.Params.SectorSize = 8 << 20 },
		"another tree shape": func(c *Circuit) { c.Params.Shape = Shape{Base: 4, Sub: 4} },
	} {
		t.Run(name, func(t *testing.T) {
			c := Blank(p)
			alter(c)
			_, err := pce.Record(t.Context(), "x", c.Synthesize, nil)
			require.ErrorContains(t, err, "post: ")
			require.NotErrorIs(t, err, pce.ErrPanic)
			_, err = pce.MakeWitness(t.Context(), c.Synthesize, nil)
			require.Error(t, err)
		})
	}
	_, err = Blank(p).PublicInputs()
	require.ErrorIs(t, err, ErrBlank)
	_, err = Blank(p).Witness(t.Context(), nil) // zero is not the hash of zeros
	require.ErrorIs(t, err, pce.ErrUnsatisfied)
}

func BenchmarkRecord(b *testing.B) {
	for _, size := range []uint64{2 << 10, 32 << 30} {
		p, err := ParamsFor(Window, size)
		require.NoError(b, err)
		b.Run(p.Name(), func(b *testing.B) {
			for b.Loop() {
				_, err := pce.Record(b.Context(), p.Name(), Blank(p).Synthesize, nil)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkWitness goes from vanilla bytes to the packed witness of one partition, checks included.
func BenchmarkWitness(b *testing.B) {
	for _, name := range []string{"window-post", "winning-post"} {
		b.Run(name, func(b *testing.B) {
			s, data := loadVector(b, name).statement(b), blobs(b, name)
			p := params(b, s)
			for b.Loop() {
				proofs, err := DecodeAll(p, data)
				require.NoError(b, err)
				circuits, err := s.Circuits(proofs)
				require.NoError(b, err)
				_, err = circuits[0].Witness(b.Context(), &pce.WitnessOptions{Workers: 1})
				require.NoError(b, err)
			}
		})
	}
}
