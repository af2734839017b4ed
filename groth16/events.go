package groth16

import (
	"sync/atomic"
	"time"
)

// progressPeriod is the shortest time between two calls of Hooks.Progress.
const progressPeriod = 100 * time.Millisecond

// observer brings what happens on the goroutines of a job to the one that called Prove, which calls the hooks.
type observer struct {
	hooks  Hooks
	events chan func() // run by the caller of Prove, one at a time
	done   atomic.Uint64
	total  uint64
	seen   uint64 // last reported
}

func newObserver(o *ProveOptions, total uint64) *observer {
	w := &observer{events: make(chan func()), total: total}
	if o.Hooks != nil {
		w.hooks = *o.Hooks
	}
	return w
}

// phase runs f as a phase, between the two hooks, and measures it. It is called by the job's goroutines.
func (w *observer) phase(info PhaseInfo, took *time.Duration, f func() error) error {
	if h := w.hooks.PhaseStart; h != nil {
		w.events <- func() { h(info) }
	}
	start := time.Now()
	err := f()
	*took = time.Since(start)
	if h := w.hooks.PhaseEnd; h != nil {
		w.events <- func() { h(info, err) }
	}
	return err
}

// add counts work that was done.
func (w *observer) add(units uint64) { w.done.Add(units) }

// serve calls hooks until finished is closed.
func (w *observer) serve(finished <-chan struct{}) {
	tick := time.NewTicker(progressPeriod)
	defer tick.Stop()
	for {
		select {
		case f := <-w.events:
			f()
		case <-tick.C:
			w.report()
		case <-finished:
			w.report()
			return
		}
	}
}

// discard waits until finished is closed and calls no hooks.
func (w *observer) discard(finished <-chan struct{}) {
	for {
		select {
		case <-w.events:
		case <-finished:
			return
		}
	}
}

func (w *observer) report() {
	now := w.done.Load()
	if w.hooks.Progress != nil && now > w.seen {
		w.seen = now
		w.hooks.Progress(now, w.total)
	}
}
