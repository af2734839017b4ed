package gpu

import (
	"context"
	"errors"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/srs"
)

// feeder brings segments that do not stay on the card, one ahead of their use. It only copies: what decodes them would wait
// until the sums of others leave room on the card, and the copies behind it with it.
type feeder struct {
	stream *gpu.Stream
	loader *loader
	boxes  [2]inbox
	points points // of the segment that is added up
}

// feederBytes is what a feeder takes of an arena.
func (s *sizes) feederBytes() uint64 {
	return 2*inboxBytes(s.segmentBytes, s.segmentPoints(srs.H)) + gpu.Aligned[byte](s.segmentBytes)
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
	for i := range f.boxes {
		if f.boxes[i], err = newInbox(d.keep, s.segmentBytes, s.segmentPoints(srs.H)); err != nil {
			return nil, err
		}
	}
	if f.points, err = allocEither(d.keep, s); err != nil {
		return nil, err
	}
	l.stream = f.stream
	return f, nil
}

// rehearse brings the first of some segments, so that whatever a stream makes at its first use is there before a proof.
func (f *feeder) rehearse(segments []*segment) error {
	if len(segments) == 0 {
		return nil
	}
	return f.loader.bring(segments[0], f.boxes[0])
}

func (f *feeder) close() error { return endStream(f.stream) }

// fed is a segment whose encoded points are in a box until it is given back.
type fed struct {
	segment *segment
	box     int
	err     error
}

// use decodes a segment on the stream, does with its points what there is to do, and waits. A malformed point gives an
// *srs.Error.
func (f *feeder) use(s *gpu.Stream, x fed, do func(points) error) error {
	box, q := f.boxes[x.box], x.segment.query
	n := x.segment.hi - x.segment.lo
	p := f.points.slice(q.section, 0, n)
	if err := box.forgive(s); err != nil {
		return err
	}
	if err := box.decode(f.loader.lib, s, q.section, x.segment.lo, n, q.layout != nil, p); err != nil {
		return err
	}
	if err := do(p); err != nil {
		return err
	}
	return box.verdict(s, f.loader.key, q.section)
}

// feed starts to bring segments, in order. done gives the box of a segment back; stop, which must be called, ends the
// work and waits for it.
func (f *feeder) feed(ctx context.Context, segments []*segment) (next func() fed, done func(fed), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	free, ready := make(chan int, len(f.boxes)), make(chan fed)
	for i := range f.boxes {
		free <- i
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer f.stream.Wait() // nothing may be on its way to a box when this ends
		f.stream.Bind(ctx)
		defer f.stream.Bind(context.Background())
		for _, s := range segments {
			select {
			case i := <-free:
				x := fed{segment: s, box: i, err: f.loader.bring(s, f.boxes[i])}
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
	return next, func(x fed) { free <- x.box }, func() { cancel(); <-finished }
}
