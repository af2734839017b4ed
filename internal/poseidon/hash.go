package poseidon

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Hash is the digest of the Arity elements of in: state element 1 after the last round. It panics if
// in has another length. It does not allocate, and in is not changed.
//
// Cost: about 2,000 field multiplications for arity 8, 600 for arity 2.
func (p *Params) Hash(in []fr.Element) fr.Element {
	var room [maxVariables]fr.Element
	out := room[:p.Variables()]
	p.Values(in, out)
	return out[len(out)-1]
}

// maxVariables is the number of values of arity 11.
const maxVariables = 3*(maxWidth-1) + 4*maxWidth*(FullRounds-1) + 4*57 + 1

// Variables is the number of values that [Params.Values] gives: 311, 377, 505 and 598 for arities 2, 4, 8
// and 11.
func (p *Params) Variables() int {
	return 3*p.Arity + 4*p.Width*(FullRounds-1) + 4*p.PartialRounds + 1
}

// Values computes every value that the circuit of the hash allocates, in its order (spec §3.2): for each S-box
// its argument unless that is an element of the preimage plus a constant, its square and fourth power, and its
// fifth power plus the next round constant; then the digest. It panics unless in has Arity and out has
// [Params.Variables] elements. It does not allocate, and in is not changed.
func (p *Params) Values(in, out []fr.Element) {
	if len(in) != p.Arity || len(out) != p.Variables() {
		panic(fmt.Sprintf("poseidon: %d elements and %d values for a hash of arity %d", len(in), len(out), p.Arity))
	}
	var zero fr.Element
	h := hashing{p: p, out: out, constants: p.CompressedRoundConstants}
	h.firstRound(in)
	h.dense(p.columns)
	for range halfRounds - 2 {
		h.fullRound()
		h.dense(p.columns)
	}
	h.fullRound()
	h.dense(p.preSparseColumns)
	for i := range p.blocks {
		h.partialRounds(&p.blocks[i])
	}
	for range halfRounds - 1 {
		h.fullRound()
		h.dense(p.columns)
	}
	for i := range h.state[:p.Width] {
		h.sbox(i, &zero)
	}
	h.out[0] = inner(h.state[:p.Width], p.columns[1])
}

// hashing is the sponge at work; the first Width elements of its state are in use. Its size is fixed so that
// it stays on the stack.
type hashing struct {
	p         *Params
	state     [maxWidth]fr.Element
	out       []fr.Element // what is still to be written
	constants []fr.Element // those not yet used
}

func (h *hashing) constant() *fr.Element {
	c := &h.constants[0]
	h.constants = h.constants[1:]
	return c
}

// firstRound adds constants before its S-boxes, whose arguments are no values of their own.
func (h *hashing) firstRound(in []fr.Element) {
	before := h.constants[:h.p.Width]
	h.constants = h.constants[h.p.Width+1:]
	h.state[0] = h.p.first
	for i := range in {
		var o [4]fr.Element
		o[0].Add(&in[i], &before[i+1])
		fifth(&o, h.constant())
		h.out = h.out[copy(h.out, o[1:]):]
		h.state[i+1] = o[3]
	}
}

func (h *hashing) fullRound() {
	for i := range h.state[:h.p.Width] {
		h.sbox(i, h.constant())
	}
}

// sbox applies the S-box to a state element and adds post.
func (h *hashing) sbox(i int, post *fr.Element) {
	o := (*[4]fr.Element)(h.out)
	h.out = h.out[4:]
	o[0] = h.state[i]
	fifth(o, post)
	h.state[i] = o[3]
}

// dense multiplies the state as a row vector by the matrix with the given columns.
func (h *hashing) dense(columns [][]fr.Element) {
	before := h.state
	for j := range columns {
		h.state[j] = inner(before[:len(columns)], columns[j])
	}
}

// partialRounds runs the rounds of a block. The state but its first element is only brought up to date at the
// end; until then z has it as it was, followed by what the S-boxes gave.
func (h *hashing) partialRounds(b *block) {
	var z [maxTerms]fr.Element
	rest := h.state[1:h.p.Width]
	n := copy(z[:], rest)
	for r := range b.next {
		h.sbox(0, h.constant())
		z[n+r] = h.state[0]
		h.state[0] = inner(z[:n+r+1], b.next[r])
	}
	for j := range rest {
		sum := inner(z[n:n+len(b.next)], b.rest[j])
		rest[j].Add(&rest[j], &sum)
	}
}

// sbox is x ← x⁵.
func sbox(x *fr.Element) {
	var x4 fr.Element
	x4.Square(x)
	x4.Square(&x4)
	x.Mul(x, &x4)
}
