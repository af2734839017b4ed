package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/chacha20"
)

// challenger draws the nodes that a partition must show.
type challenger interface {
	// challenges are the n nodes of partition k, in order.
	challenges(k, n int) []uint64
}

// interactive draws every challenge from the seed (spec §5.5).
type interactive struct {
	nodes           uint64
	replicaID, seed [32]byte
}

func (c interactive) challenges(k, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		var j [4]byte
		binary.LittleEndian.PutUint32(j[:], uint32(k*n+i))
		h := sha256.New()
		h.Write(c.replicaID[:])
		h.Write(c.seed[:])
		h.Write(j[:])
		out[i] = challenge(h.Sum(nil), c.nodes)
	}
	return out
}

// maxSynthetic is the size of the set of synthetic challenges where there are enough nodes.
const maxSynthetic = 1 << 18

// synthetic picks challenges by the seed out of a set that is fixed by replica id and comm_r before
// the seed is known. Both the set and the picks are ChaCha20 streams (spec §5.5).
type synthetic struct {
	nodes  uint64
	number uint64 // of challenges in the set
	set    *[32]byte
	picks  *[32]byte
}

func newSynthetic(nodes uint64, replicaID, commR, seed *[32]byte) synthetic {
	return synthetic{
		nodes:  nodes,
		number: min(nodes, maxSynthetic),
		set:    keyed("filecoin.io|PoRep|1|Synthetic|1|Generation", replicaID, commR),
		picks:  keyed("filecoin.io|PoRep|1|Synthetic|1|Selection", replicaID, seed),
	}
}

func (c synthetic) challenges(k, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		var word [4]byte
		stream(c.picks, int64(len(word))*int64(k*n+i), word[:])
		out[i] = c.member(uint64(binary.LittleEndian.Uint32(word[:])) % c.number)
	}
	return out
}

// member is the i-th challenge of the set.
func (c synthetic) member(i uint64) uint64 {
	var b [32]byte
	stream(c.set, int64(len(b))*int64(i), b[:])
	return challenge(b[:], c.nodes)
}

// stream reads into out from the given byte offset of the ChaCha20 stream of key, with the nonce of
// synthetic PoRep. out does not cross a 64-byte block.
func stream(key *[32]byte, offset int64, out []byte) {
	c, err := chacha20.NewUnauthenticatedCipher(key[:], []byte("synth-porep\x00"))
	if err != nil {
		panic(err) // only for a key or nonce of the wrong length
	}
	const block = 64
	c.SetCounter(uint32(offset / block))
	var b [block]byte
	c.XORKeyStream(b[:], b[:])
	copy(out, b[offset%block:])
}

// keyed is BLAKE2b-256 of a‖b with a key.
func keyed(key string, a, b *[32]byte) *[32]byte {
	h := must(blake2b.New256([]byte(key)))
	h.Write(a[:])
	h.Write(b[:])
	var sum [32]byte
	h.Sum(sum[:0])
	return &sum
}

// must is for hash constructors whose only error is a key that is too long.
func must(h hash.Hash, err error) hash.Hash {
	if err != nil {
		panic(err)
	}
	return h
}

// challenge maps 32 bytes, read as a little-endian number, to a node other than the first: 1 + number
// mod (nodes − 1).
func challenge(number []byte, nodes uint64) uint64 {
	var rem uint64
	for i := len(number) - 8; i >= 0; i -= 8 {
		rem = bits.Rem64(rem, binary.LittleEndian.Uint64(number[i:]), nodes-1)
	}
	return 1 + rem
}
