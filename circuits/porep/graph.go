package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"golang.org/x/crypto/blake2b"
)

// graph gives the parents of a node: six in its own layer (depth robust graph, bucket sampling) and
// eight in the layer before (expander, a Feistel permutation) (spec §5.5).
type graph struct {
	nodes uint64
	api   APIVersion
	seed  [28]byte  // of the depth robust graph; the node completes it
	keys  [3]uint64 // of the permutation's rounds
}

func newGraph(p RegisteredProof, nodes uint64) *graph {
	id := p.PoRepID()
	g := &graph{nodes: nodes, api: p.APIVersion()}
	drg := sha256.Sum256(append([]byte("Filecoin_DRSample"), id[:]...))
	copy(g.seed[:], drg[:])
	feistel := sha256.Sum256(append([]byte("Filecoin_Feistel"), id[:]...))
	for i := range g.keys {
		g.keys[i] = binary.LittleEndian.Uint64(feistel[8*i:])
	}
	return g
}

// parents are the parents of node in the order of the circuit: drg 0..5, exp 0..7.
func (g *graph) parents(node uint64) (out [parents]uint64) {
	g.drg(node, out[:drgDegree])
	for i := range uint64(expDegree) {
		p := g.permute(node*expDegree + i)
		if g.api == APIv1_0 {
			p = uint64(uint32(p)) // the first version kept 32 bits, too few for 32 GiB
		}
		out[drgDegree+i] = p / expDegree
	}
	return out
}

// drg fills out with the six parents in node's own layer. The predecessor is the last of them in API
// 1.0.0 and the first in later versions.
func (g *graph) drg(node uint64, out []uint64) {
	if node < 2 {
		clear(out)
		return
	}
	sampled := out[1:]
	out[0] = node - 1
	if g.api == APIv1_0 {
		sampled = out[:drgDegree-1]
		out[drgDegree-1] = node - 1
	}
	var seed [32]byte
	copy(seed[:], g.seed[:])
	binary.LittleEndian.PutUint32(seed[28:], uint32(node))
	rng := newChaCha8(&seed)

	const m = drgDegree - 1 // nodes of the metagraph for each node
	meta := node * m
	buckets := uint64(bits.Len64(meta - 1)) // ceil(log2(meta))
	for i := range sampled {
		bucket := rng.uint64()%buckets + 1
		hi := min(meta, 1<<bucket)
		lo := max(2, hi>>1)
		p := (meta - lo - rng.uint64()%(hi-lo+1)) / m
		if p == node {
			p = node - 1
		}
		sampled[i] = p
	}
}

// permute is a permutation of the expDegree·nodes edges: a three round Feistel network over the
// smallest even number of bits that holds them all, applied until the result is one of them.
func (g *graph) permute(x uint64) uint64 {
	edges := expDegree * g.nodes
	half := (bits.Len64(edges-1) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		left, right := x>>half&mask, x&mask
		for _, key := range g.keys {
			left, right = right, left^round(right, key)&mask
		}
		if x = left<<half | right; x < edges {
			return x
		}
	}
}

// round is the Feistel round function: the first eight bytes of BLAKE2b-512, big-endian like its input.
func round(right, key uint64) uint64 {
	var in [16]byte
	binary.BigEndian.PutUint64(in[:8], right)
	binary.BigEndian.PutUint64(in[8:], key)
	sum := blake2b.Sum512(in[:])
	return binary.BigEndian.Uint64(sum[:8])
}
