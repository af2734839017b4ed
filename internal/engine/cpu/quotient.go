package cpu

import (
	"context"
	"math/big"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/parallel"
)

// Quotient implements engine.Loaded.
func (l *loaded) Quotient(ctx context.Context, x engine.Assignment, m engine.Meter) (engine.Scalars, error) {
	asg, err := l.own(x)
	if err != nil {
		return nil, err
	}
	a, b, c, err := asg.take()
	if err != nil {
		return nil, err
	}
	defer func() { l.pool.put(b, c) }()
	if err = satisfied(ctx, a, b, c); err == nil {
		err = l.domain.quotient(ctx, a, b, c, stepMeter(m, l.quotientWork()))
	}
	if err != nil {
		l.pool.put(a)
		return nil, err
	}
	return &scalars{owner: l, v: a}, nil
}

// satisfied checks a·b = c in every row. Beside the transforms it costs nothing, and what it finds would otherwise be
// a proof that does not verify, without a reason.
func satisfied(ctx context.Context, a, b, c []fr.Element) error {
	var first atomic.Int64
	first.Store(int64(len(a)))
	err := parallel.Ranges(ctx, len(a), stretch, func(_, lo, hi int) error {
		var p fr.Element
		for i := lo; i < min(hi, int(first.Load())); i++ {
			if p.Mul(&a[i], &b[i]); p.Equal(&c[i]) {
				continue
			}
			for old := first.Load(); int64(i) < old && !first.CompareAndSwap(old, int64(i)); {
				old = first.Load()
			}
			break
		}
		return nil
	})
	if err == nil && int(first.Load()) < len(a) {
		err = &engine.UnsatisfiedError{Row: int(first.Load())}
	}
	return err
}

// quotientSteps is the number of times that quotient calls step.
const quotientSteps = 6

func stepMeter(m engine.Meter, work uint64) (step func()) {
	done := uint64(0)
	return func() {
		done++
		m.Add(work*done/quotientSteps - work*(done-1)/quotientSteps)
	}
}

// quotient puts into a the coefficients of h = (A·B − C)/Z, lowest first, where A, B, C have the given values on the
// domain, C = A·B there, and Z = x^m − 1. It uses up b and c.
//
// On the coset of g, Z has the one value g^m − 1, and the values of A·B there determine A·B modulo x^m − g^m.
// Modulo that, h·Z is h·(g^m − 1), a polynomial of degree below m. So
//
//	h = (A·B mod (x^m − g^m) − C) / (g^m − 1)
//
// which takes six transforms: C is needed as coefficients only. The reference takes C to the coset and back; h is the same.
func (d *domain) quotient(ctx context.Context, a, b, c []fr.Element, step func()) error {
	if d.size() == 1 {
		a[0].SetZero()
		return nil
	}
	g := fft.GeneratorFullMultiplicativeGroup()
	var blocksInv fr.Element
	blocksInv.SetUint64(uint64(d.blocks())).Inverse(&blocksInv)
	toCoset := d.blockFactors(g, blocksInv)
	for _, v := range [][]fr.Element{a, b} {
		if err := d.inverse(ctx, v); err != nil {
			return err
		}
		step()
		if err := d.scale(ctx, v, d.up, toCoset); err != nil {
			return err
		}
		if err := d.forward(ctx, v); err != nil {
			return err
		}
		step()
	}
	err := parallel.Ranges(ctx, len(a), stretch, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			a[i].Mul(&a[i], &b[i])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := d.inverse(ctx, a); err != nil {
		return err
	}
	step()
	if err := d.inverse(ctx, c); err != nil {
		return err
	}
	step()
	return d.finish(ctx, a, c, g, blocksInv)
}

// finish computes h from the coefficients of A·B on the coset and of C, both in bit-reversed order and times the number of
// blocks.
func (d *domain) finish(ctx context.Context, a, c []fr.Element, g, blocksInv fr.Element) error {
	var zInv, gInv fr.Element // 1/(g^m − 1), then also divided by the number of blocks
	one := fr.One()
	zInv.Exp(g, big.NewInt(int64(d.size()))).Sub(&zInv, &one).Inverse(&zInv).Mul(&zInv, &blocksInv)
	fromCoset := d.blockFactors(*gInv.Inverse(&g), zInv)
	if err := d.scale(ctx, a, d.down, fromCoset); err != nil {
		return err
	}
	err := parallel.Ranges(ctx, len(a), stretch, func(_, lo, hi int) error {
		var t fr.Element
		for i := lo; i < hi; i++ {
			a[i].Sub(&a[i], t.Mul(&c[i], &zInv))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.reorder(ctx, a)
}

// reorder moves v[i] to the place where the bits of i, reversed, point to.
func (d *domain) reorder(ctx context.Context, v []fr.Element) error {
	return parallel.Ranges(ctx, len(v), stretch, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			// Of the two that change places the first one does it.
			if j := reversed(i, d.logN); i < j {
				v[i], v[j] = v[j], v[i]
			}
		}
		return nil
	})
}
