package main

import (
	"context"
	"errors"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/peerinputs"
)

// keySections are the sections of a key in the shape of prove: as many points, each a product of the generator with a scalar
// that the secrets determine, affine in the GPU's memory. Of the constraint system it is assumed that variable i occurs in
// row i of A, B and C alone, so that its scalars are multiples of the i-th Lagrange coefficient at τ.
type keySections struct {
	h, l, a, b1 gpu.View[bls12381.G1Affine]
	b2          gpu.View[bls12381.G2Affine]
}

// keyCase has what a key is made from and its room.
type keyCase struct {
	log, aux, inA, inB int
	tau, scaleH        fr.Element // h is scaleH·τ^i, with scaleH = (τ^n − 1)/δ
	scaleL             fr.Element // (α + β + 1)/δ
	tables             *kernels.NTT
	powers, lagrange   gpu.View[fr.Element]
	sections           keySections
}

// key measures the making of a key, from the secrets to all sections.
func (b *gpuBench) key(ctx context.Context) error {
	return b.eachLog(func(log int) error {
		c, err := b.newKeyCase(log)
		if err != nil {
			return err
		}
		run := func() error { return b.scoped(func() error { return b.makeKey(c) }) }
		if err := run(); err != nil {
			return err
		}
		line := gpuLine{What: "key", Log: &log}
		if line.CheckOK, err = b.rightKey(ctx, c); err != nil {
			return err
		}
		points := 1<<log - 1 + c.aux + c.inA + 2*c.inB
		return b.measure(line, float64(points), run)
	})
}

// newKeyCase takes the room of the key and of its scalars.
func (b *gpuBench) newKeyCase(log int) (c *keyCase, err error) {
	n := 1 << log
	aux := n - n/32 - proveInputs
	inA, inB := int(proveADensity*float64(aux))+proveInputs, int(proveBDensity*float64(aux))+1
	c = &keyCase{log: log, aux: aux, inA: inA, inB: inB}
	if _, err := c.tau.SetRandom(); err != nil {
		return nil, err
	}
	delta := fr.NewElement(proveDelta)
	delta.Inverse(&delta)
	c.scaleH = peerinputs.Vanishing(log, c.tau)
	c.scaleH.Mul(&c.scaleH, &delta)
	c.scaleL.SetUint64(proveAlpha + proveBeta + 1)
	c.scaleL.Mul(&c.scaleL, &delta)
	if c.tables, err = kernels.NewNTT(b.lib, b.stream, b.arena); err != nil {
		return nil, err
	}
	for _, v := range []*gpu.View[fr.Element]{&c.powers, &c.lagrange} {
		if *v, err = room[fr.Element](b, n); err != nil {
			return nil, err
		}
	}
	for _, s := range []struct {
		to *gpu.View[bls12381.G1Affine]
		n  int
	}{{&c.sections.h, n - 1}, {&c.sections.l, aux}, {&c.sections.a, c.inA}, {&c.sections.b1, c.inB}} {
		if *s.to, err = room[bls12381.G1Affine](b, s.n); err != nil {
			return nil, err
		}
	}
	c.sections.b2, err = room[bls12381.G2Affine](b, c.inB)
	return c, err
}

// makeKey makes the tables of multiples, the scalars and all products.
func (b *gpuBench) makeKey(c *keyCase) error {
	t1, err := groupG1().table(b, fixedWindow[bls12381.G1Affine](b, 3<<c.log))
	if err != nil {
		return err
	}
	t2, err := groupG2().table(b, fixedWindow[bls12381.G2Affine](b, c.inB))
	if err != nil {
		return err
	}
	mul := func(to gpu.View[bls12381.G1Affine], scalars gpu.View[fr.Element]) error {
		return t1.Mul(b.stream, b.arena, to, scalars.Slice(0, to.Len()), true)
	}
	if err := b.makeLagrange(c, fr.One()); err != nil {
		return err
	}
	if err := errors.Join(mul(c.sections.a, c.lagrange), mul(c.sections.b1, c.lagrange)); err != nil {
		return err
	}
	if err := t2.Mul(b.stream, b.arena, c.sections.b2, c.lagrange.Slice(0, c.inB), true); err != nil {
		return err
	}
	if err := b.makeLagrange(c, c.scaleL); err != nil {
		return err
	}
	if err := mul(c.sections.l, c.lagrange); err != nil {
		return err
	}
	if err := b.lib.Powers(b.stream, c.powers, c.tau, c.scaleH, 0); err != nil {
		return err
	}
	return mul(c.sections.h, c.powers)
}

// makeLagrange makes the Lagrange coefficients at τ times scale: the inverse transform of scale·τ^i. It uses up powers.
func (b *gpuBench) makeLagrange(c *keyCase, scale fr.Element) error {
	if err := b.lib.Powers(b.stream, c.powers, c.tau, scale, 0); err != nil {
		return err
	}
	return c.tables.Run(b.stream, kernels.Transform{LogN: c.log, Inverse: true}, c.lagrange, c.powers)
}

// rightKey compares a random combination of each section's points with its closed form.
func (b *gpuBench) rightKey(ctx context.Context, c *keyCase) (bool, error) {
	weights, err := peerinputs.Uniform(ctx, 1, 1<<c.log)
	if err != nil {
		return false, err
	}
	if err := peerinputs.ToElements(ctx, weights); err != nil {
		return false, err
	}
	right := true
	err = b.scoped(func() error {
		onCard, err := upload(b, weights)
		if err != nil {
			return err
		}
		h, err := peerinputs.Evaluate(ctx, weights[:c.sections.h.Len()], c.tau)
		if err != nil {
			return err
		}
		if right, err = combines(b, groupG1(), c.sections.h, onCard, h.Mul(&h, &c.scaleH)); err != nil {
			return err
		}
		for _, s := range []struct {
			points gpu.View[bls12381.G1Affine]
			scale  fr.Element
		}{{c.sections.l, c.scaleL}, {c.sections.a, fr.One()}, {c.sections.b1, fr.One()}} {
			v, err := peerinputs.Interpolate(ctx, weights[:s.points.Len()], c.log, c.tau)
			if err != nil {
				return err
			}
			ok, err := combines(b, groupG1(), s.points, onCard, v.Mul(&v, &s.scale))
			if err != nil {
				return err
			}
			right = right && ok
		}
		v, err := peerinputs.Interpolate(ctx, weights[:c.inB], c.log, c.tau)
		if err != nil {
			return err
		}
		ok, err := combines(b, groupG2(), c.sections.b2, onCard, &v)
		right = right && ok
		return err
	})
	return right, err
}

// combines tells whether the sum of the points times their weights is k·G.
func combines[A kernels.Point](b *gpuBench, g *group[A], points gpu.View[A], weights gpu.View[fr.Element],
	k *fr.Element) (bool, error) {
	sum, err := g.msm(b, points, weights.Slice(0, points.Len()), kernels.MSMOptions{Montgomery: true})
	return sum == g.times(k.BigInt(new(big.Int))), err
}
