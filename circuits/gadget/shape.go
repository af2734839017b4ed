package gadget

import (
	"fmt"
	"math/bits"
)

// Shape is the arities of a tree: levels of arity Base, then one level of arity Sub and one of arity
// Top. Sub, or Sub and Top, may be 0: then there is no such level (§4).
type Shape struct{ Base, Sub, Top int }

// SealedShape is the shape of the sealed trees of a sector size (bytes, §5.1 and §7.1); ok is false
// for sizes that Filecoin does not have.
func SealedShape(sectorSize uint64) (s Shape, ok bool) {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	switch sectorSize {
	case 2 * kib, 8 * mib, 512 * mib:
		return Shape{Base: 8}, true
	case 4 * kib, 16 * mib, 1 * gib:
		return Shape{Base: 8, Sub: 2}, true
	case 1 * kib, 8 * kib:
		return Shape{Base: 8, Sub: 4}, true
	case 16 * kib, 32 * gib:
		return Shape{Base: 8, Sub: 8}, true
	case 32 * kib, 64 * gib:
		return Shape{Base: 8, Sub: 8, Top: 2}, true
	}
	return Shape{}, false
}

// Fits tells whether the arities are 2, 4 or 8 and a tree of 2^logLeaves leaves has whole levels, at
// least one of them of the base.
func (s Shape) Fits(logLeaves int) bool {
	known := func(arity int) bool { return arity == 2 || arity == 4 || arity == 8 }
	if !known(s.Base) || s.Sub == 0 && s.Top != 0 {
		return false
	}
	for _, arity := range []int{s.Sub, s.Top} {
		if arity != 0 {
			if !known(arity) {
				return false
			}
			logLeaves -= log2(arity)
		}
	}
	return logLeaves > 0 && logLeaves%log2(s.Base) == 0
}

// Levels are the arities of a tree of 2^logLeaves leaves from the leaves to the root: the base
// levels, then sub and top if there are any. The shape must fit.
func (s Shape) Levels(logLeaves int) []int {
	rest := logLeaves
	var upper []int
	for _, arity := range []int{s.Sub, s.Top} {
		if arity != 0 {
			upper = append(upper, arity)
			rest -= log2(arity)
		}
	}
	levels := make([]int, rest/log2(s.Base), logLeaves)
	for i := range levels {
		levels[i] = s.Base
	}
	return append(levels, upper...)
}

// Variant is the name that the reference gives to proofs in a tree of this shape (§8.1).
func (s Shape) Variant() string {
	switch {
	case s.Sub == 0:
		return "Single"
	case s.Top == 0:
		return "Sub"
	}
	return "Top"
}

// Parts are the fields of a proof of the variant that hold the n levels of a path.
func (s Shape) Parts(n int) []PathPart {
	switch {
	case s.Sub == 0:
		return []PathPart{{"path", 0, n}}
	case s.Top == 0:
		return []PathPart{{"base_proof", 0, n - 1}, {"sub_proof", n - 1, n}}
	}
	return []PathPart{{"base_proof", 0, n - 2}, {"sub_proof", n - 2, n - 1}, {"top_proof", n - 1, n}}
}

// PathPart is the field of a proof that holds levels From to To−1 of its path.
type PathPart struct {
	Name     string
	From, To int
}

// String is the shape as the reference writes it, "8-8-2".
func (s Shape) String() string { return fmt.Sprintf("%d-%d-%d", s.Base, s.Sub, s.Top) }

// log2 of a power of two.
func log2(n int) int { return bits.Len(uint(n)) - 1 }
