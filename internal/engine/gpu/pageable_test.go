package gpu

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/srs"
)

// cutter cuts a file short when the driver is given its beginning.
type cutter struct {
	cudrv.Driver
	beginning []byte
	cut       func()
}

func (c *cutter) CopyToDevice(x cudrv.Context, dst cudrv.DevicePtr, src []byte, s cudrv.Stream) cudrv.Result {
	if bytes.HasPrefix(src, c.beginning) {
		c.cut()
	}
	return c.Driver.CopyToDevice(x, dst, src, s) // reads it
}

// Without page-locked memory the driver copies by itself. It never reads a mapped file, which could be cut short under it:
// that is an error of the file, and the card stays.
func TestPageableKeyCutShort(t *testing.T) {
	b := enginetest.NewBench(t, 300)
	drv := fake(fakedrv.Config{PinnedBytes: 1})
	c := &cutter{Driver: drv, cut: func() { require.NoError(t, os.Truncate(b.Key().Path(), 0)) }}
	require.NoError(t, b.Key().View(srs.L, 0, 1, func(p []byte) error {
		c.beginning = bytes.Clone(p)
		return nil
	}))
	d, err := gpu.NewSystem(c).Open(0)
	require.NoError(t, err)
	e, err := newEngine(d, options{segmentBytes: 4 << 10})
	require.NoError(t, err)
	_, err = e.Load(t.Context(), b.System(), b.Key())
	var fault *srs.Error
	require.ErrorAs(t, err, &fault)
	require.Nil(t, d.Stats().Lost)
	require.NoError(t, e.Close())
	require.NoError(t, d.Close())
	require.Equal(t, fakedrv.Usage{}, drv.Usage())
}
