package main

import (
	"bytes"
	"context"
	"slices"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
)

// mostDistinct bounds how many different points are made on the host where the kernels do not care about repetitions.
const mostDistinct = 1 << 20

// decode measures the encoding and decoding of points, and the check of their order.
func (b *gpuBench) decode(ctx context.Context) error {
	return b.eachLog(func(log int) error {
		if b.inG2() {
			return measureCoding(ctx, b, groupG2(), log)
		}
		return measureCoding(ctx, b, groupG1(), log)
	})
}

// coding is what is on the GPU while the coding of points is measured.
type coding[A kernels.Point] struct {
	*gpuBench
	g        *group[A]
	log      int
	distinct []A    // repeated until there are 2^log
	encoded  []byte // of distinct

	points, decoded gpu.View[A]
	raw             gpu.View[byte]
	place           gpu.View[uint32]
	fault           gpu.View[uint64]
}

func measureCoding[A kernels.Point](ctx context.Context, b *gpuBench, g *group[A], log int) error {
	c := &coding[A]{gpuBench: b, g: g, log: log}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	lib, s, none := b.lib, b.stream, gpu.View[uint32]{}
	straight, swapped := c.decodedRight(0), c.decodedRight(c.swap())
	for _, x := range []struct {
		what string
		run  func() error
		ok   func() (bool, error)
	}{
		{"encode", func() error { return g.encode(lib, s, c.raw, c.points) }, c.encodedRight},
		{"decode", func() error { return g.decode(lib, s, c.decoded, c.raw, none, 0, c.fault) }, straight},
		{"decode to places", func() error { return g.decode(lib, s, c.decoded, c.raw, c.place, 0, c.fault) }, swapped},
		{"subgroup", func() error { return g.check(lib, s, c.decoded, 0, c.fault) }, swapped},
	} {
		if err := x.run(); err != nil {
			return err
		}
		ok, err := x.ok()
		if err != nil {
			return err
		}
		line := gpuLine{What: x.what, Group: g.name, Log: &log, CheckOK: ok}
		if err := b.measure(line, float64(c.points.Len()), x.run); err != nil {
			return err
		}
	}
	return nil
}

// swap is what the places differ in from the points' numbers.
func (c *coding[A]) swap() int { return 0x55 & (1<<c.log - 1) }

func (c *coding[A]) prepare(ctx context.Context) (err error) {
	n := 1 << c.log
	if c.distinct, err = c.g.multiples(ctx, min(n, mostDistinct)); err != nil {
		return err
	}
	c.encoded = encodeAll(c.g, c.distinct)
	if c.points, err = room[A](c.gpuBench, n); err != nil {
		return err
	}
	if c.decoded, err = room[A](c.gpuBench, n); err != nil {
		return err
	}
	if c.raw, err = room[byte](c.gpuBench, n/len(c.distinct)*len(c.encoded)); err != nil {
		return err
	}
	for lo := 0; lo < n; lo += len(c.distinct) {
		if err := gpu.UploadSlice(c.stream, c.points.Slice(lo, lo+len(c.distinct)), c.distinct); err != nil {
			return err
		}
	}
	places := make([]uint32, n)
	for i := range places {
		places[i] = uint32(i ^ c.swap())
	}
	if c.place, err = upload(c.gpuBench, places); err != nil {
		return err
	}
	c.fault, err = upload(c.gpuBench, []uint64{kernels.NoFault})
	return err
}

func (c *coding[A]) encodedRight() (bool, error) {
	for lo := 0; lo < c.raw.Len(); lo += len(c.encoded) {
		got, err := download(c.gpuBench, c.raw.Slice(lo, lo+len(c.encoded)))
		if err != nil || !bytes.Equal(got, c.encoded) {
			return false, err
		}
	}
	return true, nil
}

// decodedRight looks for the points at their places, and that none of them was refused.
func (c *coding[A]) decodedRight(swap int) func() (bool, error) {
	return func() (bool, error) {
		want := c.distinct
		if swap != 0 {
			want = make([]A, len(c.distinct))
			for i := range want {
				want[i^swap] = c.distinct[i]
			}
		}
		for lo := 0; lo < c.decoded.Len(); lo += len(want) {
			got, err := download(c.gpuBench, c.decoded.Slice(lo, lo+len(want)))
			if err != nil || !slices.Equal(got, want) {
				return false, err
			}
		}
		fault, err := download(c.gpuBench, c.fault)
		return err == nil && fault[0] == kernels.NoFault, err
	}
}

// encodeAll encodes points on the host.
func encodeAll[A kernels.Point](g *group[A], points []A) []byte {
	var raw []byte
	for i := range points {
		raw = append(raw, g.raw(&points[i])...)
	}
	return raw
}

// encodedMultiples are the encodings of (i+1)·G for i below n.
func encodedMultiples[A kernels.Point](ctx context.Context, g *group[A], n int) ([]byte, error) {
	points, err := g.multiples(ctx, n)
	return encodeAll(g, points), err
}
