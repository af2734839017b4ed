package cpu

import (
	"context"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/affine"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/wire"
)

const (
	keyStretch    = 1 << 16 // products between two calls of emit
	encodeStretch = 1 << 10 // points that one goroutine encodes at a time
)

// NewKeyMaker returns a KeyMaker on the processor, with tables of up to 150 MB for about n1 products in G1 and n2 in G2.
func NewKeyMaker(ctx context.Context, n1, n2 int) (engine.KeyMaker, error) {
	_, _, base1, base2 := bls12381.Generators()
	m := &keyMaker{
		g1: products[fp.Element, *fp.Element]{size: wire.G1Size, encode: encodeG1},
		g2: products[bls12381.E2, *bls12381.E2]{size: wire.G2Size, encode: encodeG2},
	}
	var err error
	m.g1.table, err = affine.NewTable[fp.Element](ctx, affine.FromG1([]bls12381.G1Affine{base1})[0], n1)
	if err != nil {
		return nil, err
	}
	m.g2.table, err = affine.NewTable[bls12381.E2](ctx, affine.FromG2([]bls12381.G2Affine{base2})[0], n2)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// keyMaker implements engine.KeyMaker.
type keyMaker struct {
	g1 products[fp.Element, *fp.Element]
	g2 products[bls12381.E2, *bls12381.E2]
}

func (m *keyMaker) G1(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element, emit func([]byte) error) error {
	return m.g1.make(ctx, n, scalars, emit)
}

func (m *keyMaker) G1Powers(ctx context.Context, n int, x, scale fr.Element, emit func([]byte) error) error {
	next := scale
	powers := func(lo, hi int) []fr.Element {
		out := make([]fr.Element, hi-lo)
		for i := range out {
			out[i] = next
			next.Mul(&next, &x)
		}
		return out
	}
	return m.g1.make(ctx, n, powers, emit)
}

func (m *keyMaker) G2(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element, emit func([]byte) error) error {
	return m.g2.make(ctx, n, scalars, emit)
}

func (m *keyMaker) Close() error {
	*m = keyMaker{}
	return nil
}

// products makes encoded multiples of one point.
type products[E any, P affine.Field[E]] struct {
	table  *affine.Table[E, P] // nil once closed
	size   int                 // of an encoded point
	encode func(dst []byte, points []affine.Point[E]) []byte
	points []affine.Point[E]
	raw    []byte
}

func (p *products[E, P]) make(
	ctx context.Context, n int, scalars func(lo, hi int) []fr.Element, emit func([]byte) error,
) error {
	if p.table == nil {
		return engine.ErrClosed
	}
	if p.points == nil {
		p.points, p.raw = make([]affine.Point[E], keyStretch), make([]byte, keyStretch*p.size)
	}
	for lo := 0; lo < n; lo += keyStretch {
		hi := min(lo+keyStretch, n)
		if err := p.stretch(ctx, lo, hi, scalars(lo, hi)); err != nil {
			return err
		}
		if err := emit(p.raw[:(hi-lo)*p.size]); err != nil {
			return err
		}
	}
	return nil
}

// stretch makes products lo to hi−1.
func (p *products[E, P]) stretch(ctx context.Context, lo, hi int, scalars []fr.Element) error {
	if len(scalars) != hi-lo {
		return fmt.Errorf("cpu: %d factors, want %d to %d", len(scalars), lo, hi)
	}
	for i := range scalars {
		if scalars[i].IsZero() {
			return fmt.Errorf("cpu: factor %d is zero, its product at infinity", lo+i)
		}
	}
	points := p.points[:hi-lo]
	if err := p.table.Mul(ctx, points, scalars); err != nil {
		return err
	}
	return parallel.Ranges(ctx, len(points), encodeStretch, func(_, lo, hi int) error {
		p.encode(p.raw[lo*p.size:lo*p.size], points[lo:hi])
		return nil
	})
}

func encodeG1(dst []byte, points []affine.G1) []byte {
	for _, p := range affine.ToG1(points) {
		dst = wire.AppendG1(dst, &p)
	}
	return dst
}

func encodeG2(dst []byte, points []affine.G2) []byte {
	for _, p := range affine.ToG2(points) {
		dst = wire.AppendG2(dst, &p)
	}
	return dst
}
