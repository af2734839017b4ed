package cuzk

import (
	"context"
	"slices"
	"sync"

	"github.com/gocuzk/cuzk/internal/queue"
)

// ledger promises the host's memory to partitions before they take it: the most urgent class first, and in the order of
// asking within a class.
type ledger struct {
	limit int64

	mu          sync.Mutex
	taken, peak int64
	queue       []*debtor
}

// debtor is one who waits.
type debtor struct {
	bytes int64
	class queue.Class
	given chan struct{} // closed, under the lock, when it has them
}

// take promises n bytes, of which there must be as many in all, or answers context.Cause(ctx).
func (l *ledger) take(ctx context.Context, n int64, class queue.Class) error {
	d := &debtor{bytes: n, class: class, given: make(chan struct{})}
	l.mu.Lock()
	at := 0
	for at < len(l.queue) && l.queue[at].class <= class {
		at++
	}
	l.queue = slices.Insert(l.queue, at, d)
	l.serve()
	l.mu.Unlock()
	select {
	case <-d.given:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, d); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	} else {
		l.taken -= n
	}
	l.serve()
	return context.Cause(ctx)
}

// serve gives to those at the head what there is. The caller holds the lock.
func (l *ledger) serve() {
	for len(l.queue) > 0 && l.taken <= l.limit-l.queue[0].bytes {
		d := l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		l.taken += d.bytes
		l.peak = max(l.peak, l.taken)
		close(d.given)
	}
}

func (l *ledger) giveBack(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= n
	l.serve()
}

// books are what is promised now, and the most that was at a time.
func (l *ledger) books() (taken, peak int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken, l.peak
}
