package main

import (
	"context"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/peerinputs"
)

// mul measures operations in the fields.
func (b *gpuBench) mul(ctx context.Context) error {
	n := b.device.Info().Multiprocessors * 2048
	limbs, err := randomLimbs(ctx, 2*n*2*fp.Limbs)
	if err != nil {
		return err
	}
	baseField := make([]fp.Element, 2*n)
	for i := range baseField {
		copy(baseField[i][:], limbs[i*fp.Limbs:])
	}
	extension := make([]bls12381.E2, 2*n)
	for i := range extension {
		copy(extension[i].A0[:], limbs[2*i*fp.Limbs:])
		copy(extension[i].A1[:], limbs[(2*i+1)*fp.Limbs:])
	}
	scalarField := make([]fr.Element, 2*n)
	for i := range scalarField {
		copy(scalarField[i][:], limbs[i*fr.Limbs:])
	}
	steps := []func() error{
		func() error {
			return measureChain(b, kernels.ChainFpMul, baseField, func(x, y *fp.Element) { x.Mul(x, y) })
		},
		func() error {
			return measureChain(b, kernels.ChainFpSqr, baseField, func(x, y *fp.Element) { x.Square(x).Add(x, y) })
		},
		func() error { // x·y − (x + y)·x = −x²
			return measureChain(b, kernels.ChainFpMulSub, baseField, func(x, _ *fp.Element) { x.Square(x).Neg(x) })
		},
		func() error {
			return measureChain(b, kernels.ChainFp2Mul, extension, func(x, y *bls12381.E2) { x.Mul(x, y) })
		},
		func() error {
			return measureChain(b, kernels.ChainFrMul, scalarField, func(x, y *fr.Element) { x.Mul(x, y) })
		},
		func() error { // (x + y)² − x
			return measureChain(b, kernels.ChainFrSqr, scalarField, func(x, y *fr.Element) {
				var sum fr.Element
				x.Sub(sum.Add(x, y).Square(&sum), x)
			})
		},
	}
	for _, step := range steps {
		if err := b.scoped(step); err != nil {
			return err
		}
	}
	return nil
}

// randomLimbs are n words with no byte above 15, so that numbers made of them are below either field's modulus.
func randomLimbs(ctx context.Context, n int) ([]uint64, error) {
	source, err := peerinputs.Uniform(ctx, 0, n/fr.Limbs)
	limbs := make([]uint64, 0, n)
	for i := range source {
		for _, w := range source[i] {
			limbs = append(limbs, w&0x0f0f0f0f0f0f0f0f)
		}
	}
	return limbs, err
}

// measureChain compares short chains of all elements with gnark-crypto's arithmetic, and measures long ones.
func measureChain[T comparable](b *gpuBench, c kernels.Chain, in []T, step func(x, y *T)) error {
	n := len(in) / 2
	from, err := upload(b, in)
	if err != nil {
		return err
	}
	to, err := room[T](b, n)
	if err != nil {
		return err
	}
	const short = 3
	if err := kernels.RunChain(b.lib, b.stream, c, to, from, short); err != nil {
		return err
	}
	got, err := download(b, to)
	if err != nil {
		return err
	}
	line := gpuLine{What: string(c), CheckOK: true}
	for i := range got {
		want := in[i]
		for range short {
			step(&want, &in[n+i])
		}
		line.CheckOK = line.CheckOK && got[i] == want
	}
	return b.measure(line, float64(n)*float64(*b.flags.rounds), func() error {
		return kernels.RunChain(b.lib, b.stream, c, to, from, *b.flags.rounds)
	})
}
