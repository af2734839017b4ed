package groth16

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/parallel"
)

// coefficientBytes is the size of the random coefficients: a batch with a false proof passes with
// probability 2^−128.
const coefficientBytes = 16

// millerStretch is how many pairs share one Miller loop. More would save little.
const millerStretch = 64

// VerifyBatch checks proofs[j] against publicInputs[j] for all j under one key, several times faster than
// one by one (circuits.md §9.8). With random zⱼ of 128 bits it tests
//
//	Π e(zⱼ·Aⱼ, Bⱼ) = e(α, β)^Σzⱼ · e(Σzⱼ·IC₀ + Σᵢ(Σⱼ zⱼ·xⱼᵢ)·ICᵢ₊₁, γ) · e(Σ zⱼ·Cⱼ, δ)
//
// It returns nil if all hold, and ErrEmpty if there are none. Otherwise the proofs are checked one by one, and the error is a
// *ProofIndexError that names the first bad one. random gives the coefficients; nil means crypto/rand. It uses all
// processors and returns context.Cause(ctx) if ctx ends first.
func VerifyBatch(ctx context.Context, vk *VerifyingKey, proofs []Proof, publicInputs [][]fr.Element, random io.Reader) error {
	if len(proofs) != len(publicInputs) {
		return fmt.Errorf("%w: lists for %d proofs, want %d", ErrInputs, len(publicInputs), len(proofs))
	}
	if len(proofs) == 0 {
		return ErrEmpty
	}
	for j := range proofs {
		if err := vk.accepts(&proofs[j], publicInputs[j]); err != nil {
			return &ProofIndexError{Index: j, Err: err}
		}
	}
	if len(proofs) > 1 {
		ok, err := vk.prepared().holdsForAll(ctx, proofs, publicInputs, random)
		if ok || err != nil {
			return err
		}
	}
	return verifyEach(ctx, vk, proofs, publicInputs)
}

// verifyEach returns the error of the first proof that does not hold.
func verifyEach(ctx context.Context, vk *VerifyingKey, proofs []Proof, publicInputs [][]fr.Element) error {
	errs := make([]error, len(proofs))
	err := parallel.Ranges(ctx, len(proofs), 1, func(_, j, _ int) error {
		errs[j] = Verify(vk, proofs[j], publicInputs[j])
		return nil
	})
	if err != nil {
		return err
	}
	for j, err := range errs {
		if err != nil {
			return &ProofIndexError{Index: j, Err: err}
		}
	}
	return nil
}

func (k *preparedKey) holdsForAll(ctx context.Context, proofs []Proof, inputs [][]fr.Element, random io.Reader) (bool, error) {
	z, err := coefficients(len(proofs), random)
	if err != nil {
		return false, err
	}
	product, err := loopOfPairs(ctx, proofs, z)
	if err != nil {
		return false, err
	}
	c := make([]bls12381.G1Affine, len(proofs))
	for j := range proofs {
		c[j] = proofs[j].c
	}
	var sumC bls12381.G1Affine
	if _, err := sumC.MultiExp(c, z, ecc.MultiExpConfig{}); err != nil {
		return false, fmt.Errorf("groth16: verify batch: %w", err)
	}
	sumIC, sumZ, err := k.weightedInputs(ctx, inputs, z)
	if err != nil {
		return false, err
	}
	fixed, err := k.fixedLoop(sumIC, sumC)
	if err != nil {
		return false, fmt.Errorf("groth16: verify batch: %w", err)
	}
	var want bls12381.GT
	want.Exp(k.alphaBeta, sumZ.BigInt(new(big.Int)))
	got := bls12381.FinalExponentiation(&product, &fixed)
	return got.Equal(&want), nil
}

// coefficients reads n random numbers of 128 bits other than 0.
func coefficients(n int, random io.Reader) ([]fr.Element, error) {
	if random == nil {
		random = rand.Reader
	}
	z := make([]fr.Element, n)
	b := make([]byte, n*coefficientBytes)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, fmt.Errorf("groth16: verify batch: random coefficients: %w", err)
	}
	for j := range z {
		z[j].SetBytes(b[j*coefficientBytes : (j+1)*coefficientBytes])
		if z[j].IsZero() {
			return nil, errors.New("groth16: verify batch: random coefficient is 0; the source of randomness is broken")
		}
	}
	return z, nil
}

// loopOfPairs is the Miller loop of Π e(zⱼ·Aⱼ, Bⱼ).
func loopOfPairs(ctx context.Context, proofs []Proof, z []fr.Element) (bls12381.GT, error) {
	stretches := (len(proofs) + millerStretch - 1) / millerStretch
	parts := make([]bls12381.GT, stretches)
	err := parallel.Ranges(ctx, len(proofs), millerStretch, func(_, lo, hi int) error {
		a := make([]bls12381.G1Affine, hi-lo)
		b := make([]bls12381.G2Affine, hi-lo)
		var k big.Int
		for i := range a {
			a[i].ScalarMultiplication(&proofs[lo+i].a, z[lo+i].BigInt(&k))
			b[i] = proofs[lo+i].b
		}
		var err error
		parts[lo/millerStretch], err = bls12381.MillerLoop(a, b)
		return err
	})
	var product bls12381.GT
	product.SetOne()
	for i := range parts {
		product.Mul(&product, &parts[i])
	}
	return product, err
}

// weightedInputs returns Σzⱼ·IC₀ + Σᵢ(Σⱼ zⱼ·xⱼᵢ)·ICᵢ₊₁ and Σzⱼ.
func (k *preparedKey) weightedInputs(ctx context.Context, inputs [][]fr.Element, z []fr.Element) (bls12381.G1Affine, fr.Element, error) {
	x := make([]fr.Element, len(k.ic)-1)
	err := parallel.Ranges(ctx, len(x), 256, func(_, lo, hi int) error {
		var term fr.Element
		for j := range inputs {
			for i := lo; i < hi; i++ {
				x[i].Add(&x[i], term.Mul(&z[j], &inputs[j][i]))
			}
		}
		return nil
	})
	if err != nil {
		return bls12381.G1Affine{}, fr.Element{}, err
	}
	var sumZ fr.Element
	for j := range z {
		sumZ.Add(&sumZ, &z[j])
	}
	var start bls12381.G1Jac
	start.FromAffine(&k.ic[0])
	start.ScalarMultiplication(&start, sumZ.BigInt(new(big.Int)))
	return k.addInputs(start, x), sumZ, nil
}
