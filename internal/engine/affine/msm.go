package affine

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/parallel"
)

// MSM is a running sum of multiples, Σ scalars[i]·points[i], by the bucket method: scalars are cut into
// windows of signed digits, each window has a bucket for each magnitude, points are added to the bucket
// of their digit, and the buckets are weighted once at the end. Terms come in any number of calls
// of [MSM.Add], so that no more of them than one call's need be in memory.
//
// It is not safe for concurrent use; its methods use all processors.
type MSM[E any, P Field[E]] struct {
	radix   radix
	lanes   []*lane[E, P] // windows of group 0, of group 1, …
	workers []*worker[E, P]
	split   []digits
}

// maxWindowBits bounds the memory of buckets: 16 windows of 2^15 points of G1 are 50 MB. Wider windows would save
// a fifteenth of the additions and lose as much to cache misses.
const maxWindowBits = 16

// pieceSize is how many terms are sorted into one window's buckets at a time: with few, buckets are visited more often;
// with many, points fall out of the cache. It is also the grain of cancellation, some 50 ms.
const pieceSize = 1 << 16

// NewMSM returns an empty sum that is meant for about n terms in all.
func NewMSM[E any, P Field[E]](n int) *MSM[E, P] {
	c := cheapest(maxWindowBits, func(c, windows int) int { return windows * (n + 2<<(c-1)) })
	m := &MSM[E, P]{radix: newRadix(c)}
	// A lane is used by one worker at a time; with many processors and few windows, pieces go to several groups of lanes.
	groups := 1
	if n > pieceSize {
		groups = (parallel.Workers() + m.radix.windows - 1) / m.radix.windows
	}
	for i := range groups * m.radix.windows {
		m.lanes = append(m.lanes, &lane[E, P]{
			window: i % m.radix.windows, group: i / m.radix.windows, groups: groups,
			buckets: make([]Point[E], 1<<(c-1)),
		})
	}
	m.workers = make([]*worker[E, P], parallel.Workers())
	return m
}

// Add adds Σ scalars[i]·points[i]. Points may be any points of the curve, scalars any scalars. After
// an error, context.Cause(ctx) for instance, the sum is of no use.
func (m *MSM[E, P]) Add(ctx context.Context, points []Point[E], scalars []fr.Element) error {
	if len(points) != len(scalars) {
		return fmt.Errorf("affine: %d points for %d scalars", len(points), len(scalars))
	}
	if cap(m.split) < len(scalars) {
		m.split = make([]digits, len(scalars))
	}
	split := m.split[:len(scalars)]
	err := parallel.Ranges(ctx, len(split), pieceSize/8, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			split[i] = m.radix.split(&scalars[i])
		}
		return nil
	})
	if err != nil {
		return err
	}
	q := newQueue(m.lanes, (len(points)+pieceSize-1)/pieceSize)
	return parallel.Each(ctx, min(parallel.Workers(), len(m.lanes)), func(ctx context.Context, i int) error {
		if m.workers[i] == nil {
			m.workers[i] = newWorker[E, P](len(m.lanes[0].buckets))
		}
		m.workers[i].reserve(min(len(points), pieceSize))
		return q.run(ctx, func(l *lane[E, P], piece int) {
			lo, hi := piece*pieceSize, min((piece+1)*pieceSize, len(points))
			m.workers[i].sort(&m.radix, l, points[lo:hi], split[lo:hi])
		})
	})
}

// Sum returns the sum and ends the use of m.
func (m *MSM[E, P]) Sum(ctx context.Context) (Point[E], error) {
	sums := make([]Point[E], len(m.lanes))
	err := parallel.Ranges(ctx, len(m.lanes), 1, func(_, i, _ int) error {
		sums[i] = weightedSum[E, P](m.lanes[i].buckets)
		return nil
	})
	if err != nil {
		return Point[E]{}, err
	}
	add := NewAdder[E, P]()
	var total Point[E]
	for w := m.radix.windows - 1; w >= 0; w-- {
		for range m.radix.c {
			add.AddOne(&total, &total, &total, false, false)
		}
		for i := w; i < len(sums); i += m.radix.windows {
			add.AddOne(&total, &total, &sums[i], false, false)
		}
	}
	return total, nil
}

// weightedSum returns Σ (i+1)·points[i]. It cuts the points into segments and adds up the running sums of all
// segments side by side: with R_s the sum of segment s of length n, and W_s its own weighted sum,
// the total is Σ W_s + n·Σ s·R_s, and Σ s·R_s is a smaller sum of the same kind.
func weightedSum[E any, P Field[E]](points []Point[E]) Point[E] {
	add := NewAdder[E, P]()
	length := 1
	for length*length*16 < len(points) {
		length *= 2
	}
	segments := (len(points) + length - 1) / length
	running := make([]Point[E], segments)
	weighted := make([]Point[E], segments)
	for i := length - 1; i >= 0; i-- {
		for s := range running {
			if at := s*length + i; at < len(points) {
				add.Add(&running[s], &running[s], &points[at], false, false)
			}
		}
		add.Flush()
		for s := range running {
			add.Add(&weighted[s], &weighted[s], &running[s], false, false)
		}
		add.Flush()
	}
	total := add.Sum(weighted)
	if segments == 1 {
		return total
	}
	if length == 1 { // few points: plain double and add over s
		return serialSum(add, total, running[1:])
	}
	rest := weightedSum[E, P](running[1:])
	for n := 1; n < length; n *= 2 {
		add.AddOne(&rest, &rest, &rest, false, false)
	}
	add.AddOne(&total, &total, &rest, false, false)
	return total
}

// serialSum returns start + Σ (i+1)·points[i].
func serialSum[E any, P Field[E]](add *Adder[E, P], start Point[E], points []Point[E]) Point[E] {
	var running Point[E]
	for i := len(points) - 1; i >= 0; i-- {
		add.AddOne(&running, &running, &points[i], false, false)
		add.AddOne(&start, &start, &running, false, false)
	}
	return start
}
