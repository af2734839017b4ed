package porep

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/internal/sectorsize"
	"github.com/gocuzk/cuzk/pce"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

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
			circuittest.RequireRows(t, "porep", sectorsize.Format(size), Blank(p).Synthesize, nil)
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
	circuittest.RequireRows(t, "porep", "2KiB", Blank(p).Synthesize, &pce.RecordOptions{VerifyBlocks: true})
}

func TestGadgetRowsEqualReference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	t.Run("prefix", func(t *testing.T) {
		circuittest.RequireRows(t, "gadget:porep-prefix", "", func(b pce.Builder) error {
			new(Circuit).prefix(b)
			return nil
		}, nil)
	})
	t.Run("test circuit", func(t *testing.T) {
		p := Params{SectorSize: 8 * 32, Shape: Shape{Base: 8}, Layers: 2, Partitions: 1, Challenges: 1}
		circuittest.RequireRows(t, "gadget:porep-test", "", Blank(p).Synthesize, nil)
	})
	t.Run("create_label", func(t *testing.T) {
		circuittest.RequireRows(t, "gadget:create_label", "", func(b pce.Builder) error {
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

// TestWitnessEqualsReference makes the witness of every vector and compares inputs, private variables
// and the values of all rows with the reference's, and the circuit's public inputs with those computed
// from chain values.
func TestWitnessEqualsReference(t *testing.T) {
	want := circuittest.LoadJSON[map[string]circuittest.Witness](t, "witness.json")
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
			circuittest.RequireWitness(t, want[name], sys, w, true)
		})
	}
}

// TestDirectEqualsBlocks: the path without a System gives the same witness and the same rows.
func TestDirectEqualsBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	c := vectorCircuit(t, "porep")
	circuittest.RequireDirect(t, c.Synthesize, Blank(c.Params).Synthesize)
}

// TestCheckNamesTheRow: no row of a real sector is unsatisfied, and one altered value, wherever it is,
// breaks a row that Check names.
func TestCheckNamesTheRow(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	tries := 3
	if *slow {
		tries = 100
	}
	circuittest.RequireRowsNamed(t, vectorCircuit(t, "porep").Synthesize, tries)
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
