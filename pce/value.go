package pce

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// ref names a variable inside one frame (one execution of a block body, or the top level). The zero
// ref belongs to no frame: it is what values carry while a witness is made, where nobody asks which
// variable a value is. Two variables of a frame are equal exactly when their refs are.
//
//	63      32 31   29 28    0
//	[ frame  ] [kind ] [index]
type ref uint64

// kind is the space in which a ref's index counts.
type kind uint32

const (
	kindNone  kind = iota
	kindOne        // the constant ONE, input 0 of the whole system
	kindInput      // public input
	kindBit        // private variable that is 0 or 1
	kindDense      // private variable of any value
	kindSlot       // variable that came in through the block's arguments
)

const (
	kindShift = 29
	maxIndex  = 1<<kindShift - 1
)

// refOne is the same in every frame.
const refOne = ref(kindOne) << kindShift

func makeRef(frame uint32, k kind, index uint32) ref {
	return ref(frame)<<32 | ref(k)<<kindShift | ref(index)
}

func (r ref) frame() uint32 { return uint32(r >> 32) }
func (r ref) kind() kind    { return kind(uint32(r) >> kindShift) }
func (r ref) index() uint32 { return uint32(r) & maxIndex }

// packed is the ref without its frame, as templates store it.
func (r ref) packed() uint32 { return uint32(r) }

// Num is an allocated variable of any value together with that value.
//
// While structure is recorded the value is whatever the blank circuit carries; while a witness is
// made the variable's name is absent. Circuit code can see neither difference.
type Num struct {
	value fr.Element
	ref   ref
}

// Value is the variable's value.
func (n Num) Value() fr.Element { return n.value }

// LC is the combination 1·n.
func (n Num) LC() LC {
	var l LC
	l.AddNum(n, one())
	return l
}

// Bit is a Boolean: a constant, an allocated variable that is 0 or 1, or the negation of one.
type Bit struct {
	value    bool
	constant bool
	negated  bool
	ref      ref
}

// ConstBit is a Boolean that no variable stands for.
func ConstBit(v bool) Bit { return Bit{value: v, constant: true} }

// Value is the Boolean's value, negation included.
func (b Bit) Value() bool { return b.value }

// Not is the negation; it costs no variable and no row.
func (b Bit) Not() Bit {
	b.value = !b.value
	b.negated = !b.negated && !b.constant
	return b
}

// LC is the combination that has the Boolean's value.
func (b Bit) LC() LC {
	var l LC
	l.AddBit(b, one())
	return l
}

// Num is the variable behind an un-negated allocated Bit.
func (b Bit) Num() Num {
	if b.constant || b.negated {
		panic("pce: Num of a constant or negated bit")
	}
	n := Num{ref: b.ref}
	if b.value {
		n.value.SetOne()
	}
	return n
}

// Word is 32 Booleans, least significant first. In which positions it has constants and which
// variables it negates decides what an operation on it allocates; both masks are the same whether
// structure is recorded or a witness is made.
type Word struct {
	value    uint32
	constant uint32    // positions that are constants
	negated  uint32    // positions that are negations of a variable; never a constant position
	refs     *wordRefs // nil while a witness is made, and for words without variables
}

type wordRefs [32]ref

// ConstWord is a word of 32 constants.
func ConstWord(v uint32) Word { return Word{value: v, constant: ^uint32(0)} }

// Value is the word's value, negations included.
func (w Word) Value() uint32 { return w.value }

// raw is the value of the variables behind the word (of no meaning at constant positions).
func (w Word) raw() uint32 { return w.value ^ w.negated }

// Bit is the Boolean at position i, 0 being the least significant.
func (w Word) Bit(i int) Bit {
	b := Bit{value: w.value>>i&1 == 1, constant: w.constant>>i&1 == 1, negated: w.negated>>i&1 == 1}
	if w.refs != nil && !b.constant {
		b.ref = w.refs[i]
	}
	return b
}

// WordOf makes a word of at most 32 Booleans; missing ones are constant 0.
func WordOf(bs []Bit) Word {
	if len(bs) > 32 {
		panic("pce: more than 32 bits in a word")
	}
	w := Word{constant: ^uint32(0)}
	for i, b := range bs {
		w.setBit(i, b)
	}
	return w
}

func (w *Word) setBit(i int, b Bit) {
	m := uint32(1) << i
	w.value &^= m
	w.constant &^= m
	w.negated &^= m
	if b.value {
		w.value |= m
	}
	if b.constant {
		w.constant |= m
		return
	}
	if b.negated {
		w.negated |= m
	}
	if b.ref != 0 {
		if w.refs == nil {
			w.refs = new(wordRefs)
		}
		w.refs[i] = b.ref
	}
}

// RotR rotates right by k positions; no row.
func (w Word) RotR(k int) Word {
	r := Word{
		value:    bits.RotateLeft32(w.value, -k),
		constant: bits.RotateLeft32(w.constant, -k),
		negated:  bits.RotateLeft32(w.negated, -k),
	}
	if w.refs != nil {
		r.show(w, func(i int) int { return (i + k) & 31 })
	}
	return r
}

// Shr shifts right by k positions and fills with constant 0; no row.
func (w Word) Shr(k int) Word {
	filled := ^(^uint32(0) >> k)
	r := Word{value: w.value >> k, constant: w.constant>>k | filled, negated: w.negated >> k}
	if w.refs != nil {
		r.show(w, func(i int) int { return i + k })
	}
	return r
}

// ByteSwap reverses the order of the four bytes; no row.
func (w Word) ByteSwap() Word {
	r := Word{
		value:    bits.ReverseBytes32(w.value),
		constant: bits.ReverseBytes32(w.constant),
		negated:  bits.ReverseBytes32(w.negated),
	}
	if w.refs != nil {
		r.show(w, func(i int) int { return (3-i/8)*8 + i%8 })
	}
	return r
}

// show makes position i of w, unless it is a constant, stand for the variable at position from(i) of o.
func (w *Word) show(o Word, from func(i int) int) {
	w.refs = new(wordRefs)
	for i := range w.refs {
		if w.constant>>i&1 == 0 {
			w.refs[i] = o.refs[from(i)]
		}
	}
}

func one() fr.Element {
	var e fr.Element
	e.SetOne()
	return e
}
