package gpu

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// A wait asks the driver again and again: without a pause at first, then with growing ones.
const (
	spinTime = 50 * time.Microsecond
	firstNap = 20 * time.Microsecond
	lastNap  = 50 * time.Microsecond
	// mostStep is the most that counts between two questions: a process that was stopped is no card that hangs.
	mostStep = 100 * time.Millisecond
)

// keepLaunches is how many kernel names a stream remembers for errors found later.
const keepLaunches = 32

// ring is the last kernels launched on a stream. It is safe for concurrent use.
type ring struct {
	mu    sync.Mutex
	names []string
}

func (r *ring) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.names) == keepLaunches {
		copy(r.names, r.names[1:])
		r.names = r.names[:keepLaunches-1]
	}
	r.names = append(r.names, name)
}

// last is a copy of the names, the oldest first. A nil ring has none.
func (r *ring) last() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names)
}

// poll asks until the answer is another one than NotReady, or ctx, which may be nil, is done. If that takes as long as the
// watchdog, the card is lost.
func (d *Device) poll(ctx context.Context, op string, r *ring, ask func() cudrv.Result) error {
	var waited time.Duration
	last := time.Now()
	for nap := firstNap; ; {
		if res := ask(); res != cudrv.NotReady {
			return d.checkLater(res, op, r)
		}
		if err := d.alive(op); err != nil {
			return err
		}
		if err := ended(ctx, op); err != nil {
			return err
		}
		now := time.Now()
		waited += min(now.Sub(last), mostStep)
		last = now
		switch {
		case waited >= d.opts.Watchdog:
			return d.hang(d.opts.Watchdog, op, r)
		case waited < spinTime:
			runtime.Gosched()
		default:
			pause(nap)
			nap = min(2*nap, lastNap)
		}
	}
}

// await makes a call that gives something back, and that waits in the driver for whatever runs on the card. If it does not
// return for so long, or the card is lost meanwhile, it is left to itself.
func (d *Device) await(most time.Duration, op string, call func() cudrv.Result) error {
	done := make(chan cudrv.Result, 1)
	go func() { done <- call() }()
	step := min(mostStep, most)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for waited := time.Duration(0); waited < most; {
		select {
		case r := <-done:
			return d.check(r, op, "", nil)
		case <-d.gone:
			return d.alive(op)
		case <-tick.C: // not the clock: see mostStep
			waited += step
		}
	}
	select {
	case r := <-done:
		return d.check(r, op, "", nil)
	default:
		return d.hang(most, op, nil)
	}
}

// hang loses the card, which has not answered for so long.
func (d *Device) hang(most time.Duration, op string, r *ring) error {
	e := &Error{Device: d.info.Identity, Op: op, Reason: ErrLost, Launches: r.last(),
		Detail: fmt.Sprintf("nothing completed for %v", most)}
	d.lose(e)
	return e
}

// ended is the error of work whose context, which may be nil, is done.
func ended(ctx context.Context, op string) error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("gpu: %s: %w", op, context.Cause(ctx))
}
