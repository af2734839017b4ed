package pce

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// sink takes what an expander makes of a circuit.
type sink interface {
	// alloc makes a variable of the given kind (input, bit or dense).
	alloc(k kind, v fr.Element) ref
	// row takes one constraint. The lists are sorted, have no variable twice, and may be reused
	// by the caller afterwards.
	row(a, b, c []term)
	// fail keeps the first fault.
	fail(err error)
}

// expander turns every operation of a Builder into single variables and rows, bit by bit. Recorder
// and checker share it; the Witness interpreter's word operations are tested against it.
type expander struct {
	sink
	a, b, c termList // scratch
}

func (e *expander) Fail(err error) { e.fail(err) }

func (e *expander) Alloc(v fr.Element) Num {
	return Num{value: v, ref: e.alloc(kindDense, v)}
}

func (e *expander) AllocInput(v fr.Element) Num {
	return Num{value: v, ref: e.alloc(kindInput, v)}
}

// newBit allocates a Boolean variable without a row.
func (e *expander) newBit(v bool) Bit {
	var x fr.Element
	if v {
		x.SetOne()
	}
	return Bit{value: v, ref: e.alloc(kindBit, x)}
}

func (e *expander) AllocBit(v bool) Bit {
	b := e.newBit(v)
	e.begin()
	e.a.addBit(b.Not(), one())
	e.b.addBit(b, one())
	e.emit()
	return b
}

func (e *expander) AllocWord(v uint32) Word {
	return e.eachBit(func(i int) Bit { return e.AllocBit(v>>i&1 == 1) })
}

func (e *expander) eachBit(f func(i int) Bit) Word {
	var w Word
	for i := range 32 {
		w.setBit(i, f(i))
	}
	return w
}

func (e *expander) Enforce(a, b, c LC) { e.row(a.terms, b.terms, c.terms) }

// begin starts a row in the scratch lists, emit sends it.
func (e *expander) begin() { e.a, e.b, e.c = e.a[:0], e.b[:0], e.c[:0] }

func (e *expander) emit() { e.row(e.a.merged(), e.b.merged(), e.c.merged()) }

func (e *expander) Mul(x, y Num) Num {
	var v fr.Element
	p := e.Alloc(*v.Mul(&x.value, &y.value))
	e.begin()
	e.a.add(x.ref, one())
	e.b.add(y.ref, one())
	e.c.add(p.ref, one())
	e.emit()
	return p
}

func (e *expander) Equal(x, y Num) {
	e.begin()
	e.a.add(x.ref, one())
	e.b.add(refOne, one())
	e.c.add(y.ref, one())
	e.emit()
}

func (e *expander) Inputize(x Num) Num {
	i := e.AllocInput(x.value)
	e.Equal(i, x)
	return i
}

func (e *expander) Pick(cond Bit, a, b Num) Num {
	v := b.value
	if cond.value {
		v = a.value
	}
	c := e.Alloc(v)
	e.begin()
	e.a.add(b.ref, one())
	e.a.add(a.ref, minusOne())
	e.b.addBit(cond, one())
	e.c.add(b.ref, one())
	e.c.add(c.ref, minusOne())
	e.emit()
	return c
}

func (e *expander) And(a, b Bit) Bit { return e.and(and(a, b)) }

func (e *expander) Nor(a, b Bit) Bit { return e.and(and(a.Not(), b.Not())) }

func (e *expander) and(p conjunction) Bit {
	if !p.alloc {
		return p.result
	}
	v := e.newBit(p.x.value && p.y.value)
	e.begin()
	e.a.addBit(p.x, one())
	e.b.addBit(p.y, one())
	e.c.addBit(v, one())
	e.emit()
	return v
}

func (e *expander) xor(p exclusive) Bit {
	if !p.alloc {
		return p.result
	}
	v := e.newBit(p.x.value != p.y.value)
	e.begin()
	e.a.addBit(p.x, pow2[1])
	e.b.addBit(p.y, one())
	e.c.addBit(p.x, one())
	e.c.addBit(p.y, one())
	e.c.addBit(v, minusOne())
	e.emit()
	if p.negated {
		return v.Not()
	}
	return v
}

// folded does the forms of ch and maj that need no row of their own; ok is false for the full form.
func (e *expander) folded(p choice) (_ Bit, ok bool) {
	switch p.form {
	case formFolded:
		return p.result, true
	case formAnd:
		r := e.and(and(p.x, p.y))
		if p.negated {
			r = r.Not()
		}
		return r, true
	}
	return Bit{}, false
}

func (e *expander) ch(a, b, c Bit) Bit {
	if r, ok := e.folded(ch(a, b, c)); ok {
		return r
	}
	v := e.newBit(chValue(a, b, c))
	e.begin()
	e.a.addBit(b, one())
	e.a.addBit(c, minusOne())
	e.b.addBit(a, one())
	e.c.addBit(v, one())
	e.c.addBit(c, minusOne())
	e.emit()
	return v
}

func (e *expander) maj(a, b, c Bit) Bit {
	if r, ok := e.folded(maj(a, b, c)); ok {
		return r
	}
	v := e.newBit(majValue(a, b, c))
	bc := e.and(and(b, c))
	e.begin()
	e.a.addBit(bc, pow2[1])
	e.a.addBit(b, minusOne())
	e.a.addBit(c, minusOne())
	e.b.addBit(a, one())
	e.c.addBit(bc, one())
	e.c.addBit(v, minusOne())
	e.emit()
	return v
}

func (e *expander) Xor(a, b Word) Word {
	return e.eachBit(func(i int) Bit { return e.xor(xor(a.Bit(i), b.Bit(i))) })
}

func (e *expander) Ch(a, b, c Word) Word {
	return e.eachBit(func(i int) Bit { return e.ch(a.Bit(i), b.Bit(i), c.Bit(i)) })
}

func (e *expander) Maj(a, b, c Word) Word {
	return e.eachBit(func(i int) Bit { return e.maj(a.Bit(i), b.Bit(i), c.Bit(i)) })
}

func (e *expander) AddMany(eq *MultiEq, words []Word) Word {
	sum, constant := addWords(words)
	if constant {
		return ConstWord(uint32(sum))
	}
	var out Word
	width := sumWidth(len(words))
	rhs := make([]Bit, width)
	for i := range rhs {
		rhs[i] = e.AllocBit(sum>>i&1 == 1)
		if i < 32 {
			out.setBit(i, rhs[i])
		}
	}
	if eq.used+width >= fieldCapacity {
		e.flush(eq)
	}
	for _, w := range words {
		for i := range 32 {
			eq.lhs.addBit(w.Bit(i), pow2[eq.used+i])
		}
	}
	for i, b := range rhs {
		eq.rhs.addBit(b, pow2[eq.used+i])
	}
	eq.used += width
	return out
}

// fieldCapacity is the number of bits that fit every field element; an equality group stays below it.
const fieldCapacity = 254

// sumWidth is the number of bits of a sum of n words.
func sumWidth(n int) int { return bits.Len64(uint64(n) * (1<<32 - 1)) }

func addWords(words []Word) (sum uint64, constant bool) {
	constant = true
	for _, w := range words {
		sum += uint64(w.value)
		constant = constant && w.constant == ^uint32(0)
	}
	return sum, constant
}

func (e *expander) CloseMultiEq(eq *MultiEq) {
	if eq.used > 0 {
		e.flush(eq)
	}
}

func (e *expander) flush(eq *MultiEq) {
	e.begin()
	e.b.add(refOne, one())
	e.row(eq.lhs.merged(), e.b, eq.rhs.merged())
	*eq = MultiEq{lhs: eq.lhs[:0], rhs: eq.rhs[:0]}
}

func (e *expander) Allocated(l LC) Num {
	v := e.Alloc(l.value)
	e.begin()
	e.b.add(refOne, one())
	e.c.add(v.ref, one())
	e.row(l.terms, e.b, e.c)
	return v
}

func (e *expander) SBox(l Num, pre, post *fr.Element) Num {
	x := l.value
	if pre != nil {
		x.Add(&x, pre)
	}
	addX := func(t *termList) {
		if pre != nil {
			t.add(refOne, *pre)
		}
		t.add(l.ref, one())
	}
	v2, v4, v5 := fifthPower(x)
	l2 := e.Alloc(v2)
	e.begin()
	addX(&e.a)
	addX(&e.b)
	e.c.add(l2.ref, one())
	e.emit()

	l4 := e.Alloc(v4)
	e.begin()
	e.a.add(l2.ref, one())
	e.b.add(l2.ref, one())
	e.c.add(l4.ref, one())
	e.emit()

	if post != nil {
		v5.Add(&v5, post)
	}
	l5 := e.Alloc(v5)
	e.begin()
	addX(&e.a)
	e.b.add(l4.ref, one())
	if post != nil {
		var minus fr.Element
		e.c.add(refOne, *minus.Neg(post))
	}
	e.c.add(l5.ref, one())
	e.emit()
	return l5
}

func fifthPower(x fr.Element) (x2, x4, x5 fr.Element) {
	x2.Square(&x)
	x4.Square(&x2)
	x5.Mul(&x4, &x)
	return x2, x4, x5
}

func (e *expander) Unpack(x Num) [8]Word {
	words := canonicalWords(x.value)
	var out [8]Word
	var all [fr.Bits]Bit
	for i := range all {
		all[i] = e.AllocBit(words[i/32]>>(i%32)&1 == 1)
		out[i/32].setBit(i%32, all[i])
	}
	out[7].setBit(31, ConstBit(false))
	e.begin()
	for i, b := range all {
		e.c.addBit(b, pow2[i])
	}
	e.c.add(x.ref, minusOne())
	e.emit()
	return out
}

// canonicalWords is x as a 256-bit number, least significant word first.
func canonicalWords(x fr.Element) [8]uint32 {
	var w [8]uint32
	for i, v := range x.Bits() {
		w[2*i], w[2*i+1] = uint32(v), uint32(v>>32)
	}
	return w
}

func (e *expander) Pack(bs []Bit) Num {
	l := packed(bs)
	return e.Allocated(l)
}

func (e *expander) PackWords(ws []Word, n int) Num {
	return e.Pack(wordBits(ws, n))
}

func (e *expander) PackInput(bs []Bit) Num {
	l := packed(bs)
	v := e.AllocInput(l.value)
	e.begin()
	e.b.add(refOne, one())
	e.c.add(v.ref, one())
	e.row(l.terms, e.b, e.c)
	return v
}

func wordBits(ws []Word, n int) []Bit {
	bs := make([]Bit, n)
	for i := range bs {
		bs[i] = ws[i/32].Bit(i % 32)
	}
	return bs
}

// packed is Σ 2^i·b_i.
func packed(bs []Bit) LC {
	if len(bs) > fieldCapacity {
		panic("pce: more than 254 bits packed into a field element")
	}
	var l LC
	var t termList
	for i, b := range bs {
		if b.value {
			l.value.Add(&l.value, &pow2[i])
		}
		t.addBit(b, pow2[i])
	}
	l.terms = t.merged()
	return l
}

// pow2 holds 2^0 … 2^255.
var pow2 = func() (p [256]fr.Element) {
	p[0].SetOne()
	for i := 1; i < len(p); i++ {
		p[i].Double(&p[i-1])
	}
	return p
}()

func minusOne() fr.Element {
	e := one()
	e.Neg(&e)
	return e
}
