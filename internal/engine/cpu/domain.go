package cpu

import (
	"context"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"github.com/gocuzk/cuzk/internal/parallel"
)

const (
	// logBlock is the size of the transforms that are left to gnark-crypto. They take a tenth of a second each, the
	// grain of cancellation, work on 8 MB, and their tables of 32 MB serve every domain.
	logBlock = 18
	// logRadix is how many levels one pass over a vector does on top of that.
	logRadix = 4
	// tile is how many neighbouring columns are transformed together: with 16 rows they take 32 KB.
	tile = 64
	// stretch is how many elements a goroutine takes in simple loops.
	stretch = 1 << 14
)

// domain transforms vectors of 2^logN elements between coefficients and values at the powers of ω.
//
// Transforms leave out the reversal of bits: inverse takes values in natural order and gives coefficients in
// bit-reversed order, forward the other way round. Large ones are cut: passes of up to four levels that reach across
// the whole vector, then gnark-crypto on blocks, each on one processor.
type domain struct {
	logN, logSub int
	sub          *fft.Domain // of a block
	omega        fr.Element
	omegaInv     fr.Element
	up, down     []fr.Element // powers of g^blocks and of its inverse, in bit-reversed order, one for each place of a block
}

// newDomain makes the domain of a power of two; blocks have at most 2^logBlock elements.
func newDomain(ctx context.Context, size, logBlock int) (*domain, error) {
	if size < 1 || size&(size-1) != 0 || int64(size) > 1<<32 {
		return nil, fmt.Errorf("cpu: domain of %d points: not a power of two up to 2^32", size)
	}
	d := &domain{logN: bits.Len(uint(size)) - 1}
	d.logSub = min(d.logN, logBlock)
	var err error
	if d.omega, err = fft.Generator(uint64(size)); err != nil {
		return nil, err
	}
	d.omegaInv.Inverse(&d.omega)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	d.sub = fft.NewDomain(1 << d.logSub)
	g := fft.GeneratorFullMultiplicativeGroup()
	g.Exp(g, big.NewInt(int64(d.blocks())))
	d.up = reversedPowers(g, d.logSub)
	d.down = reversedPowers(*g.Inverse(&g), d.logSub)
	return d, nil
}

func (d *domain) size() int   { return 1 << d.logN }
func (d *domain) block() int  { return 1 << d.logSub }
func (d *domain) blocks() int { return 1 << (d.logN - d.logSub) }

// reversedPowers has g^i at the place where the bits of i, reversed, point to.
func reversedPowers(g fr.Element, logN int) []fr.Element {
	out := make([]fr.Element, 1<<logN)
	p := fr.One()
	for i := range out {
		out[reversed(i, logN)] = p
		p.Mul(&p, &g)
	}
	return out
}

func reversed(i, logN int) int { return int(bits.Reverse64(uint64(i)) >> (64 - logN)) }

// inverse turns values in natural order into coefficients in bit-reversed order, times the number of blocks.
func (d *domain) inverse(ctx context.Context, v []fr.Element) error {
	root := d.omegaInv
	for logSize := d.logN; logSize > d.logSub; {
		levels := min(logRadix, logSize-d.logSub)
		if err := d.columns(ctx, v, logSize, levels, root, decimate); err != nil {
			return err
		}
		for range levels {
			root.Square(&root)
		}
		logSize -= levels
	}
	return d.eachBlock(ctx, v, func(b []fr.Element, tasks int) {
		d.sub.FFTInverse(b, fft.DIF, fft.WithNbTasks(tasks))
	})
}

// forward turns coefficients in bit-reversed order into values in natural order.
func (d *domain) forward(ctx context.Context, v []fr.Element) error {
	err := d.eachBlock(ctx, v, func(b []fr.Element, tasks int) {
		d.sub.FFT(b, fft.DIT, fft.WithNbTasks(tasks))
	})
	for logSize := d.logSub; err == nil && logSize < d.logN; {
		// The passes of inverse, backwards.
		levels := (d.logN - logSize) % logRadix
		if levels == 0 || logSize > d.logSub {
			levels = logRadix
		}
		logSize += levels
		root := d.omega
		for range d.logN - logSize {
			root.Square(&root)
		}
		err = d.columns(ctx, v, logSize, levels, root, recombine)
	}
	return err
}

func (d *domain) eachBlock(ctx context.Context, v []fr.Element, f func(b []fr.Element, tasks int)) error {
	if d.blocks() == 1 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f(v, parallel.Workers())
		return nil
	}
	return parallel.Ranges(ctx, d.size(), d.block(), func(_, lo, hi int) error {
		f(v[lo:hi], 1)
		return nil
	})
}

// scale multiplies the coefficient of x^i, in bit-reversed order, by factor·g^(±i): table is d.up or
// d.down and g its generator.
func (d *domain) scale(ctx context.Context, v []fr.Element, table []fr.Element, factors []fr.Element) error {
	return parallel.Ranges(ctx, len(v), min(stretch, d.block()), func(_, lo, hi int) error {
		factor := &factors[lo>>d.logSub]
		var f fr.Element
		for i := lo; i < hi; i++ {
			f.Mul(&table[i&(d.block()-1)], factor)
			v[i].Mul(&v[i], &f)
		}
		return nil
	})
}

// blockFactors has factor·g^reversed(t) for each block t. With the tables up and down, whose generator is g^blocks, place o of
// block t gets g to the power of the reversed bits of its whole index.
func (d *domain) blockFactors(g, factor fr.Element) []fr.Element {
	out := reversedPowers(g, d.logN-d.logSub)
	for i := range out {
		out[i].Mul(&out[i], &factor)
	}
	return out
}
