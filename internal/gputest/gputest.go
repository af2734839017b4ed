// Package gputest makes cards for tests on machines without one.
package gputest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
)

// Options are what the cards are like.
type Options struct {
	Driver fakedrv.Config
	GPU    *gpu.Options // nil is the defaults
	// Wrap puts something between the driver and its users, for instance a fault. Nil does not.
	Wrap func(cudrv.Driver) cudrv.Driver
}

// Cards are made-up cards, opened with the same options, which may be nil.
func Cards(t testing.TB, o *gpu.Options, cards ...fakedrv.Card) (*fakedrv.Driver, []device.Device) {
	t.Helper()
	return Open(t, Options{Driver: fakedrv.Config{Cards: cards}, GPU: o})
}

// System is a driver with made-up cards, which run the twins of the kernels, and the table of those that are opened.
func System(o Options) (*fakedrv.Driver, *gpu.System) {
	drv := fakedrv.New(o.Driver)
	for name, twin := range kernels.Twins() {
		drv.Register(name, func(m *fakedrv.Memory, l cudrv.Launch, params []byte) {
			twin(m, gpu.Grid{Blocks: int(l.Grid[0]), BlocksY: int(l.Grid[1]), Threads: int(l.Block[0])}, params)
		})
	}
	var below cudrv.Driver = drv
	if o.Wrap != nil {
		below = o.Wrap(drv)
	}
	return drv, gpu.NewSystem(below)
}

// Open opens made-up cards. What is left of them at the end fails the test.
func Open(t testing.TB, o Options) (*fakedrv.Driver, []device.Device) {
	t.Helper()
	drv, system := System(o)
	devices := make([]device.Device, max(len(o.Driver.Cards), 1))
	for i := range devices {
		d, err := system.OpenWith(i, o.GPU)
		require.NoError(t, err)
		devices[i] = device.Wrap(d)
	}
	t.Cleanup(func() { finish(t, drv, devices) })
	return drv, devices
}

// finish closes the cards and looks for what is left. What a lost card still has is not touched, by anyone.
func finish(t testing.TB, drv *fakedrv.Driver, devices []device.Device) {
	lost := false
	for _, d := range devices {
		lost = lost || d.Stats().Lost
		require.NoError(t, d.Close())
		require.Zero(t, d.Stats().Leaks)
	}
	require.Empty(t, strings.Join(drv.Violations(), "\n"))
	if !lost {
		require.Equal(t, fakedrv.Usage{}, drv.Usage())
	}
}
