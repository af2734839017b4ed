package groth16

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/pce"
)

// queries are the factors of a key's points (circuits.md §9.3).
type queries struct {
	ic, l, a, b []fr.Element
	lenH        int
	step        fr.Element // (τ^m − 1)/δ; the factors of H are step·τ^i
}

func newQueries(ctx context.Context, system *pce.System, s *Secrets) (*queries, error) {
	rows := system.FullRows()
	logM := bits.Len(uint(rows - 1)) // the smallest domain with a point for each row
	m := 1 << logM
	vanishing, err := vanishingAt(&s.Tau, logM)
	if err != nil {
		return nil, err
	}
	weights, err := lagrange(ctx, &s.Tau, &vanishing, logM, rows)
	if err != nil {
		return nil, err
	}
	columns, err := system.Transpose(ctx, weights)
	if err != nil {
		return nil, err
	}
	var gammaInv, deltaInv fr.Element
	gammaInv.Inverse(&s.Gamma)
	deltaInv.Inverse(&s.Delta)
	q := &queries{lenH: m - 1}
	q.step.Mul(&vanishing, &deltaInv)
	if q.ic, err = s.combine(ctx, "public input", columns.A.Inputs, columns.B.Inputs, columns.C.Inputs, &gammaInv); err != nil {
		return nil, err
	}
	if q.l, err = s.combine(ctx, "private variable", columns.A.Aux, columns.B.Aux, columns.C.Aux, &deltaInv); err != nil {
		return nil, err
	}
	q.a = withoutZeros(&columns.A)
	q.b = withoutZeros(&columns.B)
	return q, nil
}

// vanishingAt returns τ^m − 1.
func vanishingAt(tau *fr.Element, logM int) (fr.Element, error) {
	t := *tau
	for range logM {
		t.Square(&t)
	}
	one := fr.One()
	if t.Sub(&t, &one); t.IsZero() {
		return t, errors.New("secret tau is a root of unity of the domain's order")
	}
	return t, nil
}

// lagrange returns, for the first n points ω^i of a domain of size m, the value at τ of the polynomial that is 1 there and 0
// at the others: (τ^m − 1)/m · ω^i/(τ − ω^i).
func lagrange(ctx context.Context, tau, vanishing *fr.Element, logM, n int) ([]fr.Element, error) {
	omega, err := fft.Generator(1 << logM)
	if err != nil {
		return nil, err
	}
	var scale fr.Element
	scale.SetUint64(1<<logM).Inverse(&scale).Mul(&scale, vanishing)
	out := make([]fr.Element, n)
	err = parallel.Ranges(ctx, n, 1<<13, func(_, lo, hi int) error {
		var point, factor fr.Element
		point.Exp(omega, big.NewInt(int64(lo)))
		factor.Mul(&point, &scale)
		distance := make([]fr.Element, hi-lo)
		for i := range distance {
			out[lo+i] = factor
			distance[i].Sub(tau, &point)
			point.Mul(&point, &omega)
			factor.Mul(&factor, &omega)
		}
		for i, inv := range fr.BatchInvert(distance) {
			out[lo+i].Mul(&out[lo+i], &inv)
		}
		return nil
	})
	return out, err
}

// combine returns (β·a + α·b + c)·inv for each variable. A variable that gives zero is in no row; the reference
// refuses it, because its point would be at infinity.
func (s *Secrets) combine(ctx context.Context, what string, a, b, c []fr.Element, inv *fr.Element) ([]fr.Element, error) {
	out := make([]fr.Element, len(a))
	err := parallel.Ranges(ctx, len(out), 1<<13, func(_, lo, hi int) error {
		var t fr.Element
		for i := lo; i < hi; i++ {
			out[i].Mul(&s.Beta, &a[i])
			out[i].Add(&out[i], t.Mul(&s.Alpha, &b[i]))
			out[i].Add(&out[i], &c[i])
			if out[i].Mul(&out[i], inv); out[i].IsZero() {
				return fmt.Errorf("%s %d is in no row", what, i)
			}
		}
		return nil
	})
	return out, err
}

// withoutZeros is the column over inputs, then private variables: points at infinity are not in the file.
func withoutZeros(c *pce.Column) []fr.Element {
	out := make([]fr.Element, 0, len(c.Inputs)+len(c.Aux))
	for _, part := range [][]fr.Element{c.Inputs, c.Aux} {
		for i := range part {
			if !part[i].IsZero() {
				out = append(out, part[i])
			}
		}
	}
	return out
}
