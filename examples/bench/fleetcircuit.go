package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/pce"
)

// madeCircuit is a circuit for a domain of 2^log: "I know pairs of numbers whose hashes add up to this". It is made of what
// a proof of replication is made of, in about the same shares: SHA-256 and a little Poseidon, in equal blocks.
type madeCircuit struct {
	log          int
	seed, number uint64 // what the numbers are drawn from
}

const (
	madeRows     = 45_691 // of a block: two numbers by SHA-256, the digest and one of them by Poseidon
	leastMadeLog = 16
)

// blocks are as many as fill 31/32 of the domain, as 32 GiB circuits do.
func (c *madeCircuit) blocks() int { return (1<<c.log - 1<<c.log/32) / madeRows }

// Name implements circuits.Circuit.
func (c *madeCircuit) Name() string { return fmt.Sprintf("synthetic-%d", c.log) }

// pair are the numbers of a block.
func (c *madeCircuit) pair(i int) (pair [2]fr.Element) {
	for k := range pair {
		var b [32]byte
		for at, v := range []uint64{c.seed, c.number, uint64(i), uint64(k)} {
			binary.LittleEndian.PutUint64(b[8*at:], v)
		}
		sum := sha256.Sum256(b[:])
		pair[k].SetBytes(sum[:])
	}
	return pair
}

// PublicInputs implements circuits.Circuit.
func (c *madeCircuit) PublicInputs() ([]fr.Element, error) {
	var sum fr.Element
	for i := range c.blocks() {
		pair := c.pair(i)
		h := gadget.HashSealed([]fr.Element{gadget.HashData(pair[:]), pair[0]})
		sum.Add(&sum, &h)
	}
	return []fr.Element{sum}, nil
}

// Synthesize implements circuits.Circuit.
func (c *madeCircuit) Synthesize(b pce.Builder) error {
	one := fr.One()
	var sum pce.LC
	for _, out := range b.Blocks("pair", c.blocks(), func(int) []pce.Arg { return nil }, c.block) {
		sum.AddNum(out[0].(pce.Num), one)
	}
	b.Inputize(b.Allocated(sum))
	return nil
}

// block hashes one pair.
func (c *madeCircuit) block(b pce.Builder, i int, _ []pce.Arg) []pce.Arg {
	pair := c.pair(i)
	x, y := b.Alloc(pair[0]), b.Alloc(pair[1])
	digest := gadget.Sha256Tree().Sum(b, []pce.Num{x, y})
	return []pce.Arg{gadget.PoseidonTree().Sum(b, []pce.Num{digest, x})}
}
