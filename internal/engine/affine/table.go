package affine

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/parallel"
)

// Table holds multiples of one point for multiplying it by many scalars: for each window of c bits the
// multiples by 1 to 2^(c−1). A product is then one addition a window.
type Table[E any, P Field[E]] struct {
	radix   radix
	windows [][]Point[E]
}

// maxTableBits bounds a table of G1 to 16·2^15 points (50 MB; G2 100 MB): with wider windows the parts
// of the table that a stretch of products works on fall out of the cache.
const maxTableBits = 16

// NewTable makes a table of multiples of base for about n products.
func NewTable[E any, P Field[E]](ctx context.Context, base Point[E], n int) (*Table[E, P], error) {
	t := &Table[E, P]{radix: newRadix(tableBits(n))}
	t.windows = make([][]Point[E], t.radix.windows)
	add := NewAdder[E, P]()
	starts := make([]Point[E], t.radix.windows)
	for w := range starts {
		starts[w] = base
		for range t.radix.c {
			add.AddOne(&base, &base, &base, false, false)
		}
	}
	err := parallel.Ranges(ctx, len(starts), 1, func(_, w, _ int) error {
		t.windows[w] = multiples[E, P](starts[w], 1<<(t.radix.c-1))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// tableBits is the width at which making the table and n products take the fewest additions.
func tableBits(n int) int {
	return cheapest(maxTableBits, func(c, windows int) int { return windows * (n + 1<<(c-1)) })
}

// multiples returns p, 2p, … np.
func multiples[E any, P Field[E]](p Point[E], n int) []Point[E] {
	add := NewAdder[E, P]()
	out := make([]Point[E], n)
	out[0] = p
	for have := 1; have < n; have *= 2 {
		for i := range min(have, n-have) {
			add.Add(&out[have+i], &out[have-1], &out[i], false, false)
		}
		add.Flush()
	}
	return out
}

// productStretch is how many products one goroutine makes at a time; results and one window of the
// table should fit the cache together.
const productStretch = 1 << 13

// Mul sets out[i] = scalars[i]·base on all processors.
func (t *Table[E, P]) Mul(ctx context.Context, out []Point[E], scalars []fr.Element) error {
	adders := make([]*Adder[E, P], parallel.Workers())
	return parallel.Ranges(ctx, len(scalars), productStretch, func(worker, lo, hi int) error {
		if adders[worker] == nil {
			adders[worker] = NewAdder[E, P]()
		}
		t.stretch(adders[worker], out[lo:hi], scalars[lo:hi])
		return nil
	})
}

func (t *Table[E, P]) stretch(add *Adder[E, P], out []Point[E], scalars []fr.Element) {
	split := make([]digits, len(scalars))
	for i := range split {
		split[i] = t.radix.split(&scalars[i])
		out[i] = Point[E]{}
	}
	for w, multiple := range t.windows {
		for i := range split {
			if d, neg := t.radix.digit(&split[i], w); d != 0 {
				add.Add(&out[i], &out[i], &multiple[d-1], false, neg)
			}
		}
		add.Flush()
	}
}

// cheapest returns the window width c in [2, most] for which cost is lowest.
func cheapest(most int, cost func(c, windows int) int) int {
	best := 2
	for c := 3; c <= most; c++ {
		if cost(c, newRadix(c).windows) < cost(best, newRadix(best).windows) {
			best = c
		}
	}
	return best
}
