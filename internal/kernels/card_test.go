package kernels_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	enginegpu "github.com/gocuzk/cuzk/internal/engine/gpu"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// Go makes one program of the tests of a folder, and the kernels' own need what is inside of their package. So everything
// that needs a card is tested from here:
//
//	go test -c -o kernels.test ./internal/kernels
//	cd internal/kernels && CUZK_REQUIRE_GPU=1 ../../kernels.test -test.run 'TestGPU|TestCard' -test.v
//
// The kernels' own tests are TestGPU, those of engine, device and proofs TestCard. They read files of the module.

// realSystem is this machine's driver with a table of its own. Without a card the test is skipped with the reason, or
// fails if CUZK_REQUIRE_GPU is 1.
func realSystem(t testing.TB) *gpu.System {
	t.Helper()
	s, err := gpu.OpenSystem()
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("CUZK_REQUIRE_GPU"), "CUZK_REQUIRE_GPU is set: %v", err)
		t.Skip("no GPU: ", err)
	}
	return s
}

// card is the first card. It is closed with the test, and nothing may be left on it.
func card(t testing.TB) *gpu.Device {
	t.Helper()
	d, err := realSystem(t).Open(0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// resident gives an engine on the first card.
func resident(t testing.TB) engine.Engine {
	t.Helper()
	e, err := enginegpu.New(card(t))
	require.NoError(t, err)
	return e
}

// streamed gives engines on the first card that keep nothing of a key there.
func streamed(segmentBytes int) func(t testing.TB) engine.Engine {
	return func(t testing.TB) engine.Engine {
		t.Helper()
		e, err := enginegpu.NewStreaming(card(t), segmentBytes)
		require.NoError(t, err)
		return e
	}
}

func keyMaker(t testing.TB, n int) engine.KeyMaker {
	t.Helper()
	m, err := enginegpu.NewKeyMaker(t.Context(), card(t), n, n)
	require.NoError(t, err)
	return m
}

func TestCardEngine(t *testing.T) { enginetest.Run(t, resident) }

func TestCardEngineStreamed(t *testing.T) { enginetest.Run(t, streamed(4<<10)) }

func TestCardKeyMaker(t *testing.T) { enginetest.RunKeyMaker(t, keyMaker) }

// TestCardEngineExplicit proves explicit circuits, from their rows, with keys of the processor.
func TestCardEngineExplicit(t *testing.T) {
	engines := []engine.Engine{resident(t), streamed(1 << 20)(t)}
	for _, n := range []int{1<<14 - 1, 1 << 14, 1<<14 + 1} {
		b := enginetest.NewBench(t, n)
		for _, e := range engines {
			sums, err := b.ProveOn(t.Context(), e)
			require.NoError(t, err)
			b.Require(t, sums)
		}
	}
	for _, e := range engines {
		require.NoError(t, e.Close())
	}
}

// TestCardEngineLarge goes up to 2^24 + 1 rows, with keys of the card: 8 GB in the folder for temporary files and 20 GB of
// memory; to 2^18 + 1 rows with -test.short.
func TestCardEngineLarge(t *testing.T) {
	realSystem(t)
	for logN := 12; logN <= 24; logN += 2 {
		if testing.Short() && logN > 18 {
			break
		}
		rows := []int{1<<logN - 1, 1 << logN, 1<<logN + 1}
		enginetest.RunLarge(t, rows, keyMaker, map[string]func(testing.TB) engine.Engine{
			"resident": resident, "streamed": streamed(1 << (logN + 2)),
		})
	}
}

// TestCardEngineSmall is one small proof, resident and streamed, for compute-sanitizer.
func TestCardEngineSmall(t *testing.T) {
	b := enginetest.NewBench(t, 60)
	for _, open := range []func(testing.TB) engine.Engine{resident, streamed(4 << 10)} {
		e := open(t)
		sums, err := b.ProveOn(t.Context(), e)
		require.NoError(t, err)
		b.Require(t, sums)
		require.NoError(t, e.Close())
	}
}
