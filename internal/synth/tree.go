package synth

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
)

// tree is a Merkle tree in which all leaves but a few have one value.
type tree struct {
	arities []int
	levels  []map[uint64]fr.Element // nodes that differ from filler, leaves first, the root last
	filler  []fr.Element            // the value of all other nodes of a level
}

// hashFunc makes a node of its children.
type hashFunc = func(children []fr.Element) fr.Element

// newTree hashes a tree with the given arities, leaves first, over the given leaves; all others are filler. It looks at
// ctx before each hash and returns context.Cause(ctx) if ctx ends first.
func newTree(
	ctx context.Context, arities []int, leaves map[uint64]fr.Element, filler fr.Element, hash hashFunc,
) (*tree, error) {
	t := &tree{arities: arities, levels: []map[uint64]fr.Element{leaves}, filler: []fr.Element{filler}}
	for level, arity := range arities {
		same := make([]fr.Element, arity)
		for i := range same {
			same[i] = t.filler[level]
		}
		t.filler = append(t.filler, hash(same))
		parents := make(map[uint64]fr.Element)
		for node := range t.levels[level] {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			parent := node / uint64(arity)
			if _, done := parents[parent]; !done {
				parents[parent] = hash(t.children(level, parent))
			}
		}
		t.levels = append(t.levels, parents)
	}
	return t, nil
}

func (t *tree) at(level int, node uint64) fr.Element {
	if v, ok := t.levels[level][node]; ok {
		return v
	}
	return t.filler[level]
}

// children are the nodes of a level under a node of the level above.
func (t *tree) children(level int, parent uint64) []fr.Element {
	return childrenOf(t.at, level, t.arities[level], parent)
}

func (t *tree) root() fr.Element { return t.at(len(t.arities), 0) }

// path is the inclusion path of a leaf.
func (t *tree) path(leaf uint64) gadget.MerklePath { return pathOf(t.arities, t.at, leaf) }

// childrenOf are the arity nodes of a level under a node of the level above.
func childrenOf(at func(level int, node uint64) fr.Element, level, arity int, parent uint64) []fr.Element {
	out := make([]fr.Element, arity)
	for i := range out {
		out[i] = at(level, parent*uint64(arity)+uint64(i))
	}
	return out
}

// pathOf is the inclusion path of a leaf in the tree whose nodes at knows, leaves being on level 0.
func pathOf(arities []int, at func(level int, node uint64) fr.Element, leaf uint64) gadget.MerklePath {
	p := gadget.MerklePath{Root: at(len(arities), 0), Leaf: at(0, leaf), Levels: make([]gadget.PathElement, len(arities))}
	node := leaf
	for level, arity := range arities {
		index, parent := int(node%uint64(arity)), node/uint64(arity)
		children := childrenOf(at, level, arity, parent)
		p.Levels[level] = gadget.PathElement{Siblings: append(children[:index:index], children[index+1:]...), Index: index}
		node = parent
	}
	return p
}
