package gpu

import (
	"context"
	"runtime"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// Stream is an in-order queue of work on one card. It is not safe for concurrent use.
//
// Work is cut into pieces by its estimated time on the card ([Options.Piece]). At most two pieces are unfinished: the first
// call that begins a third one waits, so that little is left to run when the context of [Stream.Bind] ends.
type Stream struct {
	d       *Device
	p       *parts
	h       *handle
	cleanup runtime.Cleanup
	ctx     context.Context // from Bind, or nil
	ring    *ring
	pass    *pass
	closed  bool

	begun    bool          // the present piece
	spent    time.Duration // estimate since the last mark
	oldest   int           // index of the oldest mark in flight
	inFlight int           // marks not known to have passed

	slot   int  // staging slot in use
	noPins bool // page-locked memory was refused
}

// parts are what a stream owns of the driver's.
type parts struct {
	s     cudrv.Stream
	marks [2]cudrv.Event
	slots [2]slot
}

// NewStream makes a stream.
func (d *Device) NewStream() (*Stream, error) {
	if err := d.adopt(kindStream, "cuStreamCreate"); err != nil {
		return nil, err
	}
	p := new(parts)
	if err := p.make(d); err != nil {
		if d.lost.Load() == nil {
			// What failed first is the error.
			_ = d.await(d.opts.Watchdog, "cuStreamDestroy", func() cudrv.Result { return p.release(d) })
		}
		d.disown(kindStream)
		return nil, err
	}
	s := &Stream{d: d, p: p, ring: new(ring), pass: &pass{g: &d.gate}}
	s.h = d.child(kindStream, "cuStreamDestroy", func() cudrv.Result { return p.release(d) })
	s.h.books = s.pass.leave
	s.cleanup = runtime.AddCleanup(s, leaked, s.h)
	return s, nil
}

func (p *parts) make(d *Device) error {
	var r cudrv.Result
	if p.s, r = d.drv.StreamCreate(d.ctx); r != cudrv.Success {
		return d.check(r, "cuStreamCreate", "", nil)
	}
	for _, e := range []*cudrv.Event{&p.marks[0], &p.marks[1], &p.slots[0].free, &p.slots[1].free} {
		if *e, r = d.drv.EventCreate(d.ctx, cudrv.EventNoTiming); r != cudrv.Success {
			return d.check(r, "cuEventCreate", "", nil)
		}
	}
	return nil
}

// release gives everything back that is there, and answers the first failure. Staging memory that a copy may still use
// is kept.
func (p *parts) release(d *Device) cudrv.Result {
	first := cudrv.Success
	note := func(r cudrv.Result) {
		if first == cudrv.Success {
			first = r
		}
	}
	if p.s != 0 && d.drv.StreamQuery(d.ctx, p.s) != cudrv.NotReady {
		for i := range p.slots {
			note(p.slots[i].unpin(d))
		}
	}
	for _, e := range []cudrv.Event{p.marks[0], p.marks[1], p.slots[0].free, p.slots[1].free} {
		if e != 0 {
			note(d.drv.EventDestroy(d.ctx, e))
		}
	}
	if p.s != 0 {
		note(d.drv.StreamDestroy(d.ctx, p.s))
	}
	return first
}

// Device is the card.
func (s *Stream) Device() *Device { return s.d }

func (s *Stream) usable(op string) error {
	if s.closed {
		return s.d.closedError(op)
	}
	return s.d.alive(op)
}

// enter begins every call that enqueues work: it answers why there can be none, and waits while two pieces are
// unfinished, or while more urgent work holds the next one back.
func (s *Stream) enter(op string) error {
	if err := s.usable(op); err != nil {
		return err
	}
	if err := ended(s.ctx, op); err != nil {
		return err
	}
	if s.inFlight == len(s.p.marks) {
		if err := s.passMark(s.ctx); err != nil {
			return err
		}
	}
	if err := s.begin(op); err != nil {
		return err
	}
	return ended(s.ctx, op)
}

// passMark waits for the oldest mark.
func (s *Stream) passMark(ctx context.Context) error {
	if err := s.waitEvent(ctx, s.p.marks[s.oldest]); err != nil {
		return err
	}
	s.oldest = (s.oldest + 1) % len(s.p.marks)
	s.inFlight--
	return nil
}

func (s *Stream) waitEvent(ctx context.Context, e cudrv.Event) error {
	return s.d.poll(ctx, "cuEventQuery", s.ring, func() cudrv.Result { return s.d.drv.EventQuery(s.d.ctx, e) })
}

// spend adds work that was enqueued to the present piece, and marks its end when it is full.
func (s *Stream) spend(estimate time.Duration) error {
	s.spent += max(estimate, leastWork)
	if s.spent < s.d.opts.Piece {
		return nil
	}
	s.spent, s.begun = 0, false
	e := s.p.marks[(s.oldest+s.inFlight)%len(s.p.marks)]
	if err := s.check(s.d.drv.EventRecord(s.d.ctx, e, s.p.s), "cuEventRecord"); err != nil {
		return err
	}
	s.inFlight++
	return nil
}

func (s *Stream) check(r cudrv.Result, op string) error { return s.d.checkLater(r, op, s.ring) }

// Wait blocks until all work enqueued so far has run, and returns its first error. Only the watchdog interrupts it: memory
// stays in use until the card is done.
func (s *Stream) Wait() error {
	const op = "cuStreamQuery"
	if err := s.usable(op); err != nil {
		return err
	}
	for s.inFlight > 0 { // each piece has the whole time of the watchdog
		if err := s.passMark(context.Background()); err != nil {
			return err
		}
	}
	query := func() cudrv.Result { return s.d.drv.StreamQuery(s.d.ctx, s.p.s) }
	if err := s.d.poll(context.Background(), op, s.ring, query); err != nil {
		return err
	}
	s.spent, s.begun = 0, false
	for i := range s.p.slots {
		s.p.slots[i].used, s.p.slots[i].busy = 0, false
	}
	return nil
}

// WaitFor lets later work of s wait for e.
func (s *Stream) WaitFor(e *Event) error {
	if err := s.enter("cuStreamWaitEvent"); err != nil {
		return err
	}
	return s.check(s.d.drv.StreamWaitEvent(s.d.ctx, s.p.s, e.e), "cuStreamWaitEvent")
}

// Close waits for the work in the stream and destroys it. What is wrong with the work is Wait's to say.
func (s *Stream) Close() error {
	if !s.closed {
		_ = s.Wait() // a loss is reported by the next call that needs the card
	}
	s.closed = true
	s.cleanup.Stop()
	return s.h.close()
}
