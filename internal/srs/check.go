package srs

import (
	"context"
	"sync/atomic"

	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/wire"
)

// checkStretch is how many points are tested for the subgroup between two looks at ctx and reports of
// progress: about a twentieth of a second.
const checkStretch = 512

// Check decodes every point of the file and tests that it is in the subgroup. That takes some 75 µs a point of
// G1 and 95 µs a point of G2 of one processor. progress, which may be nil, is called now and then, from one
// goroutine at a time, with the number of points tested; done never falls.
//
// The first fault found is returned as *Error; if there are several, which one is not determined.
func (k *Key) Check(ctx context.Context, progress func(done, total int64)) error {
	var total, done int64
	for _, t := range k.tables {
		total += int64(t.n)
	}
	for _, t := range k.tables {
		check := checkG1
		if t.section == BG2 {
			check = checkG2
		}
		report := reporter(done, total, progress)
		err := parallel.Ranges(ctx, t.n, checkStretch, func(_, lo, hi int) error {
			defer report(hi - lo)
			return k.View(t.section, lo, hi, func(b []byte) error {
				for i := lo; i < hi; i++ {
					if err := check(b[int64(i-lo)*t.size : int64(i-lo+1)*t.size]); err != nil {
						return k.PointError(t.section, i, err)
					}
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
		done += int64(t.n)
		report(0)
	}
	return nil
}

func checkG1(b []byte) error {
	p, err := wire.G1(b)
	if err != nil {
		return err
	}
	return wire.CheckG1(&p)
}

func checkG2(b []byte) error {
	p, err := wire.G2(b)
	if err != nil {
		return err
	}
	return wire.CheckG2(&p)
}

// reporter returns a function that adds to done and passes the sum on, if nobody else is doing so.
func reporter(done, total int64, progress func(done, total int64)) func(n int) {
	var sum atomic.Int64
	var busy atomic.Bool
	sum.Store(done)
	return func(n int) {
		sum.Add(int64(n))
		if progress == nil || !busy.CompareAndSwap(false, true) {
			return
		}
		defer busy.Store(false)
		progress(sum.Load(), total)
	}
}
