package synth

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/pce"
)

// proof32GiB is the registered proof of 32 GiB sectors, API 1.1.
const proof32GiB = porep.StackedDrg2KiBV1_1 + 3

// inRow runs lists of blocks one after the other, in the witness itself.
type inRow struct{ pce.Builder }

func (r inRow) Blocks(
	_ string, n int, args func(int) []pce.Arg, body func(pce.Builder, int, []pce.Arg) []pce.Arg,
) [][]pce.Arg {
	out := make([][]pce.Arg, n)
	for i := range out {
		out[i] = body(r, i, args(i))
	}
	return out
}

// TestPoRepSideBySide: the witness of a 32 GiB partition does not depend on how many workers make it, nor on the memory they
// make it in.
func TestPoRepSideBySide(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	c1, err := PoRep(t.Context(), proof32GiB, nil, 5)
	require.NoError(t, err)
	circuits, err := c1.Circuits()
	require.NoError(t, err)
	want, err := pce.MakeWitness(t.Context(), func(b pce.Builder) error { return circuits[4].Synthesize(inRow{b}) }, nil)
	require.NoError(t, err)
	used, err := c1.Witness(t.Context(), 7, nil)
	require.NoError(t, err)
	require.NotEqual(t, want.Inputs, used.Inputs)
	for _, o := range []*pce.WitnessOptions{{Workers: 1}, {Workers: 5}, {Workers: 2, Reuse: used}} {
		got, err := c1.Witness(t.Context(), 4, o)
		require.NoError(t, err)
		require.Equal(t, want.Layout, got.Layout)
		require.Equal(t, want.NumBits, got.NumBits)
		// Comparing seventy megabytes by reflection would take longer than making them.
		require.True(t, slices.Equal(want.Inputs, got.Inputs), "%d workers", o.Workers)
		require.True(t, slices.Equal(want.Bits, got.Bits), "%d workers", o.Workers)
		require.True(t, slices.Equal(want.Dense, got.Dense), "%d workers", o.Workers)
	}
}

// BenchmarkPoRep goes from the decoded phase-1 output of 32 GiB to the packed witness of a partition, checks included.
// The speedup by a second core is the ratio of the two.
func BenchmarkPoRep(b *testing.B) {
	c1, err := PoRep(b.Context(), proof32GiB, nil, 1)
	require.NoError(b, err)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := c1.Witness(b.Context(), 0, &pce.WitnessOptions{Workers: workers})
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkOpen reads and checks the constraint system of a 32 GiB partition.
func BenchmarkOpen(b *testing.B) {
	p, err := proof32GiB.Params()
	require.NoError(b, err)
	blank := porep.Blank(p)
	system, err := pce.Record(b.Context(), blank.Name(), blank.Synthesize, nil)
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "porep-32GiB.pce")
	require.NoError(b, system.WriteFile(path))
	for b.Loop() {
		_, err := pce.Open(path, blank.Name())
		require.NoError(b, err)
	}
}
