package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// New returns an engine on a card. The caller closes the card after the engine. Errors are those of package gpu.
func New(d *gpu.Device) (engine.Engine, error) { return newEngine(d, options{segmentBytes: 256 << 20}) }

// options are for tests, but for the size of streamed segments: 256 MiB take some 10 ms to copy and as long to add up.
type options struct {
	segmentBytes int
	stream       bool // let nothing stay on the card
}

func newEngine(d *gpu.Device, o options) (engine.Engine, error) {
	lib, err := kernels.Load(d)
	if err != nil {
		return nil, err
	}
	return &gpuEngine{device: d, lib: lib, options: o}, nil
}

type gpuEngine struct {
	device *gpu.Device
	lib    *kernels.Library
	options
}

func (e *gpuEngine) Close() error { return e.lib.Close() }

func (e *gpuEngine) Load(ctx context.Context, sys *pce.System, key *srs.Key) (engine.Loaded, error) {
	l := &loaded{
		engine: e, sys: sys, key: key, logN: bits.TrailingZeros(uint(key.Len(srs.H) + 1)),
		turn: make(chan struct{}, 1),
	}
	if sys == nil {
		return l, nil // the first assignment brings the layout
	}
	if err := l.prepare(ctx, sys.Layout()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// loaded implements engine.Loaded. All assignments are of one layout.
type loaded struct {
	engine *gpuEngine
	sys    *pce.System
	key    *srs.Key
	logN   int

	turn chan struct{} // full while an assignment has the working memory

	mu     sync.Mutex
	closed bool
	layout *pce.Layout // nil until prepared
	desk   *desk
}

// domain is the number of elements of the domain.
func (l *loaded) domain() int { return 1 << l.logN }

// prepare reserves memory and loads the key for a layout, once.
func (l *loaded) prepare(ctx context.Context, layout *pce.Layout) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return engine.ErrClosed
	case l.layout == nil:
		d, err := newDesk(ctx, l, layout)
		if err != nil {
			return err
		}
		l.layout, l.desk = layout, d
	case l.layout.Digest != layout.Digest:
		return fmt.Errorf("gpu: %w: layout %x, loaded for %x", engine.ErrForeign, layout.Digest[:4], l.layout.Digest[:4])
	}
	return nil
}

// quotientWork is the weight of the quotient in units of one point of a sum.
func (l *loaded) quotientWork() uint64 { return uint64(l.domain()) / 2 }

// Work implements engine.Loaded.
func (l *loaded) Work() uint64 {
	points := 0
	for _, s := range []srs.Section{srs.H, srs.L, srs.A, srs.BG1, srs.BG2} {
		points += l.key.Len(s)
	}
	return l.quotientWork() + uint64(points)
}

// Close implements engine.Loaded. It waits until the last assignment is released.
func (l *loaded) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.desk == nil {
		return nil
	}
	l.turn <- struct{}{}
	return l.desk.close()
}
