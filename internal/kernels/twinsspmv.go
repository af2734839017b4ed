package kernels

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/pce"
)

// spmvItem is a row or a list of one instance.
type spmvItem struct {
	*spmvParams
	m     Memory
	head  [4]uint32
	base  pce.Instance
	slots uint64 // address
}

// eachSpmvItem calls f for all items of all blocks, n to a block.
func eachSpmvItem(m Memory, g gpu.Grid, p *spmvParams, n int, f func(w *spmvItem)) {
	for block, owner := range at[uint32](m, p.Owners, g.Blocks) {
		t := at[spmvTemplate](m, p.Templates+32*uint64(owner), 1)[0]
		for i := range n {
			e := (uint32(block)-t.FirstBlock)*uint32(n) + uint32(i)
			k, item := e/t.Items, e%t.Items
			if k >= t.Instances {
				break
			}
			f(&spmvItem{
				spmvParams: p, m: m,
				head:  at[[4]uint32](m, p.Heads+16*uint64(t.FirstHead+item), 1)[0],
				base:  at[pce.Instance](m, p.Instances+16*uint64(t.FirstInstance+k), 1)[0],
				slots: p.Slots + 4*(uint64(t.FirstSlot)+uint64(k)*uint64(t.Slots)),
			})
		}
	}
}

// bitsAt is n bits from bit i up.
func (w *spmvItem) bitsAt(i, n uint32) uint64 {
	words := at[uint32](w.m, w.Bits+4*uint64(i/32), blocks(int(i%32+n), 32))
	v := uint64(words[0])
	if len(words) > 1 {
		v |= uint64(words[1]) << 32
	}
	return v >> (i % 32) & (1<<n - 1)
}

func (w *spmvItem) slot(i uint32) uint32 { return at[uint32](w.m, w.slots+4*uint64(i), 1)[0] }

// element is element i of an array.
func (w *spmvItem) element(array uint64, i uint32) *fr.Element {
	return &at[fr.Element](w.m, array+32*uint64(i), 1)[0]
}

func spmvSmallTwin(m Memory, g gpu.Grid, p *spmvParams) {
	eachSpmvItem(m, g, p, spmvThreads, func(w *spmvItem) {
		next := p.Terms + 4*uint64(w.head[1])
		for matrix, out := range p.Out {
			n := w.head[2] >> (8 * matrix) & noList
			if n == noList {
				continue
			}
			sum := int32(numberZero)
			for _, t := range at[uint32](m, next, int(n)) {
				sum += int32(t) >> 24 * int32(w.smallValue(t))
			}
			next += 4 * uint64(n)
			*w.element(out, w.base.Row+w.head[0]) = *w.element(p.Values, uint32(sum))
		}
	})
}

// smallValue is the variable of a small term.
func (w *spmvItem) smallValue(t uint32) uint64 {
	i := t & (1<<smallShift - 1)
	switch t >> smallShift & 3 {
	case smallBit:
		return w.bitsAt(w.base.Bit+i, 1)
	case smallSlot:
		if kind, i := pce.SplitRef(w.slot(i)); kind == pce.RefBit {
			return w.bitsAt(i, 1)
		}
	}
	return 1
}

// spmvListsTwin evaluates n lists a block.
func spmvListsTwin(n int) func(Memory, gpu.Grid, *spmvParams) {
	return func(m Memory, g gpu.Grid, p *spmvParams) {
		eachSpmvItem(m, g, p, n, func(w *spmvItem) {
			var sum fr.Element
			for _, t := range at[[2]uint32](m, p.Terms+8*uint64(w.head[0]), int(w.head[1])) {
				v := w.term(t)
				sum.Add(&sum, &v)
			}
			for _, place := range at[uint32](m, p.Places+4*uint64(w.head[2]), int(w.head[3])) {
				*w.element(p.Out[place>>placeShift], w.base.Row+place&(1<<placeShift-1)) = sum
			}
		})
	}
}

// term is a coefficient times a variable or a run of bits.
func (w *spmvItem) term(t [2]uint32) (v fr.Element) {
	code, run := t[1]&(1<<runShift-1), t[1]>>runShift+1
	kind, i := pce.SplitRef(w.resolve(t[0]))
	c := w.element(w.Values, 2*code)
	switch kind {
	case pce.RefInput:
		return *v.Mul(c, w.element(w.Inputs, i))
	case pce.RefDense:
		return *v.Mul(c, w.element(w.Dense, i))
	}
	window := fr.Element{1} // a plain number: its product with c·2^256 is in Montgomery form
	if kind == pce.RefBit {
		window[0] = w.bitsAt(i, run)
	}
	return *v.Mul(w.element(w.Values, 2*code+1), &window)
}

// resolve is the packed ref in the whole circuit.
func (w *spmvItem) resolve(v uint32) uint32 {
	switch kind, i := pce.SplitRef(v); kind {
	case pce.RefInput:
		return v + w.base.Input
	case pce.RefBit:
		return v + w.base.Bit
	case pce.RefDense:
		return v + w.base.Dense
	case pce.RefSlot:
		return w.slot(i)
	}
	return v
}
