package porep

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
)

// labels checks the challenged node's labels and what is made of the last one: the column hash in
// tree C and the encoded data in tree R.
func (c *checker) labels() error {
	p := c.proof
	labels := c.computeLabels()
	for i, want := range p.Labels {
		if labels[i] != want {
			return c.fail("replica_column_proofs.c_x.column.rows", ErrLabel, "layer %d: %s, parents give %s", i+1, show(want), show(labels[i]))
		}
	}
	if got := gadget.HashSealed(labels); got != p.CPath.Leaf {
		return c.fail(c.treeC().field("replica_column_proofs.c_x.inclusion_proof", "leaf"), ErrColumn, "%s, labels give %s", show(p.CPath.Leaf), show(got))
	}
	var encoded fr.Element
	encoded.Add(&labels[len(labels)-1], &p.DPath.Leaf)
	if encoded != p.RPath.Leaf {
		return c.fail(c.treeR().field("comm_r_last_proof", "leaf"), ErrEncoding, "%s, label plus data %s", show(p.RPath.Leaf), show(encoded))
	}
	return nil
}

// computeLabels are the node's labels, layer 1 first, from those of its parents (spec §5.4): SHA-256 of
// replica id, layer, node and 37 labels, the top two bits cleared. Layer 1 repeats the labels of the
// six base parents; the others repeat those followed by the eight expander parents' of the layer before.
func (c *checker) computeLabels() []fr.Element {
	p := c.proof
	const head = 64
	var message [head + totalParents*fr.Bytes]byte
	putElement(message[:], c.replicaID)
	binary.BigEndian.PutUint64(message[36:], p.Node)

	out := make([]fr.Element, len(p.Drg[0].Rows))
	for layer := range out {
		binary.BigEndian.PutUint32(message[32:], uint32(layer+1))
		used := head
		for i := range p.Drg {
			used += putElement(message[used:], p.Drg[i].Rows[layer])
		}
		if layer > 0 {
			for i := range p.Exp {
				used += putElement(message[used:], p.Exp[i].Rows[layer-1])
			}
		}
		for period := used - head; used < len(message); {
			used += copy(message[used:], message[head:head+period])
		}
		out[layer] = trimmed(message[:])
	}
	return out
}

// trimmed is SHA-256 as a field element: the digest with its top two bits cleared, little-endian.
func trimmed(message []byte) fr.Element {
	sum := sha256.Sum256(message)
	sum[31] &= 0x3f
	e, err := fr.LittleEndian.Element(&sum)
	if err != nil {
		panic(err) // 254 bits are less than the modulus
	}
	return e
}

// putElement writes e little-endian to the beginning of b and returns its size.
func putElement(b []byte, e fr.Element) int {
	fr.LittleEndian.PutElement((*[fr.Bytes]byte)(b), e)
	return fr.Bytes
}
