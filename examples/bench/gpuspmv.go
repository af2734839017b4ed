package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/pce"
)

// spmv measures the evaluation of all rows of a circuit for a witness that is on the GPU.
func (b *gpuBench) spmv(ctx context.Context) error {
	src := b.flags.source
	in, err := src.read(ctx)
	if err != nil {
		return err
	}
	blank := blankOf(in.circuit())
	system, err := pce.Record(ctx, blank.Name(), blank.Synthesize, nil)
	if err != nil {
		return err
	}
	w, err := in.witness(ctx, 0, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", src.name(), err)
	}
	onCard, err := b.lib.LoadSystem(b.stream, b.arena, kernels.TablesOf(system))
	if err != nil {
		return err
	}
	witness, err := b.uploadWitness(w)
	if err != nil {
		return err
	}
	var rows [3]gpu.View[fr.Element]
	for m := range rows {
		if rows[m], err = room[fr.Element](b, system.FullRows()); err != nil {
			return err
		}
	}
	run := func() error { return onCard.Eval(b.stream, witness, rows[0], rows[1], rows[2]) }
	if err := run(); err != nil {
		return err
	}
	line := gpuLine{Circuit: system.Name()}
	if line.CheckOK, err = b.sameRows(ctx, system, w, rows); err != nil {
		return err
	}
	return b.measure(line, float64(system.FullRows()), run)
}

// uploadWitness brings a witness to the GPU, whose words of bits are half as long.
func (b *gpuBench) uploadWitness(w *pce.Witness) (a kernels.Assignment, err error) {
	words := make([]uint32, 0, 2*len(w.Bits))
	for _, x := range w.Bits {
		words = append(words, uint32(x), uint32(x>>32))
	}
	if a.Inputs, err = upload(b, w.Inputs); err != nil {
		return a, err
	}
	if a.Dense, err = upload(b, w.Dense); err != nil {
		return a, err
	}
	a.Bits, err = upload(b, words)
	return a, err
}

// sameRows compares all rows with what the processor makes of them.
func (b *gpuBench) sameRows(ctx context.Context, system *pce.System, w *pce.Witness,
	rows [3]gpu.View[fr.Element]) (bool, error) {
	var mu sync.Mutex // of the stream and of same
	same := true
	err := system.EvalTiles(ctx, w, func(first int, a, b3, c []fr.Element) error {
		mu.Lock()
		defer mu.Unlock()
		for m, want := range [][]fr.Element{a, b3, c} {
			got, err := download(b, rows[m].Slice(first, first+len(want)))
			if err != nil {
				return err
			}
			same = same && slices.Equal(got, want)
		}
		return nil
	})
	return same, err
}
