package gadget

import "github.com/gocuzk/cuzk/pce"

// Sha256 is the digest of a message of whole 32-bit words, in big-endian words like the message
// (§2.3). Constants fold by the Boolean rules, so the initial value, padding and known message bits
// save rows.
func Sha256(b pce.Builder, message []pce.Word) [8]pce.Word {
	padded := append([]pce.Word(nil), message...)
	padded = append(padded, pce.ConstWord(1<<31))
	for len(padded)%16 != 14 {
		padded = append(padded, pce.ConstWord(0))
	}
	bits := uint64(len(message)) * 32
	padded = append(padded, pce.ConstWord(uint32(bits>>32)), pce.ConstWord(uint32(bits)))

	state := Sha256Initial()
	for ; len(padded) > 0; padded = padded[16:] {
		state = Sha256Compress(b, state, [16]pce.Word(padded))
	}
	return state
}

// Sha256Initial is the initial value as constants.
func Sha256Initial() [8]pce.Word {
	var h [8]pce.Word
	for i, v := range [8]uint32{
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	} {
		h[i] = pce.ConstWord(v)
	}
	return h
}

// Sha256Compress is one application of the compression function (§2.3): 26,352 rows for 512 allocated
// bits with a constant state, their allocation included.
func Sha256Compress(b pce.Builder, state [8]pce.Word, block [16]pce.Word) [8]pce.Word {
	in := make([]pce.Arg, 0, 24)
	for _, w := range state {
		in = append(in, w)
	}
	for _, w := range block {
		in = append(in, w)
	}
	out := b.Block("sha256-compress", in, func(b pce.Builder, in []pce.Arg) []pce.Arg {
		c := compression{b: b}
		for i := range c.state {
			c.state[i] = in[i].(pce.Word)
		}
		for i := range block {
			c.w[i] = in[8+i].(pce.Word)
		}
		return c.run()
	})
	var digest [8]pce.Word
	for i := range digest {
		digest[i] = out[i].(pce.Word)
	}
	return digest
}

// compression is one run of the compression function. Sums of words are put off until a round needs
// their bits, because the reference does so and the order of allocation follows.
type compression struct {
	b     pce.Builder
	eq    pce.MultiEq
	state [8]pce.Word
	w     [64]pce.Word

	terms [8]pce.Word // the words of the sum being made
}

// sum adds up a list of words.
func (c *compression) sum(n int) pce.Word { return c.b.AddMany(&c.eq, c.terms[:n]) }

func (c *compression) add(words ...pce.Word) pce.Word { return c.sum(copy(c.terms[:], words)) }

// xor3 is x ⊕ y ⊕ z.
func (c *compression) xor3(x, y, z pce.Word) pce.Word { return c.b.Xor(c.b.Xor(x, y), z) }

func (c *compression) schedule() {
	for i := 16; i < 64; i++ {
		x, y := c.w[i-15], c.w[i-2]
		s0 := c.xor3(x.RotR(7), x.RotR(18), x.Shr(3))
		s1 := c.xor3(y.RotR(17), y.RotR(19), y.Shr(10))
		c.w[i] = c.add(c.w[i-16], s0, c.w[i-7], s1)
	}
}

func (c *compression) run() []pce.Arg {
	c.schedule()
	h0 := c.state
	a, b, cc, d := h0[0], h0[1], h0[2], h0[3]
	e, f, g, h := h0[4], h0[5], h0[6], h0[7]
	// The sums that the next round will want as a and e: words they share, and those of their own.
	var shared [5]pce.Word
	var ownA [2]pce.Word
	var ownE pce.Word
	deferred := func(own ...pce.Word) pce.Word {
		copy(c.terms[:], shared[:])
		return c.sum(5 + copy(c.terms[5:], own))
	}
	for i := range 64 {
		if i > 0 {
			e = deferred(ownE)
		}
		s1 := c.xor3(e.RotR(6), e.RotR(11), e.RotR(25))
		ch := c.b.Ch(e, f, g)
		if i > 0 {
			a = deferred(ownA[:]...)
		}
		shared = [5]pce.Word{h, s1, ch, pce.ConstWord(sha256Constants[i]), c.w[i]}
		s0 := c.xor3(a.RotR(2), a.RotR(13), a.RotR(22))
		ownA = [2]pce.Word{s0, c.b.Maj(a, b, cc)}
		ownE = d
		h, g, f = g, f, e
		d, cc, b = cc, b, a
	}
	out := []pce.Arg{
		deferred(ownA[0], ownA[1], h0[0]), c.add(h0[1], b), c.add(h0[2], cc), c.add(h0[3], d),
		deferred(ownE, h0[4]), c.add(h0[5], f), c.add(h0[6], g), c.add(h0[7], h),
	}
	c.b.CloseMultiEq(&c.eq)
	return out
}

// Sha256Pair is the SHA-256 tree hash of two numbers (§2.6): both are unpacked, their 256-bit
// little-endian forms are hashed as 64 bytes, and the digest's first 254 bits are packed. 45,379 rows.
func Sha256Pair(b pce.Builder, x, y pce.Num) pce.Num {
	out := b.Block("sha256-pair", []pce.Arg{x, y}, func(b pce.Builder, in []pce.Arg) []pce.Arg {
		left, right := b.Unpack(in[0].(pce.Num)), b.Unpack(in[1].(pce.Num))
		message := append(SwapBytes(left[:]), SwapBytes(right[:])...)
		return []pce.Arg{PackDigest(b, Sha256(b, message))}
	})
	return out[0].(pce.Num)
}

// SwapBytes reverses the bytes of each word: it turns the little-endian words of a number into the
// big-endian words that SHA-256 reads, and back. No rows.
func SwapBytes(ws []pce.Word) []pce.Word {
	out := make([]pce.Word, len(ws))
	for i, w := range ws {
		out[i] = w.ByteSwap()
	}
	return out
}

// PackDigest is a digest as a number: its bytes little-endian, the top two bits dropped.
func PackDigest(b pce.Builder, digest [8]pce.Word) pce.Num {
	return b.PackWords(SwapBytes(digest[:]), 254)
}

// sha256Constants are the round constants of FIPS 180-4 §4.2.2.
var sha256Constants = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
