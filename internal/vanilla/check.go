package vanilla

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// FirstError calls check(i) for 0 ≤ i < n on some goroutines and returns the error of the least i that
// has one, so that the answer does not depend on the schedule. workers bounds the goroutines; 0 or
// less means one per CPU. It returns context.Cause(ctx) if ctx ends first.
func FirstError(ctx context.Context, n, workers int, check func(i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next, stop atomic.Int64 // stop: no check from here on matters
	stop.Store(int64(n))
	errs := make([]error, n)
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= stop.Load() {
					return
				}
				if errs[i] = check(int(i)); errs[i] != nil {
					lower(&stop, i)
				}
			}
		})
	}
	wg.Wait()
	// Checks are taken in order, so those before the first failure are done unless ctx ended.
	if i := stop.Load(); i < int64(n) && ctx.Err() == nil {
		return errs[i]
	}
	return context.Cause(ctx)
}

// lower sets v to x if that is less.
func lower(v *atomic.Int64, x int64) {
	for old := v.Load(); x < old; old = v.Load() {
		if v.CompareAndSwap(old, x) {
			return
		}
	}
}
