package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// blockRounds is how many partial rounds are taken together.
const blockRounds = 8

// block is the linear layers of up to blockRounds consecutive partial rounds, put together so that most of the
// work is in inner products, which are reduced once. Let s be the state before the block without its first
// element and f_r what the S-box of the block's round r gave, constant included. Then
//
//	first element after round r    =  Σ_j s_j·next[r][j]  +  Σ_{q ≤ r} f_q·next[r][t−1+q]
//	element j+1 after the block    =  s_j  +  Σ_q f_q·rest[j][q]
type block struct {
	next [][]fr.Element // row r has t + r elements
	rest [][]fr.Element // t − 1 rows of as many elements as there are rounds
}

// newBlock puts sparse matrices together. Element j of the state has before round r grown by Σ_{q<r} f_q·V_q[j],
// so that W_r meets f_q with weight Σ_j W_r[j+1]·V_q[j].
func newBlock(rounds []SparseMatrix) block {
	var b block
	for r, m := range rounds {
		row := append([]fr.Element(nil), m.W[1:]...)
		for _, earlier := range rounds[:r] {
			row = append(row, dot(m.W[1:], earlier.V))
		}
		b.next = append(b.next, append(row, m.W[0]))
	}
	for j := range rounds[0].V {
		var row []fr.Element
		for _, m := range rounds {
			row = append(row, m.V[j])
		}
		b.rest = append(b.rest, row)
	}
	return b
}

// dot is Σ xᵢ·yᵢ for slices of any length.
func dot(x, y []fr.Element) (sum fr.Element) {
	var p fr.Element
	for i := range x {
		p.Mul(&x[i], &y[i])
		sum.Add(&sum, &p)
	}
	return sum
}

// setSchedule derives from the matrices what [Params.Values] works with.
func (p *Params) setSchedule() {
	p.columns, p.preSparseColumns = matrix(p.MDS).columns(), matrix(p.PreSparse).columns()
	for rounds := p.Sparse; len(rounds) > 0; {
		n := min(blockRounds, len(rounds))
		p.blocks = append(p.blocks, newBlock(rounds[:n]))
		rounds = rounds[n:]
	}
}
