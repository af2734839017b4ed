package gpu

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
)

// fake is a driver whose cards run the twins of the kernels.
func fake(c fakedrv.Config) *fakedrv.Driver {
	d := fakedrv.New(c)
	for name, twin := range kernels.Twins() {
		d.Register(name, func(m *fakedrv.Memory, l cudrv.Launch, params []byte) {
			twin(m, gpu.Grid{Blocks: int(l.Grid[0]), BlocksY: int(l.Grid[1]), Threads: int(l.Block[0])}, params)
		})
	}
	return d
}

// open gives an engine on the first card of a driver. What it leaves behind fails the test.
func open(t testing.TB, drv *fakedrv.Driver, o options) engine.Engine {
	d, err := gpu.NewSystem(drv).Open(0)
	require.NoError(t, err)
	e, err := newEngine(d, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		require.Empty(t, strings.Join(drv.Violations(), "\n"))
		require.Equal(t, fakedrv.Usage{}, drv.Usage())
	})
	return e
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(t testing.TB) engine.Engine {
		return open(t, fake(fakedrv.Config{}), options{segmentBytes: 1 << 20})
	})
}

// The same with nothing resident, in segments of a few dozen points.
func TestConformanceStreamed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; runs without -short")
	}
	enginetest.Run(t, func(t testing.TB) engine.Engine {
		return open(t, fake(fakedrv.Config{}), options{segmentBytes: 4 << 10, stream: true})
	})
}

// Sums of made-up circuits with keys that the same kind of card makes.
func TestLarge(t *testing.T) {
	rows := []int{1, 2, 3, 64, 65}
	if !testing.Short() {
		rows = append(rows, 1025)
	}
	maker := func(t testing.TB, n int) engine.KeyMaker {
		m, err := newKeyMaker(t.Context(), openCard(t, fake(fakedrv.Config{})), n, n, 256)
		require.NoError(t, err)
		return m
	}
	enginetest.RunLarge(t, rows, maker, map[string]func(testing.TB) engine.Engine{
		"resident": func(t testing.TB) engine.Engine {
			return open(t, fake(fakedrv.Config{}), options{segmentBytes: 1 << 20})
		},
		"streamed": func(t testing.TB) engine.Engine {
			return open(t, fake(fakedrv.Config{}), options{segmentBytes: 16 << 10, stream: true})
		},
	})
}
