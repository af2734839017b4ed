package main

import (
	"context"
	"math/big"
	"math/bits"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/peerinputs"
)

// ntt measures transforms of vectors that stay on the GPU.
func (b *gpuBench) ntt(ctx context.Context) error {
	tables, err := kernels.NewNTT(b.lib, b.stream, b.arena)
	if err != nil {
		return err
	}
	return b.eachLog(func(log int) error { return b.transforms(ctx, tables, log) })
}

// transform is a transform to measure. One whose result is not known already is compared with values of the polynomial.
type transform struct {
	what     string
	tr       kernels.Transform
	inPlace  bool
	in, want *[]fr.Element // an empty want gets the result
}

// transforms measures what proofs use, and the plain transform both ways.
func (b *gpuBench) transforms(ctx context.Context, tables *kernels.NTT, log int) error {
	x, err := peerinputs.Uniform(ctx, 0, 1<<log)
	if err != nil {
		return err
	}
	if err := peerinputs.ToElements(ctx, x); err != nil {
		return err
	}
	reversed := make([]fr.Element, len(x))
	for i := range x {
		reversed[bits.Reverse64(uint64(i))>>(64-log)] = x[i]
	}
	var forward, coset []fr.Element
	for _, c := range []transform{
		{"forward NN", kernels.Transform{}, false, &x, &forward},
		{"forward NN in place", kernels.Transform{}, true, &x, &forward},
		{"inverse NN in place", kernels.Transform{Inverse: true}, true, &forward, &x},
		{"inverse NR in place", kernels.Transform{Inverse: true, Out: kernels.Reversed}, true, &forward, &reversed},
		{"coset forward RN in place", kernels.Transform{Coset: true, In: kernels.Reversed}, true, &reversed, &coset},
		{"coset inverse NN", kernels.Transform{Coset: true, Inverse: true}, false, &coset, &x},
	} {
		c.tr.LogN = log
		if err := b.scoped(func() error { return b.transform(ctx, tables, c, x) }); err != nil {
			return err
		}
	}
	return nil
}

// transform measures one transform. x are the coefficients of the polynomial.
func (b *gpuBench) transform(ctx context.Context, tables *kernels.NTT, c transform, x []fr.Element) error {
	from, err := upload(b, *c.in)
	if err != nil {
		return err
	}
	to := from
	if !c.inPlace {
		if to, err = room[fr.Element](b, from.Len()); err != nil {
			return err
		}
	}
	if err := tables.Run(b.stream, c.tr, to, from); err != nil {
		return err
	}
	got, err := download(b, to)
	if err != nil {
		return err
	}
	line := gpuLine{What: c.what, Log: &c.tr.LogN}
	if line.Check, err = peerinputs.Hash(ctx, got); err != nil {
		return err
	}
	if len(*c.want) > 0 {
		line.CheckOK = slices.Equal(got, *c.want)
	} else {
		*c.want = got
		if line.CheckOK, err = areValues(ctx, got, x, c.tr); err != nil {
			return err
		}
	}
	return b.measure(line, 0, func() error { return tables.Run(b.stream, c.tr, to, from) })
}

// areValues compares four of the values with the polynomial that has the coefficients x.
func areValues(ctx context.Context, values, x []fr.Element, tr kernels.Transform) (bool, error) {
	n := len(values)
	shift := fr.One()
	if tr.Coset {
		shift.SetUint64(7)
	}
	for _, k := range []int{0, n / 3, n / 2, n - 1} {
		at := peerinputs.Root(tr.LogN)
		at.Exp(at, big.NewInt(int64(k))).Mul(&at, &shift)
		want, err := peerinputs.Evaluate(ctx, x, at)
		if err != nil || values[k] != want {
			return false, err
		}
	}
	return true, nil
}

// quotient measures the check of rows and the quotient, with the rows of prove.
func (b *gpuBench) quotient(ctx context.Context) error {
	tables, err := kernels.NewNTT(b.lib, b.stream, b.arena)
	if err != nil {
		return err
	}
	return b.eachLog(func(log int) error { return b.measureQuotient(ctx, tables, log) })
}

func (b *gpuBench) measureQuotient(ctx context.Context, tables *kernels.NTT, log int) error {
	rows, err := newProveRows(ctx, log)
	if err != nil {
		return err
	}
	v, err := b.uploadRows(rows, log)
	if err != nil {
		return err
	}
	first, err := room[uint32](b, 1)
	if err != nil {
		return err
	}
	unequal := func() error { return b.lib.FirstUnequal(b.stream, first, v[0], v[1], v[2]) }
	if err := unequal(); err != nil {
		return err
	}
	found, err := download(b, first)
	if err != nil {
		return err
	}
	line := gpuLine{What: "rows checked", Log: &log, CheckOK: found[0] == ^uint32(0)}
	if err := b.measure(line, 0, unequal); err != nil {
		return err
	}
	h, ok, err := b.quotientOf(ctx, tables, rows, log, v)
	if err != nil {
		return err
	}
	line = gpuLine{What: "quotient", Log: &log, CheckOK: ok}
	if line.Check, err = peerinputs.Hash(ctx, h); err != nil {
		return err
	}
	return b.measure(line, 0, func() error { return tables.Quotient(b.stream, log, v[0], v[1], v[2]) })
}

// uploadRows brings rows to the GPU, with zeros after them.
func (b *gpuBench) uploadRows(rows *proveRows, log int) (v [3]gpu.View[fr.Element], err error) {
	for m, from := range [][]fr.Element{rows.a, rows.b, rows.c} {
		if v[m], err = room[fr.Element](b, 1<<log); err != nil {
			return v, err
		}
		if err = gpu.UploadSlice(b.stream, v[m].Slice(0, len(from)), from); err != nil {
			return v, err
		}
		if err = gpu.Fill(b.stream, v[m].Slice(len(from), 1<<log), 0); err != nil {
			return v, err
		}
	}
	return v, nil
}

// quotientOf is the quotient of rows that are on the GPU, which it uses up, and tells whether it is right: whether
// h·(x^n − 1) = A·B − C at a point.
func (b *gpuBench) quotientOf(ctx context.Context, tables *kernels.NTT, rows *proveRows, log int,
	v [3]gpu.View[fr.Element]) (h []fr.Element, ok bool, err error) {
	if err := tables.Quotient(b.stream, log, v[0], v[1], v[2]); err != nil {
		return nil, false, err
	}
	if h, err = download(b, v[1]); err != nil {
		return nil, false, err
	}
	x := peerinputs.Element(peerinputs.Scalar(3, 3))
	left, err := peerinputs.Evaluate(ctx, h, x)
	if err != nil {
		return nil, false, err
	}
	var at [3]fr.Element
	for m, values := range [][]fr.Element{rows.a, rows.b, rows.c} {
		if at[m], err = peerinputs.Interpolate(ctx, values, log, x); err != nil {
			return nil, false, err
		}
	}
	z := peerinputs.Vanishing(log, x)
	left.Mul(&left, &z)
	var right fr.Element
	right.Mul(&at[0], &at[1]).Sub(&right, &at[2])
	return h, left == right && h[len(h)-1].IsZero(), nil
}
