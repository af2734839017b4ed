package fakedrv

import (
	"slices"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// StreamCreate makes a stream.
func (d *Driver) StreamCreate(ctx cudrv.Context) (s cudrv.Stream, r cudrv.Result) {
	c, r := d.enter("StreamCreate", ctx, 0)
	if r == cudrv.Success {
		s = cudrv.Stream(d.handle())
		c.line.Stream = s
		q := &stream{}
		c.card.streams[s] = q
		c.card.order = append(c.card.order, q)
		d.usage.Streams++
	}
	return s, c.leave(r)
}

// StreamDestroy runs what the stream holds and destroys it.
func (d *Driver) StreamDestroy(ctx cudrv.Context, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("StreamDestroy", ctx, 0)
	c.line.Stream = s
	if r == cudrv.Success {
		r = c.card.drainStream(s)
	}
	if r == cudrv.Success {
		q := c.card.streams[s]
		delete(c.card.streams, s)
		c.card.order = slices.DeleteFunc(c.card.order, func(o *stream) bool { return o == q })
		d.usage.Streams--
	}
	return c.leave(r)
}

// StreamSynchronize runs what the stream holds.
func (d *Driver) StreamSynchronize(ctx cudrv.Context, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("StreamSynchronize", ctx, 0)
	c.line.Stream = s
	if r == cudrv.Success {
		r = c.card.drainStream(s)
	}
	return c.leave(r)
}

// queryOps is how many operations a question lets the card run: some, so that a wait takes several questions, but not
// a pause for each operation.
const queryOps = 16

// StreamQuery runs a few operations of the card.
func (d *Driver) StreamQuery(ctx cudrv.Context, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("StreamQuery", ctx, 0)
	c.line.Stream = s
	if r == cudrv.Success {
		q := c.card.streams[s]
		switch {
		case q == nil:
			r = cudrv.InvalidHandle
		case len(q.ops) > 0:
			for i := 0; i < queryOps && len(q.ops) > 0 && c.card.step(); i++ {
			}
			if r = c.card.lost; r == cudrv.Success && len(q.ops) > 0 {
				r = cudrv.NotReady
			}
		}
	}
	return c.leave(r)
}

// StreamWaitEvent lets later work of s wait for the last recording of e.
func (d *Driver) StreamWaitEvent(ctx cudrv.Context, s cudrv.Stream, e cudrv.Event) cudrv.Result {
	c, r := d.enter("StreamWaitEvent", ctx, 0)
	c.line.Stream = s
	if r == cudrv.Success {
		if ev := c.card.events[e]; ev == nil {
			r = cudrv.InvalidHandle
		} else {
			r = c.card.enqueue(s, op{wait: ev.last})
		}
	}
	return c.leave(r)
}

// EventCreate makes an event.
func (d *Driver) EventCreate(ctx cudrv.Context, f cudrv.EventFlags) (e cudrv.Event, r cudrv.Result) {
	c, r := d.enter("EventCreate", ctx, 0)
	if r == cudrv.Success {
		e = cudrv.Event(d.handle())
		c.card.events[e] = &event{timing: f&cudrv.EventNoTiming == 0}
		d.usage.Events++
	}
	return e, c.leave(r)
}

// EventDestroy destroys an event.
func (d *Driver) EventDestroy(ctx cudrv.Context, e cudrv.Event) cudrv.Result {
	c, r := d.enter("EventDestroy", ctx, 0)
	if r == cudrv.Success {
		if c.card.events[e] == nil {
			return c.leave(cudrv.InvalidHandle)
		}
		delete(c.card.events, e)
		d.usage.Events--
	}
	return c.leave(r)
}

// EventRecord marks the end of the stream.
func (d *Driver) EventRecord(ctx cudrv.Context, e cudrv.Event, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("EventRecord", ctx, 0)
	c.line.Stream = s
	if r == cudrv.Success {
		ev := c.card.events[e]
		if ev == nil {
			return c.leave(cudrv.InvalidHandle)
		}
		m := &marker{}
		if r = c.card.enqueue(s, op{marker: m}); r == cudrv.Success {
			ev.last = m
		}
	}
	return c.leave(r)
}

// EventSynchronize runs the card until the event has passed.
func (d *Driver) EventSynchronize(ctx cudrv.Context, e cudrv.Event) cudrv.Result {
	c, r := d.enter("EventSynchronize", ctx, 0)
	if r == cudrv.Success {
		ev := c.card.events[e]
		if ev == nil {
			return c.leave(cudrv.InvalidHandle)
		}
		if m := ev.last; m != nil {
			r = c.card.drain(func() bool { return m.done })
		}
	}
	return c.leave(r)
}

// EventQuery runs a few operations of the card.
func (d *Driver) EventQuery(ctx cudrv.Context, e cudrv.Event) cudrv.Result {
	c, r := d.enter("EventQuery", ctx, 0)
	if r == cudrv.Success {
		ev := c.card.events[e]
		if ev == nil {
			return c.leave(cudrv.InvalidHandle)
		}
		if m := ev.last; m != nil && !m.done {
			for i := 0; i < queryOps && !m.done && c.card.step(); i++ {
			}
			if r = c.card.lost; r == cudrv.Success && !m.done {
				r = cudrv.NotReady
			}
		}
	}
	return c.leave(r)
}

// EventElapsed is the number of operations that the card ran between two events, as
// microseconds, in milliseconds.
func (d *Driver) EventElapsed(ctx cudrv.Context, start, end cudrv.Event) (ms float32, r cudrv.Result) {
	c, r := d.enter("EventElapsed", ctx, 0)
	if r == cudrv.Success {
		a, b := c.card.events[start], c.card.events[end]
		switch {
		case a == nil || b == nil || !a.timing || !b.timing || a.last == nil || b.last == nil:
			r = cudrv.InvalidHandle
		case !a.last.done || !b.last.done:
			r = cudrv.NotReady
		default:
			ms = float32(b.last.time-a.last.time) / 1000
		}
	}
	return ms, c.leave(r)
}
