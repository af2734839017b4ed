package update

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

// TestRowsEqualReference compares every row of every sector size up to 32 KiB, and up to 8 MiB in the
// Poseidon variant, whose circuits are small; all sizes with -slow.
func TestRowsEqualReference(t *testing.T) {
	for _, v := range []Variant{Poseidon, Sha256} {
		for _, size := range Sizes() {
			p, err := ParamsFor(v, size)
			require.NoError(t, err)
			t.Run(p.Name(), func(t *testing.T) {
				limit := map[Variant]uint64{Poseidon: 16 << 20, Sha256: 32 << 10}[v]
				if testing.Short() {
					limit = map[Variant]uint64{Poseidon: 1 << 10}[v]
				}
				if size > limit && !*slow {
					t.Skip("takes long; runs without -short, the largest with -slow")
				}
				t.Parallel()
				want, ok := reference(t, v.String(), sectorsize.Format(size))
				if !ok { // 16 MiB
					_, err := pce.Record(t.Context(), p.Name(), Blank(p).Synthesize, nil)
					require.NoError(t, err)
					return
				}
				requireRows(t, want, Blank(p).Synthesize, nil)
			})
		}
	}
}

// TestRowsOf16MiB: the reference has no digest of this size, but the specification a number of rows.
func TestRowsOf16MiB(t *testing.T) {
	p, err := ParamsFor(Sha256, 16<<20)
	require.NoError(t, err)
	sys, err := pce.Record(t.Context(), p.Name(), Blank(p).Synthesize, nil)
	require.NoError(t, err)
	require.Equal(t, 10_467_573, sys.Counts().Rows)
}

// TestEveryBlockInstance compares all instances of all blocks and not just three of each.
func TestEveryBlockInstance(t *testing.T) {
	sizes := map[Variant]uint64{Poseidon: 16 << 10}
	if testing.Short() {
		sizes[Poseidon] = 1 << 10
	}
	if *slow {
		sizes[Sha256] = 1 << 10
	}
	for v, size := range sizes {
		p, err := ParamsFor(v, size)
		require.NoError(t, err)
		want, ok := reference(t, v.String(), sectorsize.Format(size))
		require.True(t, ok)
		requireRows(t, want, Blank(p).Synthesize, &pce.RecordOptions{VerifyBlocks: true})
	}
}

// countingWriter counts bytes.
type countingWriter int

func (c *countingWriter) Write(b []byte) (int, error) {
	*c += countingWriter(len(b))
	return len(b), nil
}

// TestSystemIsSmall: 86 challenges are stored as one, and hashes as what they have in common.
func TestSystemIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, v := range []Variant{Sha256, Poseidon} {
		for _, size := range []uint64{512 << 20, 32 << 30, 64 << 30} {
			p, err := ParamsFor(v, size)
			require.NoError(t, err)
			sys, err := pce.Record(t.Context(), p.Name(), Blank(p).Synthesize, nil)
			require.NoError(t, err)
			var n countingWriter
			_, err = sys.WriteTo(&n)
			require.NoError(t, err)
			require.Less(t, int(n), 60_000_000)
			want, ok := reference(t, v.String(), sectorsize.Format(size))
			require.True(t, ok)
			require.Equal(t, [3]int{want.Rows, want.Inputs, want.Aux}, [3]int{sys.Counts().Rows, sys.Counts().Inputs, sys.Counts().Aux})
		}
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

// witnessDigests are what the reference says of a witness.
type witnessDigests struct {
	Rows   int    `json:"rows_full"`
	Inputs string `json:"sha256_inputs"`
	Aux    string `json:"sha256_aux"`
	A      string `json:"sha256_a"`
	B      string `json:"sha256_b"`
	C      string `json:"sha256_c"`
}

// TestWitnessEqualsReference makes the witness of partitions of every vector and compares inputs and
// private variables with the reference's, and the circuit's public inputs with those computed from chain
// values; for the smallest also the values of all rows, which follow from these and the rows' digests.
// Everything of all partitions, and the sector of 8 MiB, with -slow.
func TestWitnessEqualsReference(t *testing.T) {
	want := loadJSON[map[string][]witnessDigests](t, "witness.json")
	for _, name := range vectorNames() {
		t.Run(name, func(t *testing.T) {
			smallest := name == "snap-deals"
			if testing.Short() && !smallest || name == "snap-deals-8MiB" && !*slow {
				t.Skip("takes long; runs without -short, the largest with -slow")
			}
			s, proofs := decodeVector(t, name)
			circuits, err := s.Circuits(proofs)
			require.NoError(t, err)
			require.Len(t, circuits, len(want[name]))
			sys, err := pce.Record(t.Context(), circuits[0].Name(), Blank(circuits[0].Params).Synthesize, nil)
			require.NoError(t, err)
			public, err := s.PublicInputs()
			require.NoError(t, err)
			for k, c := range circuits {
				if k < len(circuits)-1 && !*slow {
					continue
				}
				w, err := c.Witness(t.Context(), nil)
				require.NoError(t, err)
				own, err := c.PublicInputs()
				require.NoError(t, err)
				require.Equal(t, public[k], own)
				require.Equal(t, own, w.Inputs[1:])
				requireDigests(t, want[name][k], sys, w, smallest && !testing.Short() || *slow)
			}
		})
	}
}

func requireDigests(t *testing.T, want witnessDigests, sys *pce.System, w *pce.Witness, rows bool) {
	t.Helper()
	aux := make([]fr.Element, sys.Counts().Aux)
	require.NoError(t, sys.Layout().Expand(w, aux))
	got := witnessDigests{Rows: sys.FullRows(), Inputs: elementsDigest(w.Inputs), Aux: elementsDigest(aux), A: want.A, B: want.B, C: want.C}
	if rows {
		abc := [3][]fr.Element{}
		for m := range abc {
			abc[m] = make([]fr.Element, sys.FullRows())
		}
		require.NoError(t, sys.Eval(t.Context(), w, abc[0], abc[1], abc[2]))
		got.A, got.B, got.C = elementsDigest(abc[0]), elementsDigest(abc[1]), elementsDigest(abc[2])
	}
	require.Equal(t, want, got)
}

// TestDirectEqualsBlocks: the path without a System gives the same witness and layout, and a circuit
// with values is recorded like a blank one.
func TestDirectEqualsBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s, proofs := decodeVector(t, "snap-deals")
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	ctx, c := t.Context(), circuits[0]
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
	require.True(t, bytes.Equal(one.Bytes(), other.Bytes()))
}

// TestCheckNamesTheRow: no row of a real partition is unsatisfied, and one altered value, wherever it
// is, breaks a row that Check names.
func TestCheckNamesTheRow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	s, proofs := decodeVector(t, "snap-deals")
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	ctx, c := t.Context(), circuits[0]
	require.NoError(t, pce.Check(ctx, c.Synthesize))
	w, err := pce.MakeWitness(ctx, c.Synthesize, nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	tries := 1
	if *slow {
		tries = 50
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
	p, err := ParamsFor(Sha256, 2<<10)
	require.NoError(t, err)
	for name, alter := range map[string]func(c *Circuit){
		"sector size":     func(c *Circuit) { c.Params.SectorSize = 3 << 10 },
		"variant":         func(c *Circuit) { c.Params.Variant = Poseidon },
		"partition":       func(c *Circuit) { c.Partition = 1 },
		"no challenges":   func(c *Circuit) { c.Vanilla.Challenges = nil },
		"apex leaves":     func(c *Circuit) { c.Vanilla.ApexLeaves = c.Vanilla.ApexLeaves[1:] },
		"old path":        func(c *Circuit) { c.Vanilla.Challenges[1].ROld.Levels = nil },
		"new path":        func(c *Circuit) { c.Vanilla.Challenges[1].RNew.Levels[1].Siblings = nil },
		"data path":       func(c *Circuit) { c.Vanilla.Challenges[1].DNew.Levels[1].Index = 2 },
		"another size's":  func(c *Circuit) { c.Params.SectorSize = 8 << 20 },
		"another shape":   func(c *Circuit) { c.Params.Shape = Shape{Base: 4, Sub: 4} },
		"no such height":  func(c *Circuit) { c.Params.H = 10 },
		"too high":        func(c *Circuit) { c.Params.Heights[3] = 7 },
		"more partitions": func(c *Circuit) { c.Params.Partitions = 16 },
	} {
		t.Run(name, func(t *testing.T) {
			c := Blank(p)
			alter(c)
			_, err := pce.Record(t.Context(), "x", c.Synthesize, nil)
			require.ErrorContains(t, err, "update: ")
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
		p, err := ParamsFor(Sha256, size)
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
	s, data := loadVector(b, "snap-deals").statement(b), blobs(b, "snap-deals")
	p := params(b, s)
	for b.Loop() {
		v, err := Decode(data[0], p)
		require.NoError(b, err)
		c, err := s.Circuit(0, v)
		require.NoError(b, err)
		_, err = c.Witness(b.Context(), &pce.WitnessOptions{Workers: 1})
		require.NoError(b, err)
	}
}
