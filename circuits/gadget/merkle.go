package gadget

import (
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/pce"
)

// Insert returns siblings with x put in at the position that index says, least significant bit first
// (§2.5). There are 1, 3 or 7 siblings: 2, 8 or 22 rows.
func Insert(b pce.Builder, x pce.Num, index []pce.Bit, siblings []pce.Num) []pce.Num {
	if 1<<len(index) != len(siblings)+1 {
		b.Fail(fmt.Errorf("gadget: insert among %d siblings by %d bits", len(siblings), len(index)))
	}
	switch len(siblings) {
	case 1:
		return insert2(b, x, index, siblings)
	case 3:
		return insert4(b, x, index, siblings)
	case 7:
		return insert8(b, x, index, siblings)
	}
	b.Fail(fmt.Errorf("gadget: insert among %d siblings, want 1, 3 or 7", len(siblings)))
	return nil
}

func insert2(b pce.Builder, x pce.Num, i []pce.Bit, s []pce.Num) []pce.Num {
	return []pce.Num{b.Pick(i[0], s[0], x), b.Pick(i[0], x, s[0])}
}

func insert4(b pce.Builder, x pce.Num, i []pce.Bit, s []pce.Num) []pce.Num {
	p0 := b.Pick(i[1], s[0], b.Pick(i[0], s[0], x))
	p1 := b.Pick(i[1], s[1], b.Pick(i[0], x, s[0]))
	p2 := b.Pick(i[1], b.Pick(i[0], s[2], x), s[1])
	p3 := b.Pick(i[1], b.Pick(i[0], x, s[2]), s[2])
	return []pce.Num{p0, p1, p2, p3}
}

func insert8(b pce.Builder, x pce.Num, i []pce.Bit, s []pce.Num) []pce.Num {
	first, last := b.Nor(i[0], i[1]), b.And(i[0], i[1]) // x is first, or last, in its half
	p0 := b.Pick(i[2], s[0], b.Pick(first, x, s[0]))
	p1 := b.Pick(i[2], s[1], b.Pick(i[1], s[1], b.Pick(i[0], x, s[0])))
	p2 := b.Pick(i[2], s[2], b.Pick(i[1], b.Pick(i[0], s[2], x), s[1]))
	p3 := b.Pick(i[2], s[3], b.Pick(last, x, s[2]))
	p4 := b.Pick(i[2], b.Pick(first, x, s[4]), s[3])
	p5 := b.Pick(i[2], b.Pick(i[1], s[5], b.Pick(i[0], x, s[4])), s[4])
	p6 := b.Pick(i[2], b.Pick(i[1], b.Pick(i[0], s[6], x), s[5]), s[5])
	p7 := b.Pick(i[2], b.Pick(last, x, s[6]), s[6])
	return []pce.Num{p0, p1, p2, p3, p4, p5, p6, p7}
}

// TreeHash hashes the children of a tree node.
type TreeHash struct {
	Name string
	Sum  func(b pce.Builder, children []pce.Num) pce.Num
}

// PoseidonTree is the hash of the sealed trees, any arity that has an instance.
func PoseidonTree() TreeHash {
	return TreeHash{Name: "poseidon", Sum: func(b pce.Builder, children []pce.Num) pce.Num {
		if !poseidon.Supported(len(children)) {
			b.Fail(fmt.Errorf("gadget: no poseidon instance for %d children", len(children)))
		}
		return Poseidon(b, poseidon.ForArity(len(children)), children)
	}}
}

// Sha256Tree is the hash of the binary data tree.
func Sha256Tree() TreeHash {
	return TreeHash{Name: "sha256", Sum: func(b pce.Builder, children []pce.Num) pce.Num {
		if len(children) != 2 {
			b.Fail(fmt.Errorf("gadget: sha256 tree node with %d children", len(children)))
		}
		return Sha256Pair(b, children[0], children[1])
	}}
}

// PathElement is one level of a Merkle path as the circuit takes it in.
type PathElement struct {
	Siblings []fr.Element // in order, the node's own place left out
	Index    int          // the node's place among its parent's children
}

// MerkleRoot climbs a path from leaf, allocating index bits and siblings level by level, and returns
// the root it arrives at and all index bits, lowest level first (§4.1 step 2).
func MerkleRoot(b pce.Builder, hash TreeHash, leaf pce.Num, path []PathElement) (root pce.Num, index []pce.Bit) {
	cur := leaf
	for _, level := range path {
		n := bits.Len(uint(len(level.Siblings)))
		levelBits := make([]pce.Bit, n)
		for k := range levelBits {
			levelBits[k] = b.AllocBit(level.Index>>k&1 == 1)
		}
		siblings := make([]pce.Num, len(level.Siblings))
		for k, s := range level.Siblings {
			siblings[k] = b.Alloc(s)
		}
		cur = hash.Sum(b, Insert(b, cur, levelBits, siblings))
		index = append(index, levelBits...)
	}
	return cur, index
}

// Inclusion proves that leaf is in the tree with the given root, at a position that becomes a public
// input (PoRCircuit with a private root, §4.1).
func Inclusion(b pce.Builder, hash TreeHash, leaf pce.Num, path []PathElement, root pce.Num) {
	name := "inclusion-" + hash.Name
	for _, level := range path {
		name += fmt.Sprintf("-%d", len(level.Siblings)+1)
	}
	b.Block(name, []pce.Arg{leaf, root}, func(b pce.Builder, in []pce.Arg) []pce.Arg {
		computed, index := MerkleRoot(b, hash, in[0].(pce.Num), path)
		b.PackInput(index)
		b.Equal(computed, in[1].(pce.Num))
		return nil
	})
}
