package poseidon

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// grainDiscard is the number of bits thrown away after seeding.
const grainDiscard = 160

// grain is the Grain LFSR of the Poseidon paper (appendix E) in self-shrinking mode: the source of
// the round constants.
type grain struct {
	lo, hi uint64 // the 80-bit register: bit i is s_i for i < 64, then 16 bits of hi; s_0 leaves first
}

// newGrain seeds the register with the description of the instance (prime field, S-box x^α, field
// size, width and rounds), most significant bit first, and discards the first 160 bits.
func newGrain(t, fullRounds, partialRounds int) *grain {
	g := &grain{}
	put := func(width int, v uint64) {
		for i := width - 1; i >= 0; i-- {
			g.push(v >> i & 1)
		}
	}
	put(2, 1)
	put(4, 1)
	put(12, fr.Bits)
	put(12, uint64(t))
	put(10, uint64(fullRounds))
	put(10, uint64(partialRounds))
	put(30, 1<<30-1)
	for range grainDiscard {
		g.shift()
	}
	return g
}

// push drops s_0 and appends bit b as s_79.
func (g *grain) push(b uint64) {
	g.lo = g.lo>>1 | g.hi<<63
	g.hi = g.hi>>1 | b<<15
}

// shift clocks the register once and returns the bit that enters it.
func (g *grain) shift() uint64 {
	b := (g.lo>>62 ^ g.lo>>51 ^ g.lo>>38 ^ g.lo>>23 ^ g.lo>>13 ^ g.lo) & 1
	g.push(b)
	return b
}

// bit is the next output bit: of each pair of bits the second counts, if the first is 1.
func (g *grain) bit() uint64 {
	for g.shift() == 0 {
		g.shift()
	}
	return g.shift()
}

// element is the next 255 output bits, most significant first, drawn again until they are less than
// the modulus.
func (g *grain) element() fr.Element {
	modulus := fr.Modulus()
	for {
		var be [fr.Bytes]byte
		for i := range fr.Bits {
			pos := fr.Bits - 1 - i
			be[fr.Bytes-1-pos/8] |= byte(g.bit() << (pos % 8))
		}
		v := new(big.Int).SetBytes(be[:])
		if v.Cmp(modulus) < 0 {
			var e fr.Element
			e.SetBigInt(v)
			return e
		}
	}
}

// roundConstants are the (8 + partial)·t constants of the plain hash, round-major.
func roundConstants(t, partial int) []fr.Element {
	g := newGrain(t, FullRounds, partial)
	rc := make([]fr.Element, (FullRounds+partial)*t)
	for i := range rc {
		rc[i] = g.element()
	}
	return rc
}
