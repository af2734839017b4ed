package parallel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// PanicError is a panic of a function that was run by this package: a broken invariant.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("internal error: %v\n%s", e.Value, e.Stack)
}

// Guard runs f and turns a panic into a *PanicError.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// ErrExited reports a function that has ended its goroutine with runtime.Goexit, as a failing test does.
var ErrExited = errors.New("runtime.Goexit was called")

// Apart runs f like Guard, but on a goroutine of its own, so that f may even end that one: the error is ErrExited then.
func Apart(f func() error) error {
	done := make(chan error, 1)
	go func() {
		err := ErrExited
		defer func() { done <- err }()
		err = Guard(f)
	}()
	return <-done
}

// Workers is the number of goroutines that calls use: GOMAXPROCS.
func Workers() int { return runtime.GOMAXPROCS(0) }

// Ranges calls f(worker, lo, hi) for consecutive ranges of at most size elements that cover [0, n).
// Calls with the same worker number (below [Workers]) do not overlap, so that scratch memory can be
// kept by worker. The result is the first error, or context.Cause(ctx) if ctx ends first; ctx is looked
// at before every range.
func Ranges(ctx context.Context, n, size int, f func(worker, lo, hi int) error) error {
	var next atomic.Int64
	return Each(ctx, min(Workers(), (n+size-1)/size), func(ctx context.Context, worker int) error {
		for ctx.Err() == nil {
			lo := (int(next.Add(1)) - 1) * size
			if lo >= n {
				return nil
			}
			if err := f(worker, lo, min(lo+size, n)); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	})
}

// Each runs f(ctx, 0) … f(ctx, n−1) at the same time and waits for all. The ctx that f gets ends with the
// first error, which is also the result.
func Each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error { return Guard(func() error { return f(ctx, i) }) })
	}
	return g.Wait()
}
