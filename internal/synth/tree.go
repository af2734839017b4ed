package synth

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/porep"
)

// tree is a Merkle tree in which all leaves but a few have one value.
type tree struct {
	arities []int
	levels  []map[uint64]fr.Element // nodes that differ from filler, leaves first, the root last
	filler  []fr.Element            // the value of all other nodes of a level
}

// newTree hashes a tree with the given arities, leaves first, over the given leaves; all others are filler.
func newTree(arities []int, leaves map[uint64]fr.Element, filler fr.Element, hash func(children []fr.Element) fr.Element) *tree {
	t := &tree{arities: arities, levels: []map[uint64]fr.Element{leaves}, filler: []fr.Element{filler}}
	for level, arity := range arities {
		same := make([]fr.Element, arity)
		for i := range same {
			same[i] = t.filler[level]
		}
		t.filler = append(t.filler, hash(same))
		parents := make(map[uint64]fr.Element)
		for node := range t.levels[level] {
			parent := node / uint64(arity)
			if _, done := parents[parent]; !done {
				parents[parent] = hash(t.children(level, parent))
			}
		}
		t.levels = append(t.levels, parents)
	}
	return t
}

func (t *tree) at(level int, node uint64) fr.Element {
	if v, ok := t.levels[level][node]; ok {
		return v
	}
	return t.filler[level]
}

// children are the nodes of a level under a node of the level above.
func (t *tree) children(level int, parent uint64) []fr.Element {
	out := make([]fr.Element, t.arities[level])
	for i := range out {
		out[i] = t.at(level, parent*uint64(len(out))+uint64(i))
	}
	return out
}

func (t *tree) root() fr.Element { return t.at(len(t.arities), 0) }

// path is the inclusion path of a leaf.
func (t *tree) path(leaf uint64) porep.MerklePath {
	p := porep.MerklePath{Root: t.root(), Leaf: t.at(0, leaf), Levels: make([]porep.PathElement, len(t.arities))}
	node := leaf
	for level, arity := range t.arities {
		index, parent := int(node%uint64(arity)), node/uint64(arity)
		children := t.children(level, parent)
		p.Levels[level] = porep.PathElement{Siblings: append(children[:index:index], children[index+1:]...), Index: index}
		node = parent
	}
	return p
}
