package gadget

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/pce"
)

// Poseidon hashes p.Arity numbers by neptune's legacy circuit (§3.2), which every published
// parameter file was made for. Each of its rows allocates one variable: 311, 377, 505 and 598 for
// arities 2, 4, 8 and 11. Their values are those of [poseidon.Params.Values].
func Poseidon(b pce.Builder, p *poseidon.Params, preimage []pce.Num) pce.Num {
	if len(preimage) != p.Arity {
		b.Fail(fmt.Errorf("gadget: poseidon of arity %d over %d numbers", p.Arity, len(preimage)))
	}
	return b.Apply(&pce.Function{
		Name: p.Name, Variables: p.Variables(), Values: p.Values,
		Body: func(b pce.Builder, in []pce.Num) pce.Num {
			h := permutation{b: b, p: p, constants: p.CompressedRoundConstants}
			return h.hash(in)
		},
	}, preimage)
}

// element is an entry of the state: a variable after an S-box, a combination after a linear layer.
type element struct {
	allocated bool
	num       pce.Num
	lc        pce.LC
}

// addTo adds k times the element to l.
func (e *element) addTo(l *pce.LC, k fr.Element) {
	if e.allocated {
		l.AddNum(e.num, k)
	} else {
		l.AddScaled(&e.lc, k)
	}
}

type permutation struct {
	b         pce.Builder
	p         *poseidon.Params
	state     []element
	spare     []element    // storage of the next state
	constants []fr.Element // those not yet used
}

// constant takes the next round constant.
func (h *permutation) constant() *fr.Element {
	c := &h.constants[0]
	h.constants = h.constants[1:]
	return c
}

func (h *permutation) hash(preimage []pce.Num) pce.Num {
	h.firstRound(preimage)
	h.dense(h.p.MDS)
	half := h.p.FullRounds / 2
	for r := 1; r < half; r++ {
		h.fullRound()
		if r < half-1 {
			h.dense(h.p.MDS)
		} else {
			h.dense(h.p.PreSparse)
		}
	}
	for q := range h.p.PartialRounds {
		h.sbox(0, h.constant())
		h.sparse(&h.p.Sparse[q])
	}
	for r := 1; r < half; r++ {
		h.fullRound()
		h.dense(h.p.MDS)
	}
	for i := range h.state {
		h.sbox(i, nil)
	}
	h.dense(h.p.MDS)
	return h.variable(1)
}

// firstRound adds constants before its S-boxes, and has the tag's S-box done in advance.
func (h *permutation) firstRound(preimage []pce.Num) {
	t := h.p.Width
	before, after := h.constants[:t], h.constants[t:2*t]
	h.constants = h.constants[2*t:]
	h.state, h.spare = make([]element, t), make([]element, t)
	h.state[0].lc.AddOne(h.p.FirstRoundTag())
	for i := 1; i < t; i++ {
		h.state[i] = element{allocated: true, num: h.b.SBox(preimage[i-1], &before[i], &after[i])}
	}
}

func (h *permutation) fullRound() {
	for i := range h.state {
		h.sbox(i, h.constant())
	}
}

func (h *permutation) sbox(i int, post *fr.Element) {
	h.state[i] = element{allocated: true, num: h.b.SBox(h.variable(i), nil, post)}
}

// variable is state element i as a variable, allocated if it is a combination.
func (h *permutation) variable(i int) pce.Num {
	if e := &h.state[i]; e.allocated {
		return e.num
	}
	return h.b.Allocated(h.state[i].lc)
}

// dense multiplies the state as a row vector by m.
func (h *permutation) dense(m [][]fr.Element) {
	for j := range h.spare {
		next := &h.spare[j]
		*next = element{}
		for i := range h.state {
			h.state[i].addTo(&next.lc, m[i][j])
		}
	}
	h.state, h.spare = h.spare, h.state
}

// sparse multiplies the state by a matrix that has only a first column W, a first row (W[0], V) and
// ones. All elements but the first stay combinations, which grow by a term in each partial round.
func (h *permutation) sparse(m *poseidon.SparseMatrix) {
	first := h.state[0]
	sum := pce.LC{}
	for i := range h.state {
		h.state[i].addTo(&sum, m.W[i])
	}
	for j := 1; j < len(h.state); j++ {
		first.addTo(&h.state[j].lc, m.V[j-1])
	}
	h.state[0] = element{lc: sum}
}
