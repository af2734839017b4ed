package kernels

import (
	"fmt"
	"math/bits"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// Memory is the memory of a card as twins see it; that of the fake driver has this method. Bytes
// panics where the bytes are not all inside one allocation.
type Memory interface {
	Bytes(address, n uint64) []byte
}

// Twin does what the kernel of the same name does: the whole grid, from the bytes of the parameter
// struct.
type Twin func(m Memory, g gpu.Grid, params []byte)

// Twins are the twins of all kernels, by name.
func Twins() map[string]Twin {
	d := map[string]Twin{}
	twinOf(d, string(ChainFpMul), chainTwin(func(x, y *fp.Element) { x.Mul(x, y) }))
	twinOf(d, string(ChainFpSqr), chainTwin(func(x, y *fp.Element) { x.Square(x).Add(x, y) }))
	twinOf(d, string(ChainFpMulSub), chainTwin(func(x, y *fp.Element) {
		var a, b fp.Element
		a.Mul(x, y)
		b.Add(x, y).Mul(&b, x)
		x.Sub(&a, &b)
	}))
	twinOf(d, string(ChainFrMul), chainTwin(func(x, y *fr.Element) { x.Mul(x, y) }))
	twinOf(d, string(ChainFrSqr), chainTwin(func(x, y *fr.Element) {
		var a fr.Element
		a.Add(x, y).Square(&a)
		x.Sub(&a, x)
	}))
	twinOf(d, string(ChainFp2Mul), chainTwin(func(x, y *bls12381.E2) { x.Mul(x, y) }))
	for r := minPassLog; r <= maxPassLog; r++ {
		twinOf(d, fmt.Sprintf("ntt_dif_%d", r), passTwin(r, false))
		twinOf(d, fmt.Sprintf("ntt_dit_%d", r), passTwin(r, true))
	}
	twinOf(d, "ntt_small", smallTwin)
	twinOf(d, "ntt_reverse", reverseTwin)
	twinOf(d, "fr_mul", mulTwin)
	twinOf(d, "fr_sub_scale", subScaleTwin)
	twinOf(d, "fr_gather", gatherTwin)
	twinOf(d, "fr_first_unequal", unequalTwin)
	twinOf(d, "msm_classify", classifyTwin)
	twinOf(d, "msm_digits", digitsTwin)
	twinOf(d, "msm_scan_sums", scanSumsTwin)
	twinOf(d, "msm_scan_spine", scanSpineTwin)
	twinOf(d, "msm_scan_apply", scanApplyTwin)
	twinOf(d, "msm_scatter", scatterTwin)
	twinOf(d, "bits_list", bitsTwin)
	twinOf(d, spmvSmall, spmvSmallTwin)
	twinOf(d, spmvShort, spmvListsTwin(spmvThreads))
	twinOf(d, spmvLong, spmvListsTwin(spmvThreads/spmvLanes))
	groupG1().register(d, "g1")
	groupG2().register(d, "g2")
	pointsG1().register(d, "g1")
	pointsG2().register(d, "g2")
	twinOf(d, "fr_powers", powersTwin)
	return d
}

// twinOf adds a twin that takes its parameter struct.
func twinOf[P any](d map[string]Twin, name string, twin func(m Memory, g gpu.Grid, p *P)) {
	d[name] = func(m Memory, g gpu.Grid, params []byte) {
		var p P
		if len(params) != int(unsafe.Sizeof(p)) {
			panic(fmt.Sprintf("%s: %d bytes of parameters, want %d", name, len(params), unsafe.Sizeof(p)))
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&p)), len(params)), params)
		twin(m, g, &p)
	}
}

// at is n values at an address of the card.
func at[T any](m Memory, address uint64, n int) []T {
	var t T
	b := m.Bytes(address, uint64(n)*uint64(unsafe.Sizeof(t)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func chainTwin[T any](step func(x, y *T)) func(Memory, gpu.Grid, *chainParams) {
	return func(m Memory, _ gpu.Grid, p *chainParams) {
		in, out := at[T](m, p.In, 2*int(p.N)), at[T](m, p.Out, int(p.N))
		for i := range out {
			x := in[i]
			for range p.Rounds {
				step(&x, &in[int(p.N)+i])
			}
			out[i] = x
		}
	}
}

func reverseBits(v uint32, n int) uint32 {
	if n == 0 {
		return 0
	}
	return bits.Reverse32(v) >> (32 - n)
}

// passData is what the twins of a pass read.
type passData struct {
	*nttPassParams
	src, dst            []fr.Element
	small, high, low    []fr.Element
	shiftHigh, shiftLow []fr.Element
}

func loadPass(m Memory, p *nttPassParams) *passData {
	n := 1 << p.LogN
	d := &passData{
		nttPassParams: p, src: at[fr.Element](m, p.Src, n), dst: at[fr.Element](m, p.Dst, n),
		small: at[fr.Element](m, p.RootsSmall, 1<<10),
		high:  at[fr.Element](m, p.RootsHigh, 1<<(maxLogN-rootLowLog)),
		low:   at[fr.Element](m, p.RootsLow, 1<<rootLowLog),
	}
	if p.Flags&(nttShiftIn|nttShiftOut) != 0 {
		d.shiftHigh, d.shiftLow = at[fr.Element](m, p.ShiftHigh, 1<<shiftLowLog), at[fr.Element](m, p.ShiftLow, 1<<shiftLowLog)
	}
	return d
}

// root is w^e, w of order 2^log, or w^−e for the inverse.
func (d *passData) root(e uint64, log int) (w fr.Element) {
	e <<= maxLogN - log
	if d.Flags&nttInverse != 0 {
		e = 1<<maxLogN - e
	}
	e %= 1 << maxLogN
	w.Mul(&d.high[e>>rootLowLog], &d.low[e%(1<<rootLowLog)])
	return w
}

// in is an input with its shift; i is its place, k its logical index.
func (d *passData) in(i, k uint32) fr.Element {
	v := d.src[i]
	if d.Flags&nttShiftIn != 0 {
		v.Mul(&v, &d.shiftHigh[k>>shiftLowLog]).Mul(&v, &d.shiftLow[k%(1<<shiftLowLog)])
	}
	return v
}

func (d *passData) out(i, k uint32, v fr.Element) {
	if d.Flags&nttShiftOut != 0 {
		v.Mul(&v, &d.shiftHigh[k>>shiftLowLog]).Mul(&v, &d.shiftLow[k%(1<<shiftLowLog)])
	}
	if d.Flags&nttScaleOut != 0 {
		v.Mul(&v, &d.Scale)
	}
	d.dst[i] = v
}

// passTwin transforms columns of 2^r points, one after the other.
func passTwin(r int, dit bool) func(Memory, gpu.Grid, *nttPassParams) {
	return func(m Memory, _ gpu.Grid, p *nttPassParams) {
		d := loadPass(m, p)
		logN, s := int(p.LogN), int(p.LogStride)
		var result []fr.Element // in place only when all input is read
		for c := range uint32(1) << (logN - r) {
			j := c & (1<<s - 1)
			base := c>>s<<(s+r) | j
			col := make([]fr.Element, 1<<r)
			for t := range col {
				i := base + uint32(t)<<s
				k := i
				if dit {
					k = reverseBits(i, logN)
				}
				col[t] = d.in(i, k)
			}
			twiddle := func() {
				for t := range col {
					w := d.root(uint64(reverseBits(uint32(t), r))*uint64(j), s+r)
					col[t].Mul(&col[t], &w)
				}
			}
			if dit {
				twiddle()
			}
			d.butterflies(col, r, dit)
			if !dit {
				twiddle()
			}
			result = append(result, col...)
		}
		for at, v := range result {
			c, t := uint32(at>>r), uint32(at&(1<<r-1))
			i := c>>s<<(s+r) | c&(1<<s-1) | t<<s
			k := i
			if !dit {
				k = reverseBits(i, logN)
			}
			if p.Flags&nttReversedOut != 0 {
				i = k
			}
			d.out(i, k, v)
		}
	}
}

func (d *passData) butterflies(col []fr.Element, r int, dit bool) {
	for level := range r {
		h := 1 << (r - 1 - level)
		if dit {
			h = 1 << level
		}
		log := bits.Len(uint(h))
		for block := 0; block < len(col); block += 2 * h {
			for i := block; i < block+h; i++ {
				w := d.root(uint64(i-block), log)
				u, v := col[i], col[i+h]
				if dit {
					v.Mul(&v, &w)
				}
				col[i].Add(&u, &v)
				col[i+h].Sub(&u, &v)
				if !dit {
					col[i+h].Mul(&col[i+h], &w)
				}
			}
		}
	}
}

func smallTwin(m Memory, _ gpu.Grid, p *nttPassParams) {
	d := loadPass(m, p)
	log := int(p.LogN)
	n := uint32(1) << log
	place := func(i, flag uint32) uint32 {
		if p.Flags&flag != 0 {
			return reverseBits(i, log)
		}
		return i
	}
	sums := make([]fr.Element, n)
	for k := range n {
		for i := range n {
			v, w := d.in(place(i, nttSmallInRev), i), d.root(uint64(i*k%n), log)
			sums[k].Add(&sums[k], v.Mul(&v, &w))
		}
	}
	for k, v := range sums {
		d.out(place(uint32(k), nttSmallOutRev), uint32(k), v)
	}
}

func reverseTwin(m Memory, _ gpu.Grid, p *nttPassParams) {
	v := at[fr.Element](m, p.Dst, 1<<p.LogN)
	for i := range v {
		if j := int(reverseBits(uint32(i), int(p.LogN))); i < j {
			v[i], v[j] = v[j], v[i]
		}
	}
}
