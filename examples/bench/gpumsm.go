package main

import (
	"context"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/peerinputs"
)

// msm measures multi-scalar multiplications of points and scalars in the GPU's memory.
func (b *gpuBench) msm(ctx context.Context) error {
	return b.eachLog(func(log int) error {
		if b.inG2() {
			return measureMSM(ctx, b, groupG2(), log)
		}
		return measureMSM(ctx, b, groupG1(), log)
	})
}

// measureMSM compares the sum with its closed form.
func measureMSM[A kernels.Point](ctx context.Context, b *gpuBench, g *group[A], log int) error {
	points, err := g.multiples(ctx, 1<<log)
	if err != nil {
		return err
	}
	var plain []fr.Element
	if *b.flags.scalars == "filecoin" {
		plain, err = peerinputs.Filecoin(ctx, 1<<log)
	} else {
		plain, err = peerinputs.Uniform(ctx, 0, 1<<log)
	}
	if err != nil {
		return err
	}
	factor, err := plainSum(ctx, plain, func(i int) int64 { return int64(i + 1) })
	if err != nil {
		return err
	}
	onCard, err := upload(b, points)
	if err != nil {
		return err
	}
	scalars, err := upload(b, plain)
	if err != nil {
		return err
	}
	options := kernels.MSMOptions{WindowBits: *b.flags.window}
	sum, err := g.msm(b, onCard, scalars, options)
	if err != nil {
		return err
	}
	line := gpuLine{
		Group: g.name, Scalars: *b.flags.scalars, Log: &log, Window: options.WindowBits,
		Check: g.hex(&sum), CheckOK: sum == g.times(factor),
	}
	return b.measure(line, 0, func() error {
		_, err := g.msm(b, onCard, scalars, options)
		return err
	})
}

// bits measures sums of the points whose bit is set.
func (b *gpuBench) bits(ctx context.Context) error {
	return b.eachLog(func(log int) error {
		if b.inG2() {
			return measureBits(ctx, b, groupG2(), log)
		}
		return measureBits(ctx, b, groupG1(), log)
	})
}

// bitsTag is the tag of the scalars whose bits are taken, four words of 64 in a row.
const bitsTag = 77

// measureBits compares the sum with its closed form. Half of the bits are set, but for the highest of each scalar.
func measureBits[A kernels.Point](ctx context.Context, b *gpuBench, g *group[A], log int) error {
	n := 1 << log
	points, err := g.multiples(ctx, n)
	if err != nil {
		return err
	}
	source, err := peerinputs.Uniform(ctx, bitsTag, (n+255)/256)
	if err != nil {
		return err
	}
	words, factor := make([]uint32, n/32), int64(0)
	for i := range words {
		words[i] = uint32(source[i/8][i%8/2] >> (32 * (i % 2)))
		for k := range 32 {
			factor += int64(words[i]>>k&1) * int64(32*i+k+1)
		}
	}
	onCard, err := upload(b, points)
	if err != nil {
		return err
	}
	bits, err := upload(b, words)
	if err != nil {
		return err
	}
	sum, err := g.bits(b, onCard, bits)
	if err != nil {
		return err
	}
	line := gpuLine{Group: g.name, Log: &log, Check: g.hex(&sum), CheckOK: sum == g.times(big.NewInt(factor))}
	return b.measure(line, 0, func() error {
		_, err := g.bits(b, onCard, bits)
		return err
	})
}
