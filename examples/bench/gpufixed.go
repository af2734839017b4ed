package main

import (
	"bytes"
	"context"
	"errors"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/peerinputs"
)

// fixed measures products of the generator: making the table, products on the GPU, and products that are brought to the host
// in the encoding of keys.
func (b *gpuBench) fixed(ctx context.Context) error {
	return b.eachLog(func(log int) error {
		scalars, err := peerinputs.Uniform(ctx, 0, 1<<log)
		if err != nil {
			return err
		}
		if err := peerinputs.ToElements(ctx, scalars); err != nil {
			return err
		}
		if b.inG2() {
			err = measureFixed(ctx, b, groupG2(), log, scalars)
		} else {
			err = measureFixed(ctx, b, groupG1(), log, scalars)
		}
		if err != nil {
			return err
		}
		return b.fixedStream(ctx, log, scalars)
	})
}

// fixedWindow is the width of windows of a table: that of the flags, or the best for n products.
func fixedWindow[A kernels.Point](b *gpuBench, n int) int {
	if *b.flags.window != 0 {
		return *b.flags.window
	}
	return kernels.TableBits[A](n, b.arena.Size()/8)
}

func measureFixed[A kernels.Point](ctx context.Context, b *gpuBench, g *group[A], log int, scalars []fr.Element) error {
	return b.scoped(func() error {
		window := fixedWindow[A](b, 1<<log)
		table, err := g.table(b, window)
		if err != nil {
			return err
		}
		factors, err := upload(b, scalars)
		if err != nil {
			return err
		}
		products, err := room[A](b, len(scalars))
		if err != nil {
			return err
		}
		run := func() error { return table.Mul(b.stream, b.arena, products, factors, true) }
		if err := run(); err != nil {
			return err
		}
		line := gpuLine{What: "products", Group: g.name, Log: &log, Window: window}
		// A sum of the products with other scalars has a closed form.
		weights, err := peerinputs.Uniform(ctx, 1, len(scalars))
		if err != nil {
			return err
		}
		onCard, err := upload(b, weights)
		if err != nil {
			return err
		}
		sum, err := g.msm(b, products, onCard, kernels.MSMOptions{})
		if err != nil {
			return err
		}
		var factor fr.Element
		for i := range scalars {
			var p fr.Element
			factor.Add(&factor, p.Mul(&scalars[i], &weights[i]))
		}
		line.Check, line.CheckOK = g.hex(&sum), sum == g.times(peerinputs.BigInt(factor))
		if err := b.measure(line, float64(len(scalars)), run); err != nil {
			return err
		}
		line = gpuLine{What: "table", Group: g.name, Log: &log, Window: window, CheckOK: line.CheckOK}
		return b.measure(line, 0, func() error {
			return b.scoped(func() error {
				_, err := g.table(b, window)
				return err
			})
		})
	})
}

// fixedStream measures everything from scalars of the host, or the base of powers, to encoded products on the host.
func (b *gpuBench) fixedStream(ctx context.Context, log int, scalars []fr.Element) (err error) {
	n := len(scalars)
	t1, err := groupG1().table(b, fixedWindow[bls12381.G1Affine](b, n))
	if err != nil {
		return err
	}
	t2, err := groupG2().table(b, fixedWindow[bls12381.G2Affine](b, n))
	if err != nil {
		return err
	}
	f, err := kernels.NewFixedBase(b.arena, t1, t2, min(n, kernels.DefaultStretch))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	given := func(lo, hi int) []fr.Element { return scalars[lo:hi] }
	if b.inG2() {
		return measureStream(b, groupG2(), gpuLine{What: "stream", Log: &log}, scalars, func(emit emitter) error {
			return f.G2(ctx, n, given, emit)
		})
	}
	err = measureStream(b, groupG1(), gpuLine{What: "stream", Log: &log}, scalars, func(emit emitter) error {
		return f.G1(ctx, n, given, emit)
	})
	if err != nil {
		return err
	}
	x, scale := scalars[0], scalars[1]
	line := gpuLine{What: "stream of powers", Log: &log}
	return measureStream(b, groupG1(), line, powersOf(x, scale, n), func(emit emitter) error {
		return f.G1Powers(ctx, n, x, scale, emit)
	})
}

// emitter takes encoded products.
type emitter = func([]byte) error

// powersOf are scale·x^i for i below n.
func powersOf(x, scale fr.Element, n int) []fr.Element {
	v := make([]fr.Element, n)
	for i := range v {
		v[i] = scale
		scale.Mul(&scale, &x)
	}
	return v
}

// streamSamples is about how many products of a stream are compared with gnark-crypto's.
const streamSamples = 256

// measureStream measures run, which works on streams of its own: the times are those of the calls, host included.
func measureStream[A kernels.Point](b *gpuBench, g *group[A], line gpuLine, scalars []fr.Element,
	run func(emit emitter) error) error {
	var out []byte
	err := run(func(encoded []byte) error {
		out = append(out, encoded...)
		return nil
	})
	if err != nil {
		return err
	}
	size := len(out) / len(scalars)
	line.Group, line.CheckOK = g.name, true
	for i := 0; i < len(scalars); i += max(1, len(scalars)/streamSamples) {
		want := g.times(scalars[i].BigInt(new(big.Int)))
		line.CheckOK = line.CheckOK && bytes.Equal(out[i*size:(i+1)*size], g.raw(&want))
	}
	return b.measure(line, float64(len(scalars)), func() error {
		return run(func([]byte) error { return nil })
	})
}
