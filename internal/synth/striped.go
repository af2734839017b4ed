package synth

import (
	"context"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
)

// stripedTree is a Merkle tree whose leaves are a few values, each in one stretch of equal length.
type stripedTree struct {
	arities []int
	// On level i, node n has the value values[i][n>>shift[i]]: the lower levels are striped like the
	// leaves, from where a parent has different children on there is a value for each node.
	values [][]fr.Element
	shift  []int
}

// newStripedTree hashes a tree with the given arities, leaves first. The number of stripes must be a
// power of two and at most that of the leaves. It looks at ctx before each hash and returns context.Cause(ctx) if ctx ends
// first.
func newStripedTree(ctx context.Context, arities []int, stripes []fr.Element, hash hashFunc) (*stripedTree, error) {
	t := &stripedTree{arities: arities, values: [][]fr.Element{stripes}, shift: []int{0}}
	for _, arity := range arities {
		t.shift[0] += log2(arity)
	}
	t.shift[0] -= log2(len(stripes))
	for level, arity := range arities {
		below := t.values[level]
		shift := t.shift[level] - log2(arity)
		n := len(below)
		if shift < 0 { // some parents have children in several stripes
			n >>= -shift
		}
		parents := make([]fr.Element, n)
		for i := range parents {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			parents[i] = hash(childrenOf(t.at, level, arity, uint64(i)<<max(shift, 0)))
		}
		t.values, t.shift = append(t.values, parents), append(t.shift, max(shift, 0))
	}
	return t, nil
}

func (t *stripedTree) at(level int, node uint64) fr.Element {
	return t.values[level][node>>t.shift[level]]
}

func (t *stripedTree) root() fr.Element { return t.at(len(t.arities), 0) }

func (t *stripedTree) path(leaf uint64) gadget.MerklePath { return pathOf(t.arities, t.at, leaf) }

// log2 of a power of two.
func log2(n int) int { return bits.Len(uint(n)) - 1 }
