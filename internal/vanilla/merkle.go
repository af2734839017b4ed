package vanilla

import (
	"encoding/binary"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
)

// Merkle reads the proof of a leaf in a tree of a shape (§8.1). levels are the tree's arities from
// the leaves to the root, as [gadget.Shape.Levels] gives them.
func (r *Reader) Merkle(shape gadget.Shape, levels []int) gadget.MerklePath {
	m := gadget.MerklePath{Levels: make([]gadget.PathElement, len(levels))}
	r.In("data", func() {
		r.variant(variantNumber(shape))
		r.In(shape.Variant(), func() {
			ends := func() { m.Root, m.Leaf = r.Element("root"), r.Element("leaf") }
			if shape.Sub == 0 { // the reference has root and leaf first here, and last elsewhere
				ends()
			}
			for _, p := range shape.Parts(len(levels)) {
				r.In(p.Name, func() { r.inclusionPath(m.Levels[p.From:p.To], levels[p.From:p.To]) })
			}
			if shape.Sub != 0 {
				ends()
			}
		})
	})
	return m
}

func (r *Reader) inclusionPath(out []gadget.PathElement, arities []int) {
	r.List("path", len(out), func(i int) {
		siblings := make([]fr.Element, arities[i]-1)
		r.Elements("hashes", siblings)
		out[i] = gadget.PathElement{Siblings: siblings, Index: r.below("index", arities[i])}
	})
}

// variantNumber is the number of the variant of a proof in a tree of this shape.
func variantNumber(s gadget.Shape) uint32 {
	switch {
	case s.Sub == 0:
		return 0
	case s.Top == 0:
		return 1
	}
	return 2
}

// MerkleSize is how many bytes such a proof takes.
func MerkleSize(shape gadget.Shape, levels []int) int {
	n := 4 + 2*fr.Bytes + 8*len(shape.Parts(len(levels)))
	for _, arity := range levels {
		n += 8 + (arity-1)*fr.Bytes + 8
	}
	return n
}

// AppendMerkle appends the proof that [Reader.Merkle] reads. A path with fewer levels than the shape has is written as
// far as it goes.
func AppendMerkle(dst []byte, shape gadget.Shape, m *gadget.MerklePath) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, variantNumber(shape))
	ends := func() { dst = AppendElement(AppendElement(dst, m.Root), m.Leaf) }
	if shape.Sub == 0 {
		ends()
	}
	for _, p := range shape.Parts(len(m.Levels)) {
		dst = appendInclusionPath(dst, m.Levels[max(p.From, 0):max(p.To, 0)])
	}
	if shape.Sub != 0 {
		ends()
	}
	return dst
}

func appendInclusionPath(dst []byte, levels []gadget.PathElement) []byte {
	dst = AppendUint64(dst, uint64(len(levels)))
	for _, l := range levels {
		dst = AppendElements(dst, l.Siblings)
		dst = AppendUint64(dst, uint64(l.Index))
	}
	return dst
}

// AppendElements appends a sequence of field elements.
func AppendElements(dst []byte, es []fr.Element) []byte {
	dst = AppendUint64(dst, uint64(len(es)))
	for _, e := range es {
		dst = AppendElement(dst, e)
	}
	return dst
}

// AppendElement appends a field element.
func AppendElement(dst []byte, e fr.Element) []byte {
	b := Bytes(e)
	return append(dst, b[:]...)
}

// AppendUint64 appends a number.
func AppendUint64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// Bytes is a field element as proofs and chain values have it: 32 bytes little-endian.
func Bytes(e fr.Element) (b [fr.Bytes]byte) {
	fr.LittleEndian.PutElement(&b, e)
	return b
}
