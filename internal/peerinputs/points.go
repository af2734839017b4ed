package peerinputs

import (
	"context"
	"encoding/hex"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// strip is how many neighbouring points are stepped on together, with one inversion.
const strip = 1024

// G1Multiples is (i+1)·G for i below n.
func G1Multiples(ctx context.Context, n int) ([]bls12381.G1Affine, error) {
	_, _, gen, _ := bls12381.Generators()
	out := make([]bls12381.G1Affine, n)
	step := new(bls12381.G1Affine).ScalarMultiplication(&gen, big.NewInt(strip))
	return out, ranges(ctx, n, func(lo, hi int) {
		first := make([]bls12381.G1Jac, min(strip, hi-lo))
		j := new(bls12381.G1Jac).FromAffine(new(bls12381.G1Affine).ScalarMultiplication(&gen, big.NewInt(int64(lo+1))))
		for i := range first {
			first[i] = *j
			j.AddMixed(&gen)
		}
		copy(out[lo:], bls12381.BatchJacobianToAffineG1(first))
		for at := lo + strip; at < hi; at += strip {
			m := min(strip, hi-at)
			stepG1(out[at:at+m], out[at-strip:at-strip+m], step)
		}
	})
}

// stepG1 sets to[i] = from[i] + step.
func stepG1(to, from []bls12381.G1Affine, step *bls12381.G1Affine) {
	d := make([]fp.Element, len(to))
	for i := range d {
		d[i].Sub(&step.X, &from[i].X)
	}
	inv := fp.BatchInvert(d)
	for i := range to {
		if d[i].IsZero() { // the point is step itself, or its opposite
			to[i].Add(&from[i], step)
			continue
		}
		var l, x, y fp.Element
		l.Sub(&step.Y, &from[i].Y).Mul(&l, &inv[i])
		x.Square(&l).Sub(&x, &from[i].X).Sub(&x, &step.X)
		y.Sub(&from[i].X, &x).Mul(&y, &l).Sub(&y, &from[i].Y)
		to[i] = bls12381.G1Affine{X: x, Y: y}
	}
}

// G2Multiples is (i+1)·G for i below n.
func G2Multiples(ctx context.Context, n int) ([]bls12381.G2Affine, error) {
	_, _, _, gen := bls12381.Generators()
	out := make([]bls12381.G2Affine, n)
	return out, ranges(ctx, n, func(lo, hi int) {
		j := new(bls12381.G2Jac).FromAffine(new(bls12381.G2Affine).ScalarMultiplication(&gen, big.NewInt(int64(lo+1))))
		// One inversion for a strip: the points stay in Jacobian coordinates until then.
		for at := lo; at < hi; at += strip {
			m := min(strip, hi-at)
			js := make([]bls12381.G2Jac, m)
			z := make([]bls12381.E2, m)
			for i := range m {
				js[i], z[i] = *j, j.Z
				j.AddMixed(&gen)
			}
			inv := invertAll(z)
			for i := range m {
				var zz bls12381.E2
				zz.Square(&inv[i])
				out[at+i].X.Mul(&js[i].X, &zz)
				out[at+i].Y.Mul(&js[i].Y, zz.Mul(&zz, &inv[i]))
			}
		}
	})
}

// invertAll inverts values other than zero with one inversion.
func invertAll(z []bls12381.E2) []bls12381.E2 {
	out := make([]bls12381.E2, len(z))
	var acc bls12381.E2
	acc.SetOne()
	for i := range z {
		out[i] = acc
		acc.Mul(&acc, &z[i])
	}
	acc.Inverse(&acc)
	for i := len(z) - 1; i >= 0; i-- {
		out[i].Mul(&out[i], &acc)
		acc.Mul(&acc, &z[i])
	}
	return out
}

// G1Hex is a point compressed, as hex: the check value of sums.
func G1Hex(p *bls12381.G1Affine) string {
	b := p.Bytes()
	return hex.EncodeToString(b[:])
}

// G2Hex is G1Hex for points of G2.
func G2Hex(p *bls12381.G2Affine) string {
	b := p.Bytes()
	return hex.EncodeToString(b[:])
}
