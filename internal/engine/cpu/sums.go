package cpu

import (
	"context"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/affine"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
)

// Sums implements engine.Loaded. The sums are made one after another, each on all processors.
func (l *loaded) Sums(ctx context.Context, x engine.Assignment, y engine.Scalars, m engine.Meter) (*engine.PartialSums, error) {
	asg, err := l.own(x)
	if err != nil {
		return nil, err
	}
	h, ok := y.(*scalars)
	if !ok || h.owner != l {
		return nil, engine.ErrForeign
	}
	q, err := l.queriesFor(asg.layout)
	if err != nil {
		return nil, err
	}
	var out engine.PartialSums
	if out.H, err = l.sumH(ctx, h, m); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		query *query
		to    *bls12381.G1Affine
	}{{q.l, &out.L}, {q.a, &out.A}, {q.b1, &out.B1}} {
		sum := newVariableSum[fp.Element](l.key, s.query, asg.witness, wire.G1Size, pointG1)
		p, err := sum.run(ctx, m)
		if err != nil {
			return nil, err
		}
		*s.to = bls12381.G1Affine(p)
	}
	sum := newVariableSum[bls12381.E2](l.key, q.b2, asg.witness, wire.G2Size, pointG2)
	p, err := sum.run(ctx, m)
	out.B2 = bls12381.G2Affine(p)
	return &out, err
}

func pointG1(b []byte) (affine.G1, error) {
	p, err := wire.G1(b)
	return affine.G1(p), err
}

func pointG2(b []byte) (affine.G2, error) {
	p, err := wire.G2(b)
	return affine.G2(p), err
}

// decodeStretch is how many points of h are decoded between two steps of their sum: 50 MB.
const decodeStretch = 1 << 19

// sumH is Σ hᵢ·Hᵢ: every scalar is of full size.
func (l *loaded) sumH(ctx context.Context, h *scalars, m engine.Meter) (bls12381.G1Affine, error) {
	h.mu.Lock() // Release waits
	defer h.mu.Unlock()
	if h.v == nil {
		return bls12381.G1Affine{}, engine.ErrClosed
	}
	n := l.key.Len(srs.H)
	sum := affine.NewMSM[fp.Element](n)
	points := make([]bls12381.G1Affine, min(n, decodeStretch))
	for lo := 0; lo < n; lo += decodeStretch {
		part := points[:min(decodeStretch, n-lo)]
		if err := l.key.G1(ctx, srs.H, lo, part); err != nil {
			return bls12381.G1Affine{}, err
		}
		l.key.Forget(srs.H, lo, lo+len(part))
		if err := sum.Add(ctx, affine.FromG1(part), h.v[lo:lo+len(part)]); err != nil {
			return bls12381.G1Affine{}, err
		}
		m.Add(uint64(len(part)))
	}
	p, err := sum.Sum(ctx)
	return bls12381.G1Affine(p), err
}
