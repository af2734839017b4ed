package poseidon

import (
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

const (
	// FullRounds is R_F, the number of rounds with an S-box on every state element; half of them
	// come before the partial rounds and half after.
	FullRounds = 8

	halfRounds = FullRounds / 2
	maxWidth   = 12 // t of arity 11, the widest instance
)

// GenRandomnessTag is the domain tag of the arity 2 hash from which SnapDeals draws its randomness:
// 2^40, neptune's HashType::Custom(CType::Arbitrary(1)) (spec §3.1).
const GenRandomnessTag uint64 = 1 << 40

// SparseMatrix is the linear layer of one partial round. With the state s as a row vector it maps
//
//	s'_0 = Σ_i s_i·W[i]          s'_j = s_j + s_0·V[j−1]   for j ≥ 1
type SparseMatrix struct {
	W []fr.Element // t elements, the first column
	V []fr.Element // t − 1 elements, the rest of the first row
}

// Params are the constants of one Poseidon instance. The fields are shared and must not be changed.
type Params struct {
	Name          string     // "poseidon-<arity>-<tag>", the tag in hexadecimal
	Arity         int        // number of preimage elements
	Width         int        // t = Arity + 1 state elements; element 0 is the tag
	FullRounds    int        // R_F = 8
	PartialRounds int        // R_P
	Tag           fr.Element // domain tag, the first state element

	// CompressedRoundConstants has 8t + R_P elements: t to add before round 0, then what is added
	// after each S-box, round by round: t for each of the four rounds 0..3, one for each partial
	// round, t for each of the three full rounds that follow. The last round adds nothing.
	CompressedRoundConstants []fr.Element
	// MDS is the t × t matrix 1/(i + t + j), row i first. Row vectors multiply it from the left:
	// (s·M)_j = Σ_i s_i·M[i][j].
	MDS [][]fr.Element
	// PreSparse is the t × t matrix that replaces MDS in round 3, the last before the partial rounds.
	PreSparse [][]fr.Element
	// Sparse has R_P matrices, one for each partial round in order.
	Sparse []SparseMatrix

	columns, preSparseColumns [][]fr.Element // of MDS and PreSparse
	blocks                    []block        // Sparse

	first fr.Element // state element 0 after the S-box of round 0, a constant of tag and arity
}

// ForArity returns the instance that hashes arity elements with the tag of a Merkle tree,
// 2^arity − 1. The arities are 2, 4, 8 and 11; any other is a mistake in this module, and ForArity
// panics. The first call for an arity computes its constants (some milliseconds), later ones share
// them.
func ForArity(arity int) *Params {
	switch arity {
	case 2:
		return arity2()
	case 4:
		return arity4()
	case 8:
		return arity8()
	case 11:
		return arity11()
	}
	panic(fmt.Sprintf("poseidon: no instance of arity %d", arity))
}

// Supported reports whether there is an instance of this arity, that is, whether ForArity accepts it.
func Supported(arity int) bool {
	_, ok := partialRounds(arity)
	return ok
}

// WithTag returns the instance of the given arity with another domain tag, for instance
// [GenRandomnessTag]. All other constants are those of ForArity(arity), which are shared.
func WithTag(arity int, tag uint64) *Params {
	p := *ForArity(arity)
	p.setTag(tag)
	return &p
}

// The constants are values computed once and never changed afterwards.
var (
	arity2  = sync.OnceValue(func() *Params { return compute(2) })
	arity4  = sync.OnceValue(func() *Params { return compute(4) })
	arity8  = sync.OnceValue(func() *Params { return compute(8) })
	arity11 = sync.OnceValue(func() *Params { return compute(11) })
)

// partialRounds is R_P of neptune's round number table for strength "standard".
func partialRounds(arity int) (rounds int, ok bool) {
	switch arity {
	case 2:
		return 55, true
	case 4:
		return 56, true
	case 8, 11:
		return 57, true
	}
	return 0, false
}

// compute derives all constants of a supported arity with the Merkle tree tag.
func compute(arity int) *Params {
	rp, _ := partialRounds(arity)
	t := arity + 1
	m := cauchy(t)
	p := &Params{
		Arity:                    arity,
		Width:                    t,
		FullRounds:               FullRounds,
		PartialRounds:            rp,
		CompressedRoundConstants: compress(roundConstants(t, rp), m, rp),
		MDS:                      m,
	}
	p.PreSparse, p.Sparse = factor(m, rp)
	p.setSchedule()
	p.setTag(1<<arity - 1)
	return p
}

// setTag sets the tag and what follows from it alone: the first state element is the same constant
// for every input until the first linear layer mixes it in.
func (p *Params) setTag(tag uint64) {
	p.Name = fmt.Sprintf("poseidon-%d-%x", p.Arity, tag)
	p.Tag.SetUint64(tag)
	p.first.Add(&p.Tag, &p.CompressedRoundConstants[0])
	sbox(&p.first)
	p.first.Add(&p.first, &p.CompressedRoundConstants[p.Width])
}

// FirstRoundTag is (tag + crc_0)⁵ + crc_t, the value of state element 0 after the S-box of round 0
// (spec §3.2). It does not depend on the preimage, so the circuit has it as a constant.
func (p *Params) FirstRoundTag() fr.Element { return p.first }

// compress moves the round constants rc (round-major, (8 + rp)·t elements) behind the S-boxes that
// come before them, so that a partial round needs one constant in place of t (spec §3.1).
func compress(rc []fr.Element, m matrix, rp int) []fr.Element {
	t := len(m)
	inv := m.inverse()
	round := func(r int) []fr.Element { return rc[r*t : (r+1)*t] }

	out := make([]fr.Element, 0, FullRounds*t+rp)
	out = append(out, round(0)...)
	for r := 1; r < halfRounds; r++ {
		out = append(out, inv.rowTimes(round(r))...)
	}
	// From the last partial round back to the first: the part of a round's constants that meets the
	// identity of the round before travels on, the part that meets its S-box stays.
	partial := make([]fr.Element, rp)
	acc := round(halfRounds + rp)
	for i := range rp {
		u := inv.rowTimes(acc)
		partial[rp-1-i] = u[0]
		u[0].SetZero()
		for j, k := range round(halfRounds + rp - i - 1) {
			u[j].Add(&u[j], &k)
		}
		acc = u
	}
	out = append(out, inv.rowTimes(acc)...)
	out = append(out, partial...)
	for r := 1; r < halfRounds; r++ {
		out = append(out, inv.rowTimes(round(halfRounds+rp+r))...)
	}
	return out
}

// factor writes the rp matrices of the partial rounds as sparse ones and one dense pre-sparse matrix
// (spec §3.1): M·M' with M' = diag(1, hat) commutes with an S-box on element 0 alone, so all that is
// dense moves to the front.
func factor(m matrix, rp int) (pre matrix, sparse []SparseMatrix) {
	sparse = make([]SparseMatrix, rp)
	cur := m
	for q := rp - 1; q >= 0; q-- {
		t := len(cur)
		hat := newMatrix(t-1, t-1)
		w := make([]fr.Element, t-1)
		for i := range hat {
			copy(hat[i], cur[i+1][1:])
			w[i] = cur[i+1][0]
		}
		sparse[q].W = append([]fr.Element{cur[0][0]}, hat.solve(w)...)
		sparse[q].V = append([]fr.Element(nil), cur[0][1:]...)

		prime := newMatrix(t, t)
		prime[0][0].SetOne()
		for i := range hat {
			copy(prime[i+1][1:], hat[i])
		}
		cur = m.times(prime)
	}
	return cur, sparse
}
