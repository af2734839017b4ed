package gpu

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// onCard gives an engine on the first real card. Without one the test is skipped with the reason, or fails if
// CUZK_REQUIRE_GPU is 1.
func onCard(t testing.TB, o options) engine.Engine {
	t.Helper()
	lib, err := cudrv.Open("")
	if err != nil {
		if os.Getenv("CUZK_REQUIRE_GPU") == "1" {
			t.Fatalf("CUZK_REQUIRE_GPU is set: %v", err)
		}
		t.Skip("no GPU: ", err)
	}
	d, err := gpu.NewSystem(lib).Open(0)
	require.NoError(t, err)
	e, err := newEngine(d, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return e
}

func TestGPUConformance(t *testing.T) {
	enginetest.Run(t, func(t testing.TB) engine.Engine { return onCard(t, options{segmentBytes: 1 << 20}) })
}

func TestGPUConformanceStreamed(t *testing.T) {
	enginetest.Run(t, func(t testing.TB) engine.Engine { return onCard(t, options{segmentBytes: 4 << 10, stream: true}) })
}

// TestGPULarge proves circuits with domains of 2^16 and one more row than that, and with -slow the same for 2^20.
func TestGPULarge(t *testing.T) {
	sizes := []int{1<<16 - 1, 1 << 16, 1<<16 + 1}
	if *slow {
		sizes = append(sizes, 1<<20-1, 1<<20, 1<<20+1)
	}
	for _, o := range []options{{segmentBytes: 1 << 20}, {segmentBytes: 1 << 20, stream: true}} {
		e := onCard(t, o)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		for _, n := range sizes {
			b := enginetest.NewBench(t, n)
			sums, err := b.ProveOn(t.Context(), e)
			require.NoError(t, err)
			b.Require(t, sums)
		}
	}
}

// TestGPUSmall is one small proof, resident and streamed, for compute-sanitizer.
func TestGPUSmall(t *testing.T) {
	for _, stream := range []bool{false, true} {
		e := onCard(t, options{segmentBytes: 4 << 10, stream: stream})
		b := enginetest.NewBench(t, 60)
		sums, err := b.ProveOn(t.Context(), e)
		require.NoError(t, err)
		b.Require(t, sums)
		require.NoError(t, e.Close())
	}
}
