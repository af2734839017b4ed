package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"os"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/peerinputs"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// Labels and tags of the inputs of prove.
const (
	proveInputs = 328 // ONE included

	mixDense, mixA, mixB, mixOne                = 1, 2, 3, 16
	tagA, tagB, tagFactors, tagIn, tagZ         = 10, 11, 12, 100, 200
	proveAlpha, proveBeta                       = 2, 3
	proveGamma, proveDelta                      = 5, 7
	proveADensity, proveBDensity        float64 = 0.99, 0.25
)

// proveRows are the values of A, B and C in the rows, of which there are 31/32 of the domain.
type proveRows struct{ a, b, c []fr.Element }

func newProveRows(ctx context.Context, log int) (r *proveRows, err error) {
	n := 1<<log - 1<<log/32
	r = new(proveRows)
	for _, m := range []struct {
		tag uint32
		to  *[]fr.Element
	}{{tagA, &r.a}, {tagB, &r.b}} {
		if *m.to, err = peerinputs.Uniform(ctx, m.tag, n); err != nil {
			return nil, err
		}
		if err := peerinputs.ToElements(ctx, *m.to); err != nil {
			return nil, err
		}
	}
	r.c = make([]fr.Element, n)
	return r, parallel.Ranges(ctx, n, 1<<14, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			r.c[i].Mul(&r.a[i], &r.b[i])
		}
		return nil
	})
}

// proveCase is a made-up constraint system of the shape of Filecoin's, with a key of known multiples of the generators.
type proveCase struct {
	log      int
	distinct int // point i of each section is (i mod distinct + 1)·G
	rows     *proveRows
	layout   *pce.Layout
	witness  *pce.Witness
	inA, inB pce.Bitset
	r, s     fr.Element
}

func newProveCase(ctx context.Context, log int) (*proveCase, error) {
	rows, err := newProveRows(ctx, log)
	if err != nil {
		return nil, err
	}
	aux := len(rows.a) - proveInputs
	c := &proveCase{
		log: log, distinct: min(1<<log, mostDistinct), rows: rows,
		inA: chosen(aux, mixA, proveADensity), inB: chosen(aux, mixB, proveBDensity),
		r: element(tagFactors, 0), s: element(tagFactors, 1),
	}
	c.layout = &pce.Layout{
		Densities: pce.Densities{AAux: c.inA, BAux: c.inB, BInput: pce.NewBitset(proveInputs)},
		Digest:    sha256.Sum256(fmt.Appendf(nil, "prove 2^%d", log)),
	}
	c.layout.Densities.BInput.Set(0)
	c.witness = &pce.Witness{Layout: c.layout.Digest}
	for i := range proveInputs {
		c.witness.Inputs = append(c.witness.Inputs, element(tagIn, i))
	}
	c.witness.Inputs[0].SetOne()
	for i := range aux {
		if i%(1<<20) == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.add(i)
	}
	c.layout.Counts = pce.Counts{
		Rows: len(rows.a) - proveInputs, Inputs: proveInputs, Aux: aux, Bits: c.witness.NumBits, Dense: len(c.witness.Dense),
	}
	return c, nil
}

// element is a scalar as an element.
func element(tag uint32, i int) fr.Element { return peerinputs.Element(peerinputs.Scalar(tag, i)) }

// chosen is the set of those below n that a label chooses, with a share of about density.
func chosen(n int, label uint64, density float64) pce.Bitset {
	bound := uint64(density * (1 << 64))
	set := pce.NewBitset(n)
	for i := range n {
		if peerinputs.Mix(label, uint64(i)) < bound {
			set.Set(i)
		}
	}
	return set
}

// add appends private variable i.
func (c *proveCase) add(i int) {
	w := c.witness
	bit, first := peerinputs.Mix(mixDense, uint64(i))%1000 < 985, len(w.Dense)
	if bit {
		first = w.NumBits
		if first%64 == 0 {
			w.Bits = append(w.Bits, 0)
		}
		if peerinputs.Mix(mixOne, uint64(i))%985 >= 700 {
			w.Bits[first/64] |= 1 << (first % 64)
		}
		w.NumBits++
	} else {
		w.Dense = append(w.Dense, element(tagZ, i))
	}
	if last := len(c.layout.Runs) - 1; last >= 0 && c.layout.Runs[last].Bit == bit {
		c.layout.Runs[last].N++
		return
	}
	c.layout.Runs = append(c.layout.Runs, pce.Run{Start: i, N: 1, First: first, Bit: bit})
}

func (c *proveCase) assigned() *pce.Rows {
	return &pce.Rows{Layout: c.layout, A: c.rows.a, B: c.rows.b, C: c.rows.c}
}

// writeKey writes the key to a file of its own in a folder and returns its name, also after an error if there is one.
func (c *proveCase) writeKey(ctx context.Context, folder string) (path string, err error) {
	f, err := os.CreateTemp(folder, "cuzk-bench-*.params")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	g1, err := encodedMultiples(ctx, groupG1(), c.distinct)
	if err != nil {
		return f.Name(), err
	}
	g2, err := encodedMultiples(ctx, groupG2(), c.distinct)
	if err != nil {
		return f.Name(), err
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	w := srs.NewWriter(buffered, c.verifyingKey())
	aux := c.layout.Counts.Aux
	inB := c.inB.Count() + 1
	for _, s := range []struct {
		section srs.Section
		n       int
		table   []byte
	}{
		{srs.H, 1<<c.log - 1, g1}, {srs.L, aux, g1}, {srs.A, proveInputs + c.inA.Count(), g1},
		{srs.BG1, inB, g1}, {srs.BG2, inB, g2},
	} {
		if err := w.Begin(s.section, s.n); err != nil {
			return f.Name(), err
		}
		for lo := 0; lo < s.n; lo += c.distinct {
			if ctx.Err() != nil {
				return f.Name(), context.Cause(ctx)
			}
			n := min(c.distinct, s.n-lo)
			if err := w.Encoded(s.table[:len(s.table)/c.distinct*n]); err != nil {
				return f.Name(), err
			}
		}
	}
	return f.Name(), errors.Join(w.Finish(), buffered.Flush())
}

// verifyingKey has the multiples of the generators by α, β, γ and δ.
func (c *proveCase) verifyingKey() *srs.VerifyingKey {
	g1 := func(k int) bls12381.G1Affine { return groupG1().times(big.NewInt(int64(k))) }
	g2 := func(k int) bls12381.G2Affine { return groupG2().times(big.NewInt(int64(k))) }
	vk := &srs.VerifyingKey{
		AlphaG1: g1(proveAlpha), BetaG1: g1(proveBeta), BetaG2: g2(proveBeta), GammaG2: g2(proveGamma),
		DeltaG1: g1(proveDelta), DeltaG2: g2(proveDelta),
	}
	for i := range proveInputs {
		vk.IC = append(vk.IC, g1(i%c.distinct+1))
	}
	return vk
}

// removeFile removes a file that may have been removed already.
func removeFile(path string) error {
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err
}

// proofPoints are the points of a proof.
type proofPoints struct {
	a bls12381.G1Affine
	b bls12381.G2Affine
	c bls12381.G1Affine
}

// hex is the proof's encoding.
func (p *proofPoints) hex() string {
	return peerinputs.G1Hex(&p.a) + peerinputs.G2Hex(&p.b) + peerinputs.G1Hex(&p.c)
}

// closedForm is the proof with a quotient.
func (c *proveCase) closedForm(ctx context.Context, h []fr.Element) (p proofPoints, err error) {
	aux := make([]fr.Element, c.layout.Counts.Aux)
	if err := c.layout.Expand(c.witness, aux); err != nil {
		return p, err
	}
	var sums [5]fr.Element
	for i, s := range []struct {
		values []fr.Element
		weight func(i int) int64
	}{
		{h[:len(h)-1], c.weight(nil, 0)},
		{aux, c.weight(nil, 0)},
		{c.witness.Inputs, c.weight(nil, 0)},
		{aux, c.weight(c.inA, proveInputs)},
		{aux, c.weight(c.inB, 1)},
	} {
		if sums[i], err = peerinputs.Weighted(ctx, s.values, s.weight); err != nil {
			return p, err
		}
	}
	var a, b, out, t fr.Element
	alpha, beta, delta := fr.NewElement(proveAlpha), fr.NewElement(proveBeta), fr.NewElement(proveDelta)
	a.Add(&sums[2], &sums[3]).Add(&a, &alpha)
	b.Add(&sums[4], &c.witness.Inputs[0]).Add(&b, &beta)
	out.Add(&sums[0], &sums[1])
	a.Add(&a, t.Mul(&c.r, &delta))
	out.Add(&out, t.Mul(&a, &c.s)).Add(&out, t.Mul(&b, &c.r))
	b.Add(&b, t.Mul(&c.s, &delta))
	p.a = groupG1().times(a.BigInt(new(big.Int)))
	p.b = groupG2().times(b.BigInt(new(big.Int)))
	p.c = groupG1().times(out.BigInt(new(big.Int)))
	return p, nil
}

// weight tells which multiple of the generator the point of variable i is, 0 if it has none. The points of those in set,
// or of all, are numbered in a row from first on.
func (c *proveCase) weight(set pce.Bitset, first int) func(i int) int64 {
	if set == nil {
		return func(i int) int64 { return int64((first+i)%c.distinct) + 1 }
	}
	before := make([]int, len(set))
	for k := range set {
		before[k] = first
		first += bits.OnesCount64(set[k])
	}
	return func(i int) int64 {
		if !set.Get(i) {
			return 0
		}
		below := set[i/64] & (1<<(i%64) - 1)
		return int64((before[i/64]+bits.OnesCount64(below))%c.distinct) + 1
	}
}
