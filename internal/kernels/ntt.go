package kernels

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

const (
	maxLogN      = 28 // largest transform
	rootLowLog   = 10
	shiftLowLog  = 14
	passElements = 1024 // of a thread block
	passThreads  = 128
	maxPassLog   = 10
	minPassLog   = 3
	tileLog      = 5 // of the side of a tile of ntt_reverse
)

// Order is the order of a vector's elements.
type Order int

// Natural is element i at place i; Reversed is element i at the place whose log n bits are those of
// i in reverse.
const (
	Natural Order = iota
	Reversed
)

// Transform says which transform to do: X_k = Σ x_i·w^(ik) with w = 7^((r−1)/n), or its inverse;
// with Coset, on the coset 7·⟨w⟩ (the input's coefficients, or the inverse's output, are of the
// polynomial itself).
type Transform struct {
	LogN    int
	Inverse bool
	Coset   bool
	In, Out Order // not both Reversed
}

// NTT holds the tables of one card. It is safe for concurrent use on different data.
type NTT struct {
	l                    *Library
	small, high, low     gpu.View[fr.Element]
	shiftHigh, shiftLow  gpu.View[fr.Element]
	unshiftHigh, unshift gpu.View[fr.Element]
}

// NTTBytes is what NewNTT takes of an arena.
func NTTBytes() uint64 {
	return 2*gpu.Aligned[fr.Element](1<<10) + gpu.Aligned[fr.Element](1<<18) + 4*gpu.Aligned[fr.Element](1<<shiftLowLog)
}

// generator is 7, the multiplicative generator that Filecoin's domains are made with.
func generator() fr.Element { return fr.NewElement(7) }

// root is w of order 2^logN.
func root(logN int) fr.Element {
	e := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	e.Rsh(e, uint(logN))
	g := generator()
	var w fr.Element
	w.Exp(g, e)
	return w
}

// powers is 1, x, x², … of length n.
func powers(x fr.Element, n int) []fr.Element {
	p := make([]fr.Element, n)
	p[0].SetOne()
	for i := 1; i < n; i++ {
		p[i].Mul(&p[i-1], &x)
	}
	return p
}

// NewNTT computes the tables and uploads them to the arena. It waits for the stream.
func NewNTT(l *Library, s *gpu.Stream, a *gpu.Arena) (*NTT, error) {
	t := &NTT{l: l}
	pow := func(x fr.Element, log int) fr.Element {
		for range log {
			x.Square(&x)
		}
		return x
	}
	g := generator()
	var gInv fr.Element
	gInv.Inverse(&g)
	w := root(maxLogN)
	for _, table := range []struct {
		view *gpu.View[fr.Element]
		base fr.Element
		log  int
	}{
		{&t.small, root(10), 10},
		{&t.high, pow(w, rootLowLog), maxLogN - rootLowLog},
		{&t.low, w, rootLowLog},
		{&t.shiftHigh, pow(g, shiftLowLog), shiftLowLog},
		{&t.shiftLow, g, shiftLowLog},
		{&t.unshiftHigh, pow(gInv, shiftLowLog), shiftLowLog},
		{&t.unshift, gInv, shiftLowLog},
	} {
		v, err := gpu.Alloc[fr.Element](a, 1<<table.log)
		if err != nil {
			return nil, fmt.Errorf("kernels: NTT tables: %w", err)
		}
		if err := gpu.UploadSlice(s, v, powers(table.base, 1<<table.log)); err != nil {
			return nil, fmt.Errorf("kernels: NTT tables: %w", err)
		}
		*table.view = v
	}
	return t, nil
}

// passLogs splits a transform into passes, the first as in DIF order. Their sum is logN.
func passLogs(logN int) []int {
	n := max(1, (logN+maxPassLog-1)/maxPassLog)
	logs := make([]int, n)
	for i := range logs {
		logs[i] = logN / n
		if i < logN%n {
			logs[i]++
		}
	}
	return logs
}

// Run enqueues a transform of src to dst, which have 2^LogN elements and may be the same.
//
// With different views and natural order on both sides, src is used as working space. With other
// orders it is left alone. A reversal in place costs a pass more.
func (t *NTT) Run(s *gpu.Stream, tr Transform, dst, src gpu.View[fr.Element]) error {
	if tr.LogN < 0 || tr.LogN > maxLogN {
		return fmt.Errorf("kernels: NTT of 2^%d elements: %w", tr.LogN, gpu.ErrArgument)
	}
	n := 1 << tr.LogN
	switch {
	case dst.Len() != n || src.Len() != n:
		return fmt.Errorf("kernels: NTT of 2^%d elements on views of %d and %d: %w", tr.LogN, src.Len(), dst.Len(), gpu.ErrArgument)
	case tr.In == Reversed && tr.Out == Reversed:
		return fmt.Errorf("kernels: NTT from reversed to reversed order: %w", gpu.ErrArgument)
	}
	p := nttPassParams{
		Src: src.Ptr(), Dst: dst.Ptr(),
		RootsSmall: t.small.Ptr(), RootsHigh: t.high.Ptr(), RootsLow: t.low.Ptr(), LogN: uint32(tr.LogN),
	}
	var first, last uint32 // flags of the first and of the last pass
	if tr.Inverse {
		p.Flags = nttInverse
		last |= nttScaleOut
		p.Scale.SetUint64(uint64(n))
		p.Scale.Inverse(&p.Scale)
	}
	if tr.Coset && tr.Inverse {
		p.ShiftHigh, p.ShiftLow = t.unshiftHigh.Ptr(), t.unshift.Ptr()
		last |= nttShiftOut
	} else if tr.Coset {
		p.ShiftHigh, p.ShiftLow = t.shiftHigh.Ptr(), t.shiftLow.Ptr()
		first |= nttShiftIn
	}
	if tr.LogN < minPassLog {
		p.Flags |= first | last
		if tr.In == Reversed {
			p.Flags |= nttSmallInRev
		}
		if tr.Out == Reversed {
			p.Flags |= nttSmallOutRev
		}
		return launch(t.l, s, "ntt_small", gpu.Grid{Blocks: 1, Threads: 4}, &p)
	}
	return t.passes(s, tr, p, first, last)
}

func (t *NTT) passes(s *gpu.Stream, tr Transform, p nttPassParams, first, last uint32) error {
	logs := passLogs(tr.LogN)
	grid := gpu.Grid{Blocks: max(1, 1<<tr.LogN/passElements), Threads: passThreads, Micros: 1 << tr.LogN / 10_000}
	src, dst, base := p.Src, p.Dst, p.Flags
	natural := tr.In == Natural && tr.Out == Natural
	fused := natural && (src != dst || len(logs) == 1)
	stride := tr.LogN
	for i := range logs {
		name := "ntt_dif"
		r := logs[i]
		if tr.In == Reversed {
			name = "ntt_dit"
			r = logs[len(logs)-1-i]
			p.LogStride = uint32(tr.LogN - stride)
			stride -= r
		} else {
			stride -= r
			p.LogStride = uint32(stride)
		}
		p.Flags = base
		p.Src, p.Dst = dst, dst
		switch {
		case fused:
			p.Src, p.Dst = src, src
		case i == 0:
			p.Src = src
		}
		if i == 0 {
			p.Flags |= first
		}
		if i == len(logs)-1 {
			p.Flags |= last
			if fused {
				p.Flags |= nttReversedOut
				p.Dst = dst
			}
		}
		if err := launch(t.l, s, fmt.Sprintf("%s_%d", name, r), grid, &p); err != nil {
			return err
		}
	}
	if natural && !fused {
		p.Dst = dst
		grid := overElements(1 << tr.LogN)
		if tr.LogN >= 2*tileLog {
			grid.Blocks = 1 << (tr.LogN - 2*tileLog)
		}
		return launch(t.l, s, "ntt_reverse", grid, &p)
	}
	return nil
}
