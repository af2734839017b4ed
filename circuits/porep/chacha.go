package porep

import (
	"encoding/binary"
	"math/bits"
)

// chacha8 is the generator from which the reference draws the parents in a node's own layer: the
// ChaCha stream with 8 rounds, a 64-bit block counter from 0 and stream 0, read as consecutive
// little-endian 32-bit words (rand_chacha's ChaCha8Rng).
type chacha8 struct {
	key     [8]uint32
	counter uint64
	block   [16]uint32
	used    int // words of block already given out
}

func newChaCha8(seed *[32]byte) *chacha8 {
	c := &chacha8{used: 16}
	for i := range c.key {
		c.key[i] = binary.LittleEndian.Uint32(seed[4*i:])
	}
	return c
}

// uint64 is the next two words, the low one first.
func (c *chacha8) uint64() uint64 {
	if c.used == len(c.block) {
		c.refill()
	}
	v := uint64(c.block[c.used]) | uint64(c.block[c.used+1])<<32
	c.used += 2
	return v
}

// refill makes the next block.
func (c *chacha8) refill() {
	in := [16]uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}
	copy(in[4:], c.key[:])
	in[12], in[13] = uint32(c.counter), uint32(c.counter>>32)
	x := in
	for range 4 {
		quarter(&x, 0, 4, 8, 12)
		quarter(&x, 1, 5, 9, 13)
		quarter(&x, 2, 6, 10, 14)
		quarter(&x, 3, 7, 11, 15)
		quarter(&x, 0, 5, 10, 15)
		quarter(&x, 1, 6, 11, 12)
		quarter(&x, 2, 7, 8, 13)
		quarter(&x, 3, 4, 9, 14)
	}
	for i := range x {
		c.block[i] = x[i] + in[i]
	}
	c.counter++
	c.used = 0
}

// quarter is the ChaCha quarter round.
func quarter(x *[16]uint32, a, b, c, d int) {
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 16)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 12)
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 8)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 7)
}
