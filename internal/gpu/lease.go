package gpu

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// What leases leave of a card: of its free memory, for kernels and others, and of a memory limit, for the context as well,
// which takes 518 MiB on an H200. A small card has neither whole.
const (
	keepFree  = 512 << 20
	keepLimit = 640 << 20
	keepShare = 16 // no more than this part of the card
)

// leasable is how much of a card can be leased at a memory limit, which may be 0 for none.
func leasable(free, total, limit uint64) uint64 {
	n := free - min(free, keepFree, total/keepShare)
	if limit != 0 {
		n = min(n, limit-min(limit, keepLimit, total/keepShare))
	}
	return n
}

// ledger is the account of a card's memory. Leases are given in the order in which they were asked for.
type ledger struct {
	mu           sync.Mutex
	known        bool // limit is set
	limit        uint64
	leased, peak uint64
	queue        []*waiter
}

// waiter is a lease that is not given yet.
type waiter struct {
	n     uint64
	given chan struct{} // closed, under the lock, when it is
}

func (b *ledger) hasLimit() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known
}

// setLimit sets the limit, once.
func (b *ledger) setLimit(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known {
		b.limit, b.known = n, true
	}
}

// fits tells whether n more bytes may be leased. The caller holds the lock.
func (b *ledger) fits(n uint64) bool { return n <= b.limit && b.leased <= b.limit-n }

func (b *ledger) take(n uint64) {
	b.leased += n
	b.peak = max(b.peak, b.leased)
}

// serve gives to those at the head of the queue what fits. The caller holds the lock.
func (b *ledger) serve() {
	for len(b.queue) > 0 && b.fits(b.queue[0].n) {
		w := b.queue[0]
		b.queue = slices.Delete(b.queue, 0, 1)
		b.take(w.n)
		close(w.given)
	}
}

func (b *ledger) giveBack(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leased -= n
	b.serve()
}

// leave takes a waiter out: out of the queue, or what it was given in the meantime.
func (b *ledger) leave(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, w); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	} else {
		b.leased -= w.n
	}
	b.serve()
}

// LeaseOptions tunes a lease. The zero value, and nil, mean the defaults.
type LeaseOptions struct {
	// NoWait answers ErrMemory at once where the lease would have to wait for others.
	NoWait bool
}

// Lease is a share of a card's memory, promised before anything of it is allocated. It is safe for concurrent use.
type Lease struct {
	d       *Device
	size    uint64
	h       *handle
	cleanup runtime.Cleanup

	mu       sync.Mutex
	reserved uint64
	arenas   int
	closed   bool
}

// Lease promises n bytes of the card. It waits, behind those that asked before, until other leases leave that much. What
// can never fit, or does not fit now with option NoWait, is an Error with ErrMemory and the numbers; if ctx ends first,
// the error wraps its cause.
func (d *Device) Lease(ctx context.Context, n uint64, o *LeaseOptions) (*Lease, error) {
	const op = "lease"
	if n == 0 {
		return nil, d.argument(op, "no bytes")
	}
	if err := ended(ctx, op); err != nil {
		return nil, err
	}
	if err := d.adopt(kindLease, op); err != nil { // also while it waits: the card can't be closed under it
		return nil, err
	}
	err := d.setLimit(op)
	if err == nil {
		err = d.claim(ctx, n, o != nil && o.NoWait)
	}
	if err != nil {
		d.disown(kindLease)
		return nil, err
	}
	l := &Lease{d: d, size: n}
	l.h = &handle{d: d, kind: kindLease, books: func() { d.budget.giveBack(n) }}
	l.cleanup = runtime.AddCleanup(l, leaked, l.h)
	return l, nil
}

// setLimit finds out, at the first lease, how much there is to lease.
func (d *Device) setLimit(op string) error {
	if err := d.alive(op); err != nil {
		return err
	}
	if d.budget.hasLimit() {
		return nil
	}
	free, total, err := d.Memory() // not under the lock: a driver that does not answer must not hold up Stats
	if err != nil {
		return err
	}
	d.budget.setLimit(leasable(free, total, d.opts.MemoryLimit))
	return nil
}

// Leasable is what a lease could have now without waiting, in bytes.
func (d *Device) Leasable() (uint64, error) {
	if err := d.setLimit("lease"); err != nil {
		return 0, err
	}
	b := &d.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit - b.leased, nil
}

// claim enters n bytes into the ledger, waiting for them if it may.
func (d *Device) claim(ctx context.Context, n uint64, noWait bool) error {
	b := &d.budget
	b.mu.Lock()
	switch {
	case len(b.queue) == 0 && b.fits(n):
		b.take(n)
		b.mu.Unlock()
		return nil
	case noWait || n > b.limit:
		defer b.mu.Unlock()
		return d.short("lease", n)
	}
	w := &waiter{n: n, given: make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	var err error
	select {
	case <-w.given:
		return nil
	case <-ctx.Done():
		err = ended(ctx, "lease")
	case <-d.gone:
		err = d.alive("lease")
	}
	b.leave(w)
	return err
}

// short is the error of a lease that does not fit. The caller holds the ledger's lock.
func (d *Device) short(op string, n uint64) error {
	b := &d.budget
	e := &Error{Device: d.info.Identity, Op: op, Reason: ErrMemory, NeedBytes: n,
		FreeBytes: b.limit - b.leased, TotalBytes: d.info.MemoryBytes,
		Detail: fmt.Sprintf("at most %d bytes can be leased, %d are", b.limit, b.leased)}
	if len(b.queue) > 0 {
		e.Detail += fmt.Sprintf(", %d wait before it", len(b.queue))
	}
	return e
}

// Bytes is the size of the lease.
func (l *Lease) Bytes() uint64 { return l.size }

// Reserve allocates n bytes out of the lease. If the lease has not that much left, or the card itself, since other
// processes use it, the error is an Error with ErrMemory and the numbers.
func (l *Lease) Reserve(n uint64) (*Arena, error) {
	const op = "reserve"
	d := l.d
	if err := d.alive(op); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, d.argument(op, "no bytes")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, d.closedError(op)
	}
	if left := l.size - l.reserved; n > left {
		return nil, &Error{Device: d.info.Identity, Op: op, Reason: ErrMemory, NeedBytes: n, FreeBytes: left,
			TotalBytes: d.info.MemoryBytes, Detail: fmt.Sprintf("the lease has %d bytes", l.size)}
	}
	p, err := d.allocate(n)
	if err != nil {
		return nil, err
	}
	l.reserved += n
	l.arenas++
	a := &Arena{d: d, base: p, size: n}
	a.h = &handle{d: d, kind: kindArena, op: "cuMemFree",
		release: func() cudrv.Result {
			d.reserved.Add(-n)
			return d.drv.MemFree(d.ctx, p)
		},
		books: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.reserved -= n
			l.arenas--
		}}
	d.counts[kindArena].Add(1)
	a.cleanup = runtime.AddCleanup(a, leaked, a.h)
	return a, nil
}

// Close gives the lease back; it fails with ErrBusy while arenas of it are open.
func (l *Lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	if l.arenas > 0 {
		return &Error{Device: l.d.info.Identity, Op: "close lease", Reason: ErrBusy, Detail: fmt.Sprintf("%d arenas", l.arenas)}
	}
	l.closed = true
	l.cleanup.Stop()
	return l.h.close()
}
