package kernels

import (
	"fmt"
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/pce"
)

// spmvCircuits are circuits that together have every kind of list, slot and template.
func spmvCircuits() map[string]func(pce.Builder) error {
	cs := map[string]func(pce.Builder) error{
		"inputs only": func(b pce.Builder) error { b.AllocInput(fr.NewElement(3)); return nil },
		"one row": func(b pce.Builder) error {
			x := b.Alloc(fr.NewElement(3))
			b.Mul(x, x)
			return nil
		},
		"no dense": func(b pce.Builder) error {
			b.PackInput([]pce.Bit{b.AllocBit(true), b.AllocBit(false).Not(), b.AllocBit(true)})
			return nil
		},
		"words": func(b pce.Builder) error {
			x, y := b.AllocWord(0x12345678), b.AllocWord(0xfedcba98)
			z := b.Ch(x.RotR(3), y, b.Xor(x, y.Shr(7)))
			var eq pce.MultiEq
			for range 8 {
				z = b.AddMany(&eq, []pce.Word{x, z, y.RotR(9), pce.ConstWord(0x9abcdef0)})
			}
			b.CloseMultiEq(&eq)
			b.PackWords([]pce.Word{x, y.ByteSwap(), z}, 95)
			b.Unpack(b.Pack([]pce.Bit{z.Bit(1)}))
			return nil
		},
		"sha256": func(b pce.Builder) error {
			var block [16]pce.Word
			for i := range block {
				block[i] = b.AllocWord(uint32(i) * 0x9e3779b9)
			}
			gadget.Sha256(b, block[:])
			return nil
		},
		"sha256 pair": func(b pce.Builder) error {
			gadget.Sha256Pair(b, b.Alloc(fr.NewElement(1<<40)), b.Alloc(fr.NewElement(77)))
			return nil
		},
		"poseidon": func(b pce.Builder) error {
			x := []pce.Num{b.AllocInput(fr.NewElement(9)), b.AllocBit(true).Num()}
			for range 3 {
				x[0] = gadget.Poseidon(b, poseidon.ForArity(2), x)
				x[1] = gadget.Poseidon(b, poseidon.ForArity(2), []pce.Num{x[1], x[0]})
			}
			return nil
		},
		"blocks": randomCircuit,
	}
	for _, p := range []enginetest.Pattern{enginetest.Random, enginetest.Bits, enginetest.MinusOne} {
		for _, n := range []int{2, 5, 300} {
			cs[fmt.Sprintf("%s %d", p, n)] = enginetest.Generate(n, p).Synthesize
		}
	}
	return cs
}

// randomCircuit has blocks three deep, whose slots stand for inputs, bits and dense variables by turns.
func randomCircuit(b pce.Builder) error {
	r := rand.New(rand.NewPCG(1, 2))
	nums := []pce.Num{b.AllocInput(randomElement(r)), b.Alloc(randomElement(r)), b.AllocBit(true).Num()}
	nums = append(nums, b.Alloc(randomElement(r)))
	words := []pce.Word{b.AllocWord(r.Uint32()), b.AllocWord(r.Uint32())}
	bit := b.AllocBit(true)
	for i := range 12 {
		// The words' order, rotation and the kinds of numbers differ between instances of one template.
		out := b.Block("two", []pce.Arg{
			nums[i%len(nums)], nums[(i/4+1+i)%len(nums)], bit, words[i%2], words[(i+1)%2].RotR(8 * (i % 3)),
		}, randomBlock(2))
		nums = append(nums, out[0].(pce.Num))
	}
	randomRows(b, r, 40, nums, []pce.Bit{bit}, words)
	return nil
}

// randomBlock makes variables of all kinds from its arguments, calls two blocks of the next depth, and has rows
// before, between and after them.
func randomBlock(depth int) pce.Body {
	return func(b pce.Builder, in []pce.Arg) []pce.Arg {
		r := rand.New(rand.NewPCG(3, uint64(depth)))
		nums := []pce.Num{in[0].(pce.Num), in[1].(pce.Num)}
		bits, words := []pce.Bit{in[2].(pce.Bit)}, []pce.Word{in[3].(pce.Word), in[4].(pce.Word)}
		nums = append(nums, b.Mul(nums[0], nums[1]), b.AllocInput(nums[0].Value()))
		words = append(words, b.AllocWord(words[0].Value()*0x9e3779b1))
		bits = append(bits, b.AllocBit(words[1].Bit(3).Value()), words[2].Bit(9).Not())
		randomRows(b, r, 7, nums, bits, words)
		for k := range 2 {
			if depth == 0 {
				break
			}
			args := []pce.Arg{nums[len(nums)-1-k], nums[k], bits[1+k], words[2-k], words[k]}
			out := b.Block(fmt.Sprint("deep", depth), args, randomBlock(depth-1))
			nums = append(nums, out[0].(pce.Num))
			randomRows(b, r, 3, nums, bits, words)
		}
		return []pce.Arg{b.Mul(nums[len(nums)-1], nums[2])}
	}
}

// randomRows emits rows of combinations of all lengths and kinds of coefficients.
func randomRows(b pce.Builder, r *rand.Rand, rows int, nums []pce.Num, bits []pce.Bit, words []pce.Word) {
	for range rows {
		var lc [3]pce.LC
		for m := range lc {
			for range []int{0, 1, 2, 3, 5, 17, 40}[r.IntN(7)] {
				addRandomTerm(&lc[m], r, nums, bits, words)
			}
		}
		b.Enforce(lc[0], lc[1], lc[2])
	}
}

func addRandomTerm(l *pce.LC, r *rand.Rand, nums []pce.Num, bits []pce.Bit, words []pce.Word) {
	c := randomCoefficient(r)
	switch k := r.IntN(12); {
	case k < 2:
		l.AddNum(nums[r.IntN(len(nums))], c)
	case k == 2:
		l.AddOne(c)
	case k < 6:
		l.AddBit(bits[r.IntN(len(bits))], c)
	case k < 9: // may meet the same variable again
		l.AddBit(words[r.IntN(len(words))].Bit(r.IntN(32)), c)
	default:
		w := words[r.IntN(len(words))]
		for i := r.IntN(8); i < 32; i++ {
			l.AddBit(w.Bit(i), c)
			if k > 9 { // else all have the same coefficient
				c.Double(&c)
			}
		}
	}
}

// randomCoefficient is small, at the edges of small, or any.
func randomCoefficient(r *rand.Rand) (c fr.Element) {
	small := []int64{0, 1, 1, 1, -1, -1, 2, -2, 4, 126, 127, 128, -127, -128, -129}
	switch k := r.IntN(20); {
	case k < len(small):
		c.SetInt64(small[k])
	case k < len(small)+2:
		c.SetInt64(1)
		for range r.IntN(300) {
			c.Double(&c)
		}
	default:
		c = randomElement(r)
	}
	return c
}

func randomElement(r *rand.Rand) (v fr.Element) {
	var b [40]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return *v.SetBytes(b[:])
}
