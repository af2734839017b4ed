package gpu

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
)

// A second lane is for circuits whose sums are small, where the memory for it is there.
func TestPlanOfLanes(t *testing.T) {
	large := porep32()
	p, err := makePlan(large, 139<<30, false)
	require.NoError(t, err)
	require.Zero(t, p.side)

	small := &sizes{logN: 19, inputs: 66, dense: 1 << 19, multiprocessors: 132, segmentBytes: 256 << 20}
	for _, s := range residency {
		small.sections = append(small.sections, sectionSize{section: s, dense: 1<<19 - 1})
	}
	ample := small.lanes()
	require.Equal(t, small.scratch(kernels.Ample), ample.side)
	for memory, side := range map[uint64]uint64{ample.total(): ample.side, ample.total() - 1: 0} {
		p, err := makePlan(small, memory, false)
		require.NoError(t, err)
		require.Equal(t, side, p.side)
		require.Equal(t, small.work(kernels.Ample), p.work)
		require.True(t, p.resident[srs.H])
		require.LessOrEqual(t, p.total(), memory)
	}
}

// A fault while two sums are made ends both, whichever it hits.
func TestFaultsOnLanes(t *testing.T) {
	b := enginetest.NewBench(t, 20)
	step := 29
	if testing.Short() {
		step = 97
	}
	for _, result := range []cudrv.Result{cudrv.OutOfMemory, cudrv.IllegalAddress} {
		for n := 0; ; n += step {
			drv := fake(fakedrv.Config{})
			drv.Inject(fakedrv.Rule{Card: 0, After: n, Result: result, Sticky: result.Sticky()})
			sums, err := prove(t.Context(), gpu.NewSystem(drv), 0, b, options{segmentBytes: 1 << 20})
			if err == nil {
				b.Require(t, sums)
			} else {
				var typed *gpu.Error
				require.ErrorAs(t, err, &typed, "call %d, %v: %v", n, result, err)
			}
			log := drv.Log()
			failed := slices.IndexFunc(log, func(c fakedrv.Call) bool { return c.Result == result })
			if !result.Sticky() && (failed < 0 || !releases(log[failed].Op)) {
				require.Equal(t, fakedrv.Usage{}, drv.Usage(), "call %d, %v", n, result)
			}
			if failed < 0 { // there was no such call any more
				require.NoError(t, err)
				require.Greater(t, n, 300)
				break
			}
		}
	}
}
