package gadget

import (
	"crypto/sha256"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/poseidon"
)

// MerklePath is an inclusion path from a leaf to the root: base levels, then sub, then top.
type MerklePath struct {
	Root, Leaf fr.Element
	Levels     []PathElement
}

// BlankPath is a path of zeros through a tree with the given arities, leaves first.
func BlankPath(arities []int) MerklePath {
	m := MerklePath{Levels: make([]PathElement, len(arities))}
	for i, a := range arities {
		m.Levels[i].Siblings = make([]fr.Element, a-1)
	}
	return m
}

// Validate tells whether the path has the shape that a tree with the given arities, leaves first,
// demands. It does not look at a hash.
func (m *MerklePath) Validate(arities []int) error {
	if len(m.Levels) != len(arities) {
		return fmt.Errorf("%d levels, want %d", len(m.Levels), len(arities))
	}
	for i, l := range m.Levels {
		if len(l.Siblings) != arities[i]-1 || l.Index < 0 || l.Index >= arities[i] {
			return fmt.Errorf("level %d: index %d among %d siblings, want arity %d", i, l.Index, len(l.Siblings), arities[i])
		}
	}
	return nil
}

// Index is the leaf's number, from the index at each level (§4).
func (m *MerklePath) Index() uint64 {
	var node uint64
	shift := 0
	for _, l := range m.Levels {
		node |= uint64(l.Index) << shift
		shift += log2(len(l.Siblings) + 1)
	}
	return node
}

// Climb is the root that leaf and siblings give. The path must be valid for a tree of arities up to 8.
func (m *MerklePath) Climb(hash func(children []fr.Element) fr.Element) fr.Element {
	return m.Node(len(m.Levels), hash)
}

// Node is the node that leaf and siblings give on a level: 0 is the leaf itself, len(m.Levels) the
// root.
func (m *MerklePath) Node(level int, hash func(children []fr.Element) fr.Element) fr.Element {
	var room [8]fr.Element
	cur := m.Leaf
	for _, l := range m.Levels[:level] {
		children := append(append(append(room[:0], l.Siblings[:l.Index]...), cur), l.Siblings[l.Index:]...)
		cur = hash(children)
	}
	return cur
}

// HashSealed is the native hash of the sealed trees, [PoseidonTree] without a circuit. It panics if
// there is no instance for as many children.
func HashSealed(children []fr.Element) fr.Element {
	return poseidon.ForArity(len(children)).Hash(children)
}

// HashData is the native hash of the data tree, [Sha256Tree] without a circuit: SHA-256 of two nodes,
// the top two bits cleared.
func HashData(children []fr.Element) fr.Element {
	var pair [2 * fr.Bytes]byte
	fr.LittleEndian.PutElement((*[fr.Bytes]byte)(pair[:fr.Bytes]), children[0])
	fr.LittleEndian.PutElement((*[fr.Bytes]byte)(pair[fr.Bytes:]), children[1])
	sum := sha256.Sum256(pair[:])
	sum[fr.Bytes-1] &= 0x3f
	e, err := fr.LittleEndian.Element(&sum)
	if err != nil {
		panic(err) // 254 bits are less than the modulus
	}
	return e
}
