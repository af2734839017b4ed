package pce

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// shape describes a word of a random mix of constants, variables and negated variables. The same
// shape must be used in every run of a circuit, so it is drawn beforehand.
type shape struct{ value, constant, negated uint32 }

func randomShape(r *rand.Rand) shape {
	s := shape{value: r.Uint32()}
	switch r.IntN(6) {
	case 0: // all variables
	case 1:
		s.negated = ^uint32(0)
	case 2:
		s.constant = ^uint32(0)
	case 3: // constants at the top, as a shift leaves them
		s.constant = ^(^uint32(0) >> r.IntN(32))
		s.negated = r.Uint32()
	default:
		s.constant, s.negated = r.Uint32(), r.Uint32()
	}
	s.negated &^= s.constant
	return s
}

// make allocates the word's variables.
func (s shape) make(b Builder) Word {
	bits := make([]Bit, 32)
	for i := range bits {
		v := s.value>>i&1 == 1
		switch {
		case s.constant>>i&1 == 1:
			bits[i] = ConstBit(v)
		case s.negated>>i&1 == 1:
			bits[i] = b.AllocBit(!v).Not()
		default:
			bits[i] = b.AllocBit(v)
		}
	}
	return WordOf(bits)
}

// TestWordOperations compares every word operation of the witness interpreter with the expansion into
// single bits and with its meaning on numbers, on words of all mixes of constants and negations.
func TestWordOperations(t *testing.T) {
	ops := []struct {
		name string
		n    int
		run  func(b Builder, w []Word) Word
		want func(v []uint32) uint32
	}{
		{"xor", 2, func(b Builder, w []Word) Word { return b.Xor(w[0], w[1]) },
			func(v []uint32) uint32 { return v[0] ^ v[1] }},
		{"ch", 3, func(b Builder, w []Word) Word { return b.Ch(w[0], w[1], w[2]) },
			func(v []uint32) uint32 { return v[0]&v[1] ^ ^v[0]&v[2] }},
		{"maj", 3, func(b Builder, w []Word) Word { return b.Maj(w[0], w[1], w[2]) },
			func(v []uint32) uint32 { return v[0]&v[1] ^ v[0]&v[2] ^ v[1]&v[2] }},
		{"rotate", 1, func(b Builder, w []Word) Word { return b.Xor(w[0].RotR(7), w[0].RotR(18)) },
			func(v []uint32) uint32 { return (v[0]>>7 | v[0]<<25) ^ (v[0]>>18 | v[0]<<14) }},
		{"shift", 1, func(b Builder, w []Word) Word { return b.Xor(w[0].Shr(3), w[0]) },
			func(v []uint32) uint32 { return v[0]>>3 ^ v[0] }},
		{"swap", 1, func(b Builder, w []Word) Word { return b.Xor(w[0].ByteSwap(), w[0]) },
			func(v []uint32) uint32 { return (v[0]<<24 | v[0]<<8&0xff0000 | v[0]>>8&0xff00 | v[0]>>24) ^ v[0] }},
		{"sums", 5, addInGroups, func(v []uint32) uint32 { return 2*v[0] + v[1] + v[2] + v[3] + v[4] }},
		{"chain", 4, func(b Builder, w []Word) Word {
			return b.Maj(b.Ch(b.Xor(w[0], w[1]), w[2], w[3]).RotR(5), b.Xor(w[1], w[2]).Shr(9), w[3])
		}, func(v []uint32) uint32 {
			x := v[0] ^ v[1]
			c := x&v[2] ^ ^x&v[3]
			c = c>>5 | c<<27
			y := (v[1] ^ v[2]) >> 9
			return c&y ^ c&v[3] ^ y&v[3]
		}},
	}
	for _, op := range ops {
		t.Run(op.name, func(t *testing.T) {
			r := newRand(7)
			for range 60 {
				shapes := make([]shape, op.n)
				values := make([]uint32, op.n)
				for i := range shapes {
					shapes[i] = randomShape(r)
					values[i] = shapes[i].value
				}
				requireConsistent(t, func(b Builder) error {
					words := make([]Word, op.n)
					for i, s := range shapes {
						words[i] = s.make(b)
					}
					out := op.run(b, words)
					if got, want := out.Value(), op.want(values); got != want {
						return fmt.Errorf("%08x, want %08x for %+v", got, want, shapes)
					}
					b.PackWords([]Word{out}, 32)
					return nil
				})
			}
		})
	}
}

// addInGroups makes more sums than one MultiEq row holds, of several widths.
func addInGroups(b Builder, w []Word) Word {
	var eq MultiEq
	sum := w[0]
	for range 4 {
		b.AddMany(&eq, w)
		b.AddMany(&eq, w[:2])
	}
	sum = b.AddMany(&eq, []Word{sum, w[0], w[1], w[2], w[3], w[4]})
	b.CloseMultiEq(&eq)
	return sum
}

func TestBitOperations(t *testing.T) {
	kinds := []func(b Builder, v bool) Bit{
		func(_ Builder, v bool) Bit { return ConstBit(v) },
		func(b Builder, v bool) Bit { return b.AllocBit(v) },
		func(b Builder, v bool) Bit { return b.AllocBit(!v).Not() },
	}
	for i, kx := range kinds {
		for j, ky := range kinds {
			for v := range 4 {
				x, y := v&1 == 1, v>>1 == 1
				requireConsistent(t, func(b Builder) error {
					bx, by := kx(b, x), ky(b, y)
					and, nor := b.And(bx, by), b.Nor(bx, by)
					if and.Value() != (x && y) || nor.Value() != !(x || y) {
						return fmt.Errorf("kinds %d %d, values %v %v: and %v, nor %v", i, j, x, y, and.Value(), nor.Value())
					}
					b.Pick(bx, b.Alloc(fr.NewElement(5)), b.Alloc(fr.NewElement(6)))
					b.PackInput([]Bit{and, nor, bx})
					return nil
				})
			}
		}
	}
}

func TestNumberOperations(t *testing.T) {
	r := newRand(3)
	var minusOne fr.Element
	minusOne.SetInt64(-1)
	for _, v := range []fr.Element{{}, fr.One(), minusOne, randomElement(r), randomElement(r)} {
		requireConsistent(t, func(b Builder) error {
			x := b.Alloc(v)
			words := b.Unpack(x)
			y := b.PackWords(words[:], 254)
			b.Pack([]Bit{words[0].Bit(3).Not(), ConstBit(true)})
			b.Mul(x, y)
			post := fr.NewElement(99)
			s := b.SBox(x, &post, &post)
			s = b.SBox(s, nil, &post)
			b.SBox(s, &post, nil)
			var l LC
			l.AddNum(x, post)
			l.AddOne(post)
			l.AddBit(words[1].Bit(2).Not(), post)
			m := l.Clone()
			m.AddScaled(&l, post)
			b.Inputize(b.Allocated(m))
			b.Equal(x, b.Pick(ConstBit(true), x, y))
			b.Pick(words[0].Bit(0), x, x)
			return nil
		})
	}
}

func TestUnpackIsCanonical(t *testing.T) {
	var top fr.Element
	top.SetInt64(-1)
	w, _, err := Direct(t.Context(), func(b Builder) error {
		b.Unpack(b.Alloc(top))
		return nil
	})
	require.NoError(t, err)
	bits := top.Bits()
	require.Equal(t, bits[:], w.Bits)
	require.Equal(t, 255, w.NumBits)
}
