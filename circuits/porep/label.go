package porep

import (
	"fmt"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/pce"
)

// number is a number's bits, least significant word first.
type number [8]pce.Word

// createLabel computes the label of a node in a layer (§5.4) from the replica id, the node's number
// and the parents' labels that the layer uses (6 in layer 1, then 14).
//
// The layer is a constant in the hashed message, so each layer has rows of its own.
func createLabel(b pce.Builder, replicaID number, parents []number, layer int, node [2]pce.Word) pce.Num {
	in := append(make([]pce.Arg, 0, 2+8*(1+len(parents))), node[0], node[1])
	for _, n := range append([]number{replicaID}, parents...) {
		for _, w := range n {
			in = append(in, w)
		}
	}
	name := fmt.Sprintf("label-%d-%d", layer, len(parents))
	out := b.Block(name, in, func(b pce.Builder, in []pce.Arg) []pce.Arg {
		words := make([]pce.Word, len(in))
		for i, a := range in {
			words[i] = a.(pce.Word)
		}
		message := labelMessage(words[2:10], words[10:], layer, [2]pce.Word{words[0], words[1]})
		return []pce.Arg{gadget.PackDigest(b, gadget.Sha256(b, message))}
	})
	return out[0].(pce.Num)
}

// labelMessage is the preimage in big-endian words: replica id, layer, node, zeros up to 64 bytes,
// then the parents' labels over and over until there are 37.
func labelMessage(replicaID, parents []pce.Word, layer int, node [2]pce.Word) []pce.Word {
	message := append(make([]pce.Word, 0, 8*(2+totalParents)), gadget.SwapBytes(replicaID)...)
	message = append(message, pce.ConstWord(uint32(layer)), node[1], node[0])
	for len(message) < 16 {
		message = append(message, pce.ConstWord(0))
	}
	parents = gadget.SwapBytes(parents)
	for i := range totalParents * 8 {
		message = append(message, parents[i%len(parents)])
	}
	return message
}
