package poseidon

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// state is the sponge's state; the first Width elements are in use. Its size is fixed so that it
// stays on the stack.
type state [maxWidth]fr.Element

// Hash is the digest of the Arity elements of in: state element 1 after the last round. It panics if
// in has another length. It does not allocate, and in is not changed.
//
// Cost: about 2,000 field multiplications for arity 8, 600 for arity 2.
func (p *Params) Hash(in []fr.Element) fr.Element {
	if len(in) != p.Arity {
		panic(fmt.Sprintf("poseidon: %d elements for a hash of arity %d", len(in), p.Arity))
	}
	t := p.Width
	crc := p.CompressedRoundConstants

	var s state
	s[0] = p.first
	for i := 1; i < t; i++ {
		s[i].Add(&in[i-1], &crc[i])
		sbox(&s[i])
		s[i].Add(&s[i], &crc[t+i])
	}
	p.dense(&s, p.MDS)
	crc = crc[2*t:]

	for r := 1; r < halfRounds; r++ {
		p.fullSbox(&s, crc[:t])
		crc = crc[t:]
		if r == halfRounds-1 {
			p.dense(&s, p.PreSparse)
		} else {
			p.dense(&s, p.MDS)
		}
	}
	for q := range p.Sparse {
		sbox(&s[0])
		s[0].Add(&s[0], &crc[q])
		p.sparse(&s, &p.Sparse[q])
	}
	crc = crc[p.PartialRounds:]
	for r := 1; r < halfRounds; r++ {
		p.fullSbox(&s, crc[:t])
		crc = crc[t:]
		p.dense(&s, p.MDS)
	}
	return p.last(&s)
}

// sbox is x ← x⁵.
func sbox(x *fr.Element) {
	var x4 fr.Element
	x4.Square(x)
	x4.Square(&x4)
	x.Mul(x, &x4)
}

// fullSbox applies the S-box to every element and adds the constants of the next round.
func (p *Params) fullSbox(s *state, post []fr.Element) {
	for i := range post {
		sbox(&s[i])
		s[i].Add(&s[i], &post[i])
	}
}

// dense is s ← s·m.
func (p *Params) dense(s *state, m [][]fr.Element) {
	var out state
	var prod fr.Element
	for i := range m {
		for j := range m[i] {
			prod.Mul(&s[i], &m[i][j])
			out[j].Add(&out[j], &prod)
		}
	}
	*s = out
}

// sparse is s ← s·S for the matrix of a partial round.
func (p *Params) sparse(s *state, m *SparseMatrix) {
	var first, prod fr.Element
	first.Mul(&s[0], &m.W[0])
	for j := range m.V {
		prod.Mul(&s[j+1], &m.W[j+1])
		first.Add(&first, &prod)
		prod.Mul(&s[0], &m.V[j])
		s[j+1].Add(&s[j+1], &prod)
	}
	s[0] = first
}

// last is the terminal round, of which only state element 1 is needed: its column of the linear layer.
func (p *Params) last(s *state) fr.Element {
	var out, prod fr.Element
	for i := range p.MDS {
		sbox(&s[i])
		prod.Mul(&s[i], &p.MDS[i][1])
		out.Add(&out, &prod)
	}
	return out
}
