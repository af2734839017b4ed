package main

import (
	"context"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/peerinputs"
)

// group is what measurements need of G1 or G2.
type group[A kernels.Point] struct {
	name      string
	multiples func(ctx context.Context, n int) ([]A, error) // (i+1)·G
	times     func(k *big.Int) A                            // k·G
	hex       func(*A) string
	raw       func(*A) []byte // uncompressed encoding

	msm   func(b *gpuBench, points gpu.View[A], scalars gpu.View[fr.Element], o kernels.MSMOptions) (A, error)
	bits  func(b *gpuBench, points gpu.View[A], bits gpu.View[uint32]) (A, error)
	table func(b *gpuBench, window int) (*kernels.Table[A], error)

	encode func(*kernels.Library, *gpu.Stream, gpu.View[byte], gpu.View[A]) error
	decode func(*kernels.Library, *gpu.Stream, gpu.View[A], gpu.View[byte], gpu.View[uint32], uint32, gpu.View[uint64]) error
	check  func(*kernels.Library, *gpu.Stream, gpu.View[A], uint32, gpu.View[uint64]) error
}

func groupG1() *group[bls12381.G1Affine] {
	type point = bls12381.G1Affine
	_, _, gen, _ := bls12381.Generators()
	return &group[point]{
		name:      "g1",
		multiples: peerinputs.G1Multiples,
		times:     func(k *big.Int) (p point) { return *p.ScalarMultiplication(&gen, k) },
		hex:       peerinputs.G1Hex,
		raw:       func(p *point) []byte { raw := p.RawBytes(); return raw[:] },
		msm: func(b *gpuBench, points gpu.View[point], scalars gpu.View[fr.Element], o kernels.MSMOptions) (p point, err error) {
			j, err := b.lib.G1MSM(b.stream, b.arena, points, scalars, o)
			return *p.FromJacobian(&j), err
		},
		bits: func(b *gpuBench, points gpu.View[point], bits gpu.View[uint32]) (p point, err error) {
			j, err := b.lib.G1Bits(b.stream, b.arena, points, bits, kernels.Selection{})
			return *p.FromJacobian(&j), err
		},
		table: func(b *gpuBench, window int) (*kernels.Table[point], error) {
			return kernels.NewG1Table(b.lib, b.stream, b.arena, &gen, window)
		},
		encode: (*kernels.Library).EncodeG1,
		decode: (*kernels.Library).DecodeG1,
		check:  (*kernels.Library).CheckSubgroupG1,
	}
}

func groupG2() *group[bls12381.G2Affine] {
	type point = bls12381.G2Affine
	_, _, _, gen := bls12381.Generators()
	return &group[point]{
		name:      "g2",
		multiples: peerinputs.G2Multiples,
		times:     func(k *big.Int) (p point) { return *p.ScalarMultiplication(&gen, k) },
		hex:       peerinputs.G2Hex,
		raw:       func(p *point) []byte { raw := p.RawBytes(); return raw[:] },
		msm: func(b *gpuBench, points gpu.View[point], scalars gpu.View[fr.Element], o kernels.MSMOptions) (p point, err error) {
			j, err := b.lib.G2MSM(b.stream, b.arena, points, scalars, o)
			return *p.FromJacobian(&j), err
		},
		bits: func(b *gpuBench, points gpu.View[point], bits gpu.View[uint32]) (p point, err error) {
			j, err := b.lib.G2Bits(b.stream, b.arena, points, bits, kernels.Selection{})
			return *p.FromJacobian(&j), err
		},
		table: func(b *gpuBench, window int) (*kernels.Table[point], error) {
			return kernels.NewG2Table(b.lib, b.stream, b.arena, &gen, window)
		},
		encode: (*kernels.Library).EncodeG2,
		decode: (*kernels.Library).DecodeG2,
		check:  (*kernels.Library).CheckSubgroupG2,
	}
}

// inG2 tells which group the flags name.
func (b *gpuBench) inG2() bool { return *b.flags.group == "g2" }

// plainSum is Σ sᵢ·kᵢ mod r as a number, for plain s.
func plainSum(ctx context.Context, s []fr.Element, k func(i int) int64) (*big.Int, error) {
	sum, err := peerinputs.Weighted(ctx, s, k)
	return peerinputs.BigInt(sum), err
}
