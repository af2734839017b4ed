package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// segmentBytes is the size of streamed segments: from page-locked memory they take some 3 ms to copy, and 2 to 20 to add up.
const segmentBytes = 160 << 20

// Options tunes an engine. The zero value, and nil, mean the defaults.
type Options struct {
	// MemoryLimit is the most memory in bytes that each key with its proofs may lease of the card. 0 is what can be leased.
	MemoryLimit uint64
}

// New returns an engine on a card with the default options.
func New(d *gpu.Device) (engine.Engine, error) { return NewWith(d, nil) }

// NewWith returns an engine on a card. The caller closes the card after the engine. Errors are those of package gpu.
func NewWith(d *gpu.Device, o *Options) (engine.Engine, error) {
	all := options{segmentBytes: segmentBytes}
	if o != nil {
		all.memoryLimit = o.MemoryLimit
	}
	return newEngine(d, all)
}

// options are those of New, and some for tests.
type options struct {
	memoryLimit  uint64
	segmentBytes int
	stream       bool         // let nothing stay on the card
	beforePlan   func(*sizes) // or nil
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

	turn   turn  // who has it prepares, and then has the working memory
	desk   *desk // nil until prepared
	layout atomic.Pointer[pce.Layout]
	memory atomic.Pointer[engine.Memory]

	mu     sync.Mutex // held by Close
	closed bool
}

// domain is the number of elements of the domain.
func (l *loaded) domain() int { return 1 << l.logN }

// suits returns an error if another layout has been prepared for.
func (l *loaded) suits(layout *pce.Layout) error {
	if is := l.layout.Load(); is != nil && is.Digest != layout.Digest {
		return fmt.Errorf("gpu: %w: layout %x, loaded for %x", engine.ErrForeign, layout.Digest[:4], is.Digest[:4])
	}
	return nil
}

// prepare reserves memory and loads the key for a layout, once. The caller has the turn.
func (l *loaded) prepare(ctx context.Context, layout *pce.Layout) error {
	if l.desk != nil {
		return l.suits(layout)
	}
	d, err := newDesk(ctx, l, layout)
	if err != nil {
		return err
	}
	l.desk = d
	l.layout.Store(layout)
	l.memory.Store(&engine.Memory{Leased: d.lease.Bytes(), Resident: d.keep.Size(), Streamed: d.feeder != nil})
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

// Memory implements engine.Loaded.
func (l *loaded) Memory() engine.Memory {
	if m := l.memory.Load(); m != nil {
		return *m
	}
	return engine.Memory{}
}

// Close implements engine.Loaded. It waits until the last assignment is released; those who wait for memory get ErrClosed.
func (l *loaded) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.turn.close()
	l.memory.Store(nil)
	if l.desk == nil {
		return nil
	}
	return l.desk.close()
}
