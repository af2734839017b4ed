package cuzk

import (
	"context"
	"errors"
)

// Close ends the Engine. It takes no more jobs and waits for those it has; when ctx ends, which is then its error, it
// cancels them with ErrClosed, which takes a second. Then it gives everything back: keys, memory of devices and of the
// host, files, goroutines, and the devices that the Engine has opened. Closing again waits for the first call and returns
// the same. It must not be called by a hook or a progress function.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.closing
	e.closing = true
	if first && len(e.jobs) == 0 {
		close(e.quiet)
	}
	e.mu.Unlock()
	if !first {
		<-e.closed
		return e.fault
	}
	e.refuse(ErrClosed)
	var cut error
	select {
	case <-e.quiet:
	case <-ctx.Done():
		cut = context.Cause(ctx)
		e.cancelAll()
		<-e.quiet
	}
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
	e.fault = errors.Join(cut, e.kinds.close(), closeCards(e.cards))
	close(e.closed)
	return e.fault
}

func (e *Engine) cancelAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, j := range e.jobs {
		j.cancel(ErrClosed)
	}
}
