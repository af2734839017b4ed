package gpu

import (
	"context"
	"runtime"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// Event marks a place in a stream. Its methods may be called from several goroutines, except Record.
type Event struct {
	d       *Device
	e       cudrv.Event
	h       *handle
	cleanup runtime.Cleanup
	ring    *ring // of the stream recorded last
}

// NewEvent makes an event that keeps the time.
func (d *Device) NewEvent() (*Event, error) {
	const op = "cuEventCreate"
	if err := d.adopt(kindEvent, op); err != nil {
		return nil, err
	}
	ev, r := d.drv.EventCreate(d.ctx, cudrv.EventBlocking)
	if err := d.check(r, op, "", nil); err != nil {
		d.disown(kindEvent)
		return nil, err
	}
	e := &Event{d: d, e: ev}
	e.h = d.child(kindEvent, "cuEventDestroy", func() cudrv.Result { return d.drv.EventDestroy(d.ctx, ev) })
	e.cleanup = runtime.AddCleanup(e, leaked, e.h)
	return e, nil
}

// Record marks the present end of s.
func (e *Event) Record(s *Stream) error {
	if err := s.enter("cuEventRecord"); err != nil {
		return err
	}
	e.ring = s.ring
	return s.check(e.d.drv.EventRecord(e.d.ctx, e.e, s.p.s), "cuEventRecord")
}

// Wait blocks until the marked place has been passed, or the watchdog barks.
func (e *Event) Wait() error {
	if err := e.d.alive("cuEventQuery"); err != nil {
		return err
	}
	query := func() cudrv.Result { return e.d.drv.EventQuery(e.d.ctx, e.e) }
	return e.d.poll(context.Background(), "cuEventQuery", e.ring, query)
}

// Done reports whether the marked place has been passed.
func (e *Event) Done() (bool, error) {
	if err := e.d.alive("cuEventQuery"); err != nil {
		return false, err
	}
	r := e.d.drv.EventQuery(e.d.ctx, e.e)
	if r == cudrv.NotReady {
		return false, nil
	}
	return r == cudrv.Success, e.d.checkLater(r, "cuEventQuery", e.ring)
}

// Since is the card's time from start to e, both passed.
func (e *Event) Since(start *Event) (time.Duration, error) {
	if err := e.d.alive("cuEventElapsedTime"); err != nil {
		return 0, err
	}
	ms, r := e.d.drv.EventElapsed(e.d.ctx, start.e, e.e)
	return time.Duration(float64(ms) * float64(time.Millisecond)), e.d.check(r, "cuEventElapsedTime", "", nil)
}

// Close destroys the event.
func (e *Event) Close() error {
	e.cleanup.Stop()
	return e.h.close()
}
