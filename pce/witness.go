package pce

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Witness is an assignment in packed form: public inputs, one bit for each private variable known to
// be 0 or 1, and a field element for each other one. Which variable is which is the layout's
// business. A PoRep-32GiB partition takes some 70 MB in place of 4.2 GB.
type Witness struct {
	Inputs  []fr.Element // ONE first
	Bits    []uint64     // in order of allocation, least significant bit first
	NumBits int
	Dense   []fr.Element // in order of allocation
	Layout  [32]byte     // digest of the order of allocation
}

// Bit is the value of the i-th private variable of the bit class.
func (w *Witness) Bit(i int) bool { return w.Bits[i>>6]>>(i&63)&1 == 1 }

// WitnessOptions tunes [MakeWitness]. Nil means the defaults.
type WitnessOptions struct {
	// Workers bounds the goroutines that make blocks side by side; 0 means GOMAXPROCS.
	Workers int
	// Reuse is a witness that is no longer needed, of the same circuit if this is to be of use: its memory is taken for
	// the new one, and it is empty afterwards. Nil: all memory is new.
	Reuse *Witness
}

// MakeWitness runs a circuit for its values and returns the packed assignment. It stops early, with
// the cause, when ctx ends.
//
// Of all constraints it looks at those of Equal alone, and returns an ErrUnsatisfied for the first one that
// does not hold. In Filecoin's circuits these are where computed roots meet given ones, so that a witness
// that is made at all is a right one, without hashing anything twice. In general whether values satisfy the
// rows is for [Check] or for the verification of the proof to say.
func MakeWitness(ctx context.Context, synthesize func(Builder) error, o *WitnessOptions) (*Witness, error) {
	if o == nil {
		o = &WitnessOptions{}
	}
	t := &tracer{ctx: ctx, workers: o.Workers}
	if t.workers <= 0 {
		t.workers = runtime.GOMAXPROCS(0)
	}
	if old := o.Reuse; old != nil {
		t.inputs, t.bits.words, t.dense.open = old.Inputs[:0], old.Bits[:0], old.Dense[:0]
		*old = Witness{}
	}
	t.inputs = append(t.inputs, one())
	if err := guard(func() error { return synthesize(t) }); err != nil {
		return nil, fmt.Errorf("pce: witness: %w", err)
	}
	t.closeRun()
	return &Witness{
		Inputs: t.inputs, Bits: t.bits.packed(), NumBits: t.bits.n, Dense: t.dense.flat(),
		Layout: layoutDigest(len(t.inputs), slices.Values(t.layout)),
	}, nil
}

// tracer makes a witness. It allocates without rows and without names.
type tracer struct {
	ctx     context.Context
	workers int
	inputs  []fr.Element
	bits    bitWriter
	dense   chunks
	layout  runCounts
	runBits int // bits in the open run; 0: the open run is dense
	runNums int

	arguments []fr.Element // scratch of Apply
}

func (t *tracer) addBits(v uint64, n int) {
	if n == 0 {
		return
	}
	if t.runNums > 0 {
		t.closeRun()
	}
	t.runBits += n
	t.bits.append(v, n)
}

func (t *tracer) addDense(v fr.Element) Num {
	if t.runBits > 0 {
		t.closeRun()
	}
	t.runNums++
	t.dense.append(v)
	return Num{value: v}
}

func (t *tracer) closeRun() {
	t.layout.add(t.runBits, true)
	t.layout.add(t.runNums, false)
	t.runBits, t.runNums = 0, 0
}

func (t *tracer) Fail(err error) { panic(newFailure(err)) }

func (t *tracer) Within(_ string, f func()) { f() }

func (t *tracer) Alloc(v fr.Element) Num { return t.addDense(v) }

func (t *tracer) AllocInput(v fr.Element) Num {
	t.inputs = append(t.inputs, v)
	return Num{value: v}
}

func (t *tracer) AllocBit(v bool) Bit {
	t.addBits(uint64(bit(v)), 1)
	return Bit{value: v}
}

func (t *tracer) AllocWord(v uint32) Word {
	t.addBits(uint64(v), 32)
	return Word{value: v}
}

func (t *tracer) Enforce(_, _, _ LC) {}

func (t *tracer) Mul(x, y Num) Num {
	var v fr.Element
	return t.addDense(*v.Mul(&x.value, &y.value))
}

func (t *tracer) Equal(x, y Num) {
	if !x.value.Equal(&y.value) {
		t.Fail(fmt.Errorf("%w: %s equals %s", ErrUnsatisfied, x.value.Text(16), y.value.Text(16)))
	}
}

func (t *tracer) Inputize(x Num) Num { return t.AllocInput(x.value) }

func (t *tracer) Pick(cond Bit, a, b Num) Num {
	if cond.value {
		return t.addDense(a.value)
	}
	return t.addDense(b.value)
}

func (t *tracer) And(a, b Bit) Bit { return t.and(and(a, b)) }

func (t *tracer) Nor(a, b Bit) Bit { return t.and(and(a.Not(), b.Not())) }

func (t *tracer) and(p conjunction) Bit {
	if !p.alloc {
		return p.result
	}
	return t.variable(p.x.value && p.y.value)
}

// variable allocates a Boolean that rows other than its own make one.
func (t *tracer) variable(v bool) Bit { return t.AllocBit(v) }

func (t *tracer) Allocated(l LC) Num { return t.addDense(l.value) }

func (t *tracer) SBox(l Num, pre, post *fr.Element) Num {
	x := l.value
	if pre != nil {
		x.Add(&x, pre)
	}
	x2, x4, x5 := fifthPower(x)
	t.addDense(x2)
	t.addDense(x4)
	if post != nil {
		x5.Add(&x5, post)
	}
	return t.addDense(x5)
}

func (t *tracer) Unpack(x Num) [8]Word {
	var out [8]Word
	for i, v := range x.value.Bits() {
		n := min(64, fr.Bits-64*i)
		t.addBits(v, n)
		out[2*i].value, out[2*i+1].value = uint32(v), uint32(v>>32)
	}
	out[7].constant = 1 << 31
	return out
}

func (t *tracer) Pack(bs []Bit) Num { return t.addDense(packedValue(bs)) }

func (t *tracer) PackInput(bs []Bit) Num { return t.AllocInput(packedValue(bs)) }

func packedValue(bs []Bit) fr.Element {
	if len(bs) > fieldCapacity {
		panic("pce: more than 254 bits packed into a field element")
	}
	var words [4]uint64
	for i, b := range bs {
		words[i/64] |= uint64(bit(b.value)) << (i % 64)
	}
	return fromBits(words)
}

func (t *tracer) PackWords(ws []Word, n int) Num {
	if n > fieldCapacity {
		panic("pce: more than 254 bits packed into a field element")
	}
	var words [4]uint64
	for i := 0; i < n; i += 32 {
		v := ws[i/32].value
		if n-i < 32 {
			v &= 1<<(n-i) - 1
		}
		words[i/64] |= uint64(v) << (i % 64)
	}
	return t.addDense(fromBits(words))
}

// fromBits is the field element of a number below 2^254.
func fromBits(w [4]uint64) fr.Element {
	// The limbs are put in as they are and then brought into Montgomery form: x·R² · R⁻¹ = x·R.
	e := fr.Element(w)
	return *e.Mul(&e, &montgomerySquare)
}

// montgomerySquare is R² in the representation of fr.Element, i.e. the element R.
var montgomerySquare = func() fr.Element {
	var e fr.Element
	e.SetOne() // the limbs of R mod r
	raw := e
	// Doubling R 256 times gives R·2^256 = R² mod r.
	for range 256 {
		raw.Double(&raw)
	}
	return raw
}()

func (t *tracer) CloseMultiEq(*MultiEq) {}

func (t *tracer) AddMany(_ *MultiEq, words []Word) Word {
	sum, constant := addWords(words)
	if constant {
		return ConstWord(uint32(sum))
	}
	t.addBits(sum, sumWidth(len(words)))
	return Word{value: uint32(sum)}
}

func (t *tracer) Xor(a, b Word) Word {
	both := a.constant | b.constant
	r := Word{value: a.value ^ b.value, constant: a.constant & b.constant}
	// Where one operand is constant the result is the other, negated by a constant 1.
	r.negated = (a.negated^b.negated)&^both |
		(b.negated^a.value)&a.constant&^b.constant |
		(a.negated^b.value)&b.constant&^a.constant
	t.addSelected(r.raw(), ^both)
	return r
}

// addSelected appends the bits of v at the positions in mask, from the lowest up.
func (t *tracer) addSelected(v, mask uint32) {
	low := bits.TrailingZeros32(^mask)
	if mask>>low == 0 { // a contiguous stretch from bit 0: all but words with scattered constants
		t.addBits(uint64(v)&(1<<low-1), low)
		return
	}
	var out uint64
	n := 0
	for ; mask != 0; mask &= mask - 1 {
		out |= uint64(v>>bits.TrailingZeros32(mask)&1) << n
		n++
	}
	t.addBits(out, n)
}

func (t *tracer) Ch(a, b, c Word) Word {
	if a.constant|b.constant|c.constant == 0 {
		v := c.value ^ a.value&(b.value^c.value)
		t.addBits(uint64(v), 32)
		return Word{value: v}
	}
	return t.eachBit(a, b, c, func(x, y, z Bit) Bit {
		if r, ok := t.folded(ch(x, y, z)); ok {
			return r
		}
		return t.variable(chValue(x, y, z))
	})
}

func (t *tracer) Maj(a, b, c Word) Word {
	if a.constant|b.constant|c.constant == 0 {
		bc := b.value & c.value
		v := bc | a.value&(b.value|c.value)
		t.addBits(spread(v)|spread(bc)<<1, 64)
		return Word{value: v}
	}
	return t.eachBit(a, b, c, func(x, y, z Bit) Bit {
		if r, ok := t.folded(maj(x, y, z)); ok {
			return r
		}
		v := t.variable(majValue(x, y, z))
		t.and(and(y, z))
		return v
	})
}

func (t *tracer) eachBit(a, b, c Word, f func(x, y, z Bit) Bit) Word {
	var w Word
	for i := range 32 {
		w.setBit(i, f(a.Bit(i), b.Bit(i), c.Bit(i)))
	}
	return w
}

func (t *tracer) folded(p choice) (_ Bit, ok bool) {
	switch p.form {
	case formFolded:
		return p.result, true
	case formAnd:
		r := t.and(and(p.x, p.y))
		if p.negated {
			r = r.Not()
		}
		return r, true
	}
	return Bit{}, false
}

// spread puts bit i of v at position 2i.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func (t *tracer) Block(_ string, in []Arg, body Body) []Arg { return body(t, in) }
