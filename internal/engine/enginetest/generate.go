package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Pattern says what values the private variables of a generated circuit have.
type Pattern string

// The patterns.
const (
	Random   Pattern = "random"
	Zeros    Pattern = "zeros"
	Ones     Pattern = "ones"
	MinusOne Pattern = "minus one"
	Equal    Pattern = "equal"
	Single   Pattern = "single" // one variable is not 0
	Bits     Pattern = "bits"   // two of three variables are bits
	Twins    Pattern = "twins"  // neighbours have equal or opposite columns, so that points of the key are equal or opposite
)

// Patterns are all of them.
func Patterns() []Pattern {
	return []Pattern{Random, Zeros, Ones, MinusOne, Equal, Single, Bits, Twins}
}

// Generate returns a satisfied circuit that has exactly fullRows rows, the appended ones included, and values of
// the given pattern. The same arguments give the same circuit.
func Generate(fullRows int, p Pattern) *Explicit {
	r := rand.New(rand.NewPCG(uint64(fullRows), 7))
	e := &Explicit{Label: fmt.Sprintf("%s-%d", p, fullRows), Bits: map[int]bool{}}
	for range min(fullRows/4, 5) {
		e.Inputs = append(e.Inputs, randomScalar(r))
	}
	left := fullRows - 1 - len(e.Inputs)
	for i := 0; left > 1; i++ {
		v := p.value(r, i)
		if p == Bits && i%3 > 0 {
			e.Bits[i] = true
			left--
		}
		e.Aux = append(e.Aux, v)
		left--
	}
	if left == 1 {
		e.Aux = append(e.Aux, p.value(r, len(e.Aux)))
	}
	rows := fullRows - 1 - len(e.Inputs) - len(e.Bits)
	for i := range rows {
		e.Rows = append(e.Rows, e.row(r, i, p))
	}
	return e
}

func (p Pattern) value(r *rand.Rand, i int) fr.Element {
	var v fr.Element
	switch p {
	case Zeros:
	case Ones:
		v.SetOne()
	case MinusOne:
		v.SetInt64(-1)
	case Equal:
		v.SetUint64(0xfedcba9876543210)
		v.Square(&v).Square(&v)
	case Single:
		if i == 1 {
			v = randomScalar(r)
		}
	case Bits:
		v.SetUint64(uint64(r.IntN(2)))
		if i%3 == 0 {
			v = randomScalar(r)
		}
	default:
		v = randomScalar(r)
	}
	return v
}

// row is a satisfied row that has private variable i in A, B or C, by turns, and some others.
func (e *Explicit) row(r *rand.Rand, i int, p Pattern) Row {
	var row Row
	one := fr.One()
	if p == Twins && i%2 == 1 {
		return e.twin(r, i)
	}
	if i < len(e.Aux) && (p != Twins || i+1 == len(e.Aux)) {
		row[i%3] = append(row[i%3], Term{Index: i, Coeff: one})
	}
	for m := range 2 {
		row[m] = append(row[m], Term{Input: true, Index: r.IntN(len(e.Inputs) + 1), Coeff: randomScalar(r)})
		if p != Twins && len(e.Aux) > 0 {
			if k := r.IntN(len(e.Aux)); k != i {
				row[m] = append(row[m], Term{Index: k, Coeff: randomScalar(r)})
			}
		}
	}
	return e.balanced(row)
}

// twin has variables i−1 and i with coefficients k and ±k in A, and both in C.
func (e *Explicit) twin(r *rand.Rand, i int) Row {
	k := randomScalar(r)
	one, minus := fr.One(), k
	if i%4 == 1 {
		minus.Neg(&k)
	}
	row := Row{
		{{Index: i - 1, Coeff: k}},
		{{Input: true, Index: 0, Coeff: one}},
		{{Index: i - 1, Coeff: one}},
	}
	if i < len(e.Aux) {
		row[0] = append(row[0], Term{Index: i, Coeff: minus})
		row[2] = append(row[2], Term{Index: i, Coeff: one})
	}
	return e.balanced(row)
}

// balanced adds the multiple of ONE to C that satisfies the row.
func (e *Explicit) balanced(row Row) Row {
	var sums [3]fr.Element
	for m := range row {
		for _, t := range row[m] {
			var x fr.Element
			v := e.value(t)
			sums[m].Add(&sums[m], x.Mul(&t.Coeff, &v))
		}
	}
	var rest fr.Element
	rest.Mul(&sums[0], &sums[1]).Sub(&rest, &sums[2])
	row[2] = append([]Term{{Input: true, Coeff: rest}}, row[2]...)
	return row
}

func randomScalar(r *rand.Rand) fr.Element {
	return fr.Element{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64() >> 2}
}

func randomSecrets(r *rand.Rand) *Secrets {
	return &Secrets{
		Alpha: randomScalar(r), Beta: randomScalar(r), Gamma: randomScalar(r), Delta: randomScalar(r), Tau: randomScalar(r),
	}
}
