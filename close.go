package cuzk

import (
	"context"
	"errors"
)

// Close ends the Engine. It takes no more jobs and waits for those it has; when ctx ends, which is then part of its error,
// it cancels them with ErrClosed, which takes a second. Then it gives everything back: keys, memory of devices and of the
// host, files, goroutines, and the devices that the Engine has opened. Closing again waits for the same end, and cancels
// jobs likewise. It must not be called by a hook or a progress function.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.closing
	e.closing = true
	if first && len(e.jobs) == 0 {
		close(e.quiet)
	}
	e.mu.Unlock()
	if first {
		e.refuse(ErrClosed)
		go e.end()
	}
	var cut error
	select {
	case <-e.quiet:
	case <-ctx.Done():
		if e.cancelAll() {
			cut = context.Cause(ctx)
		}
	}
	<-e.closed
	return errors.Join(cut, e.fault)
}

// end gives everything back once there are no jobs.
func (e *Engine) end() {
	defer close(e.closed)
	<-e.quiet
	e.mu.Lock()
	e.ended = true
	e.wake.Broadcast()
	e.mu.Unlock()
	for _, c := range e.cards {
		c.shelf.fail(ErrClosed)
	}
	e.running.Wait()
	for _, c := range e.cards {
		c.shelf.evictIdle()
	}
	e.fault = errors.Join(e.kinds.close(), closeCards(e.cards))
}

// cancelAll cancels all jobs, and tells whether there were any.
func (e *Engine) cancelAll() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, j := range e.jobs {
		j.cancel(ErrClosed)
	}
	return len(e.jobs) > 0
}
