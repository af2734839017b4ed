package update

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/internal/sectorsize"
	"github.com/gocuzk/cuzk/pce"
)

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
				if _, ok := circuittest.Reference(t, v.String(), sectorsize.Format(size)); !ok { // 16 MiB
					_, err := pce.Record(t.Context(), p.Name(), Blank(p).Synthesize, nil)
					require.NoError(t, err)
					return
				}
				circuittest.RequireRows(t, v.String(), sectorsize.Format(size), Blank(p).Synthesize, nil)
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
		circuittest.RequireRows(t, v.String(), sectorsize.Format(size), Blank(p).Synthesize, &pce.RecordOptions{VerifyBlocks: true})
	}
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
			circuittest.RequireSmall(t, v.String(), sectorsize.Format(size), Blank(p).Synthesize, 60_000_000)
		}
	}
}

// TestWitnessEqualsReference makes the witness of partitions of every vector and compares inputs and
// private variables with the reference's, and the circuit's public inputs with those computed from chain
// values; for the smallest also the values of all rows, which follow from these and the rows' digests.
// Everything of all partitions, and the sector of 8 MiB, with -slow.
func TestWitnessEqualsReference(t *testing.T) {
	want := circuittest.LoadJSON[map[string][]circuittest.Witness](t, "witness.json")
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
				circuittest.RequireWitness(t, want[name][k], sys, w, smallest && !testing.Short() || *slow)
			}
		})
	}
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
	circuittest.RequireDirect(t, circuits[0].Synthesize, Blank(circuits[0].Params).Synthesize)
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
	tries := 1
	if *slow {
		tries = 50
	}
	circuittest.RequireRowsNamed(t, circuits[0].Synthesize, tries)
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
