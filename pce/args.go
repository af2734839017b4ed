package pce

import (
	"encoding/binary"
	"fmt"
)

// slotTable finds the variables among a block's arguments and numbers them by first appearance.
type slotTable struct {
	frame   uint32
	refs    []ref
	index   map[ref]uint32
	foreign bool // an argument was no variable of the frame
}

func newSlotTable(frame uint32) *slotTable {
	return &slotTable{frame: frame, index: make(map[ref]uint32)}
}

func (s *slotTable) slot(x ref) uint32 {
	if x.frame() != s.frame {
		s.foreign = true
	}
	i, ok := s.index[x]
	if !ok {
		i = uint32(len(s.refs))
		s.index[x] = i
		s.refs = append(s.refs, x)
	}
	return i
}

// describe returns the key of a block, which is everything about the arguments that rows can depend
// on, and the arguments as a body sees them that runs in the given frame.
func (s *slotTable) describe(name string, in []Arg, frame uint32) (key string, args []Arg) {
	k := append([]byte(name), 0)
	inside := func(x ref) ref {
		if x == refOne {
			return x
		}
		return makeRef(frame, kindSlot, s.slot(x))
	}
	args = make([]Arg, len(in))
	for i, a := range in {
		args[i] = mapRefs(a, inside)
		k = s.appendKey(k, a)
	}
	return string(k), args
}

// Tags of the parts of a key.
const (
	tagNum = iota + 1
	tagConst0
	tagConst1
	tagIs
	tagNot
	tagWord
	tagLC
)

func (s *slotTable) appendKey(k []byte, a Arg) []byte {
	switch a := a.(type) {
	case Num:
		return binary.AppendUvarint(append(k, tagNum), uint64(s.slot(a.ref)))
	case Bit:
		return s.appendBit(k, a)
	case Word:
		k = append(k, tagWord)
		for i := range 32 {
			k = s.appendBit(k, a.Bit(i))
		}
		return k
	case LC:
		k = binary.AppendUvarint(append(k, tagLC), uint64(len(a.terms)))
		for _, t := range a.terms {
			v := uint64(0) // ONE
			if t.ref != refOne {
				v = 1 + uint64(s.slot(t.ref))
			}
			k = binary.AppendUvarint(k, v)
			b := t.coeff.Bytes()
			k = append(k, b[:]...)
		}
		return k
	}
	panic(fmt.Sprintf("pce: block argument of unknown type %T", a))
}

func (s *slotTable) appendBit(k []byte, b Bit) []byte {
	switch {
	case b.isConst(false):
		return append(k, tagConst0)
	case b.isConst(true):
		return append(k, tagConst1)
	case b.negated:
		return binary.AppendUvarint(append(k, tagNot), uint64(s.slot(b.ref)))
	}
	return binary.AppendUvarint(append(k, tagIs), uint64(s.slot(b.ref)))
}

// mapRefs is a with every variable's ref replaced.
func mapRefs(a Arg, f func(ref) ref) Arg {
	switch a := a.(type) {
	case Num:
		a.ref = f(a.ref)
		return a
	case Bit:
		if !a.constant {
			a.ref = f(a.ref)
		}
		return a
	case Word:
		if a.refs == nil {
			return a
		}
		refs := new(wordRefs)
		for i, x := range a.refs {
			if a.constant>>i&1 == 0 {
				refs[i] = f(x)
			}
		}
		a.refs = refs
		return a
	case LC:
		l := LC{value: a.value}
		for _, t := range a.terms {
			l.addTerm(f(t.ref), t.coeff)
		}
		return l
	}
	panic(fmt.Sprintf("pce: block argument of unknown type %T", a))
}

// eachRef calls f for every variable of a.
func eachRef(a Arg, f func(ref)) {
	mapRefs(a, func(x ref) ref {
		f(x)
		return x
	})
}

// sameResults says whether two lists of results name the same variables in the same way; values are
// of no account.
func sameResults(x, y []Arg) bool {
	const frame = 0
	s, t := newSlotTable(frame), newSlotTable(frame)
	kx, _ := s.describe("", x, frame)
	ky, _ := t.describe("", y, frame)
	if kx != ky || len(s.refs) != len(t.refs) {
		return false
	}
	for i := range s.refs {
		if s.refs[i] != t.refs[i] {
			return false
		}
	}
	return true
}
