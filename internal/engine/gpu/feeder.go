package gpu

import (
	"context"
	"errors"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// feeder brings segments that do not stay on the card, one ahead of their use.
type feeder struct {
	stream  *gpu.Stream
	loader  *loader
	buffers [2]points
}

// newFeeder takes a loader over.
func newFeeder(d *desk, s *sizes, l *loader) (_ *feeder, err error) {
	f := &feeder{loader: l}
	if f.stream, err = d.stream.Device().NewStream(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	for i := range f.buffers {
		if f.buffers[i], err = allocEither(d.keep, s); err != nil {
			return nil, err
		}
	}
	l.stream = f.stream
	return f, nil
}

// rehearse brings the first of some segments, so that whatever a stream makes at its first use is there before a proof.
func (f *feeder) rehearse(segments []*segment) error {
	if len(segments) == 0 {
		return nil
	}
	s := segments[0]
	return f.loader.load(s, f.buffers[0].slice(s.query.section, 0, s.hi-s.lo))
}

func (f *feeder) close() error { return endStream(f.stream) }

// fed is a segment whose points are in a buffer until it is given back.
type fed struct {
	points points
	buffer int
	err    error
}

// feed starts to bring segments, in order. done gives the buffer of a segment back; stop, which must be called, ends the
// work and waits for it.
func (f *feeder) feed(ctx context.Context, segments []*segment) (next func() fed, done func(fed), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	free, ready := make(chan int, len(f.buffers)), make(chan fed)
	for i := range f.buffers {
		free <- i
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer f.stream.Wait() // nothing may be on its way to a buffer when this ends
		f.stream.Bind(ctx)
		defer f.stream.Bind(context.Background())
		for _, s := range segments {
			select {
			case i := <-free:
				x := fed{points: f.buffers[i].slice(s.query.section, 0, s.hi-s.lo), buffer: i}
				x.err = f.loader.load(s, x.points)
				select {
				case ready <- x:
				case <-ctx.Done():
					return
				}
				if x.err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	next = func() fed {
		select {
		case x := <-ready:
			return x
		case <-ctx.Done():
			return fed{err: context.Cause(ctx)}
		}
	}
	return next, func(x fed) { free <- x.buffer }, func() { cancel(); <-finished }
}
