package gadget

import (
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/pce"
)

// Select picks the element of from that index says, least significant bit first (§2.5). There are
// 2^len(index) elements: one row less than that.
func Select(b pce.Builder, from []pce.Num, index []pce.Bit) pce.Num {
	if len(from) != 1<<len(index) {
		b.Fail(fmt.Errorf("gadget: select among %d by %d bits", len(from), len(index)))
	}
	state := from
	for k := len(index) - 1; k >= 0; k-- {
		half := len(state) / 2
		next := make([]pce.Num, half)
		for j := range next {
			next[j] = b.Pick(index[k], state[half+j], state[j])
		}
		state = next
	}
	return state[0]
}

// Decompose allocates the n lowest bits of x, least significant first, and emits Σ 2^i·b_i * ONE = x
// (§2.4). It is the decomposition of storage-proofs-update, whose row has another shape than
// [pce.Builder]'s Unpack. n is at most 255.
func Decompose(b pce.Builder, x pce.Num, n int) []pce.Bit {
	if n > fr.Bits {
		b.Fail(fmt.Errorf("gadget: decomposition into %d bits", n))
	}
	out := b.Block(fmt.Sprintf("decompose-%d", n), []pce.Arg{x}, func(b pce.Builder, in []pce.Arg) []pce.Arg {
		x := in[0].(pce.Num)
		v := x.Value()
		words := v.Bits()
		out := make([]pce.Arg, n)
		var sum, one pce.LC
		power := fr.One()
		for i := range out {
			bit := b.AllocBit(words[i/64]>>(i%64)&1 == 1)
			sum.AddBit(bit, power)
			power.Double(&power)
			out[i] = bit
		}
		one.AddOne(fr.One())
		b.Enforce(sum, one, x.LC())
		return out
	})
	list := make([]pce.Bit, n)
	for i := range list {
		list[i] = out[i].(pce.Bit)
	}
	return list
}

// AllocPath allocates the siblings of a path, level by level.
func AllocPath(b pce.Builder, path []PathElement) [][]pce.Num {
	out := make([][]pce.Num, len(path))
	for i, level := range path {
		for _, s := range level.Siblings {
			out[i] = append(out[i], b.Alloc(s))
		}
	}
	return out
}

// InclusionAt proves that leaf is in the tree with the given root at the position that index says,
// lowest level first; index and siblings are allocated already (por_no_challenge_input, §4.2). There
// is no public input. An empty path proves that leaf is the root.
func InclusionAt(b pce.Builder, hash TreeHash, leaf pce.Num, index []pce.Bit, siblings [][]pce.Num, root pce.Num) {
	cur := leaf
	for _, level := range siblings {
		n := bits.Len(uint(len(level)))
		if n > len(index) {
			b.Fail(fmt.Errorf("gadget: index bits of a path run out at %d siblings", len(level)))
		}
		cur = hash.Sum(b, Insert(b, cur, index[:n], level))
		index = index[n:]
	}
	if len(index) != 0 {
		b.Fail(fmt.Errorf("gadget: %d index bits more than the path has levels for", len(index)))
	}
	b.Equal(cur, root)
}
