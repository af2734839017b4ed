package post

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/internal/sectorsize"
	"github.com/gocuzk/cuzk/pce"
)

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
				circuit, size := k.String()+"-post", sectorsize.Format(size)
				if _, ok := circuittest.Reference(t, circuit, size); !ok {
					requireCounts(t, p)
					return
				}
				circuittest.RequireRows(t, circuit, size, Blank(p).Synthesize, nil)
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
	p := Params{Kind: Window, SectorSize: 64 * 32, Shape: Shape{Base: 8}, Sectors: 3, Challenges: 5}
	circuittest.RequireRows(t, "gadget:post-test", "", Blank(p).Synthesize, &pce.RecordOptions{VerifyBlocks: true})
}

// TestSystemIsSmall: 2,349 sectors are stored as one.
func TestSystemIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, size := range []uint64{32 << 30, 64 << 30} {
		p, err := ParamsFor(Window, size)
		require.NoError(t, err)
		circuittest.RequireSmall(t, "window-post", sectorsize.Format(size), Blank(p).Synthesize, 5_000_000)
	}
}

// TestWitnessEqualsReference makes the witness of every partition of every vector and compares inputs,
// private variables and the values of all rows with the reference's, and the circuit's public inputs
// with those computed from chain values.
func TestWitnessEqualsReference(t *testing.T) {
	want := circuittest.LoadJSON[map[string][]circuittest.Witness](t, "witness.json")
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
			circuittest.RequireWitness(t, want[name][k], sys, w, true)
		}
	}
}

// TestDirectEqualsBlocks: the path without a System gives the same witness and the same rows, and a
// circuit with values is recorded like a blank one.
func TestDirectEqualsBlocks(t *testing.T) {
	s, proofs := decodeVector(t, "window-post")
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	circuittest.RequireDirect(t, circuits[2].Synthesize, Blank(circuits[2].Params).Synthesize)
}

// TestCheckNamesTheRow: no row of a real partition is unsatisfied, and one altered value, wherever it
// is, breaks a row that Check names.
func TestCheckNamesTheRow(t *testing.T) {
	s, proofs := decodeVector(t, "window-post")
	circuits, err := s.Circuits(proofs)
	require.NoError(t, err)
	tries := 20
	if testing.Short() {
		tries = 3
	}
	circuittest.RequireRowsNamed(t, circuits[0].Synthesize, tries)
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
