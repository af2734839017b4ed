package gpu

import (
	"context"
	"slices"
	"sync"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/urgency"
)

// mostOvertakes is how often one who waits for a turn may be overtaken by others that came later.
const mostOvertakes = 8

// turn is the right to use a key's working memory. It goes to the most urgent of those who wait, and among equals to the one
// who came first. The zero turn is free.
type turn struct {
	mu     sync.Mutex
	taken  bool
	closed bool
	queue  []*taker // in order of arrival
}

// taker is one who waits for a turn.
type taker struct {
	level, overtaken int
	ended            chan error // buffered: nil is the turn
}

// take waits for the turn. The error is the cause of ctx, or ErrClosed.
func (t *turn) take(ctx context.Context) error {
	w, err := t.join(urgency.Of(ctx))
	if w == nil {
		return err
	}
	select {
	case err := <-w.ended:
		return err
	case <-ctx.Done():
		t.quit(w)
		return context.Cause(ctx)
	}
}

// join takes a free turn, and gives nil, or queues.
func (t *turn) join(level int) (*taker, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, engine.ErrClosed
	}
	if !t.taken {
		t.taken = true
		return nil, nil
	}
	w := &taker{level: level, ended: make(chan error, 1)}
	t.queue = append(t.queue, w)
	return w, nil
}

// quit takes one who no longer waits out of the queue, and passes on the turn if that came in the meantime.
func (t *turn) quit(w *taker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.queue, w); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	} else if err := <-w.ended; err == nil {
		t.next()
	}
}

// give ends a turn.
func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

// next gives the turn to the one whose it is. The caller holds the lock, and the turn.
func (t *turn) next() {
	if len(t.queue) == 0 {
		t.taken = false
		return
	}
	best := 0
	for i, w := range t.queue {
		if t.queue[0].overtaken < mostOvertakes && w.level > t.queue[best].level {
			best = i
		}
	}
	for _, w := range t.queue[:best] {
		w.overtaken++
	}
	t.queue[best].ended <- nil
	t.queue = slices.Delete(t.queue, best, best+1)
}

// close takes the turn for good, once it is free. Those who wait, and all later ones, get ErrClosed.
func (t *turn) close() {
	t.mu.Lock()
	t.closed = true
	for _, w := range t.queue {
		w.ended <- engine.ErrClosed
	}
	t.queue = nil
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return
	}
	last := &taker{ended: make(chan error, 1)}
	t.queue = append(t.queue, last)
	t.mu.Unlock()
	<-last.ended
}
