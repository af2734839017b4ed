package groth16

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/srs"
)

// draw returns blinding factors for proof number i. They come from the system's source of randomness, unless a test of
// this module has fixed them.
func draw(ctx context.Context, i int) (blinding.Factors, error) {
	if f, ok := blinding.Fixed(ctx, i); ok {
		return f, nil
	}
	var f blinding.Factors
	for f.R.IsZero() || f.S.IsZero() {
		_, errR := f.R.SetRandom()
		_, errS := f.S.SetRandom()
		if err := errors.Join(errR, errS); err != nil {
			return f, fmt.Errorf("random blinding factors: %w", err)
		}
	}
	return f, nil
}

// assemble makes the proof from the sums (circuits.md §9.4):
//
//	A = α + Σ zₖ·Aₖ + r·δ
//	B = β + Σ zₖ·Bₖ + s·δ                            in G2, and B₁ the same in G1
//	C = Σ zₖ·Lₖ + Σ hᵢ·Hᵢ + s·A + r·B₁ − r·s·δ
func assemble(vk *srs.VerifyingKey, p *engine.PartialSums, f blinding.Factors) (Proof, error) {
	r, s := f.R.BigInt(new(big.Int)), f.S.BigInt(new(big.Int))

	var a, b1, c, t bls12381.G1Jac
	t.FromAffine(&vk.DeltaG1)
	a.ScalarMultiplication(&t, r)
	a.AddMixed(&vk.AlphaG1)
	a.AddMixed(&p.A)
	b1.ScalarMultiplication(&t, s)
	b1.AddMixed(&vk.BetaG1)
	b1.AddMixed(&p.B1)

	var b, u bls12381.G2Jac
	u.FromAffine(&vk.DeltaG2)
	b.ScalarMultiplication(&u, s)
	b.AddMixed(&vk.BetaG2)
	b.AddMixed(&p.B2)

	rs := f.R
	rs.Mul(&rs, &f.S).Neg(&rs)
	c.ScalarMultiplication(&t, rs.BigInt(new(big.Int)))
	c.AddMixed(&p.L)
	c.AddMixed(&p.H)
	c.AddAssign(t.ScalarMultiplication(&a, s))
	c.AddAssign(t.ScalarMultiplication(&b1, r))

	var proof Proof
	proof.a.FromJacobian(&a)
	proof.b.FromJacobian(&b)
	proof.c.FromJacobian(&c)
	if !proof.complete() {
		return Proof{}, errors.New("assembled point at infinity")
	}
	return proof, nil
}
