package enginetest

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/pce"
)

// Term is one term of a linear combination.
type Term struct {
	Input bool
	Index int // among inputs (0 is ONE) or private variables
	Coeff fr.Element
}

// Row is the constraint A * B = C.
type Row [3][]Term

// Explicit is a circuit given by its rows and values. It is a circuits.Circuit.
type Explicit struct {
	Label  string
	Inputs []fr.Element // without ONE
	Aux    []fr.Element
	Bits   map[int]bool // private variables that are allocated as bits, with a row of their own before Rows
	Rows   []Row
}

// Name implements circuits.Circuit.
func (e *Explicit) Name() string { return e.Label }

// PublicInputs implements circuits.Circuit.
func (e *Explicit) PublicInputs() ([]fr.Element, error) { return e.Inputs, nil }

// Synthesize implements circuits.Circuit.
func (e *Explicit) Synthesize(b pce.Builder) error {
	inputs := make([]pce.Num, 0, len(e.Inputs))
	for _, v := range e.Inputs {
		inputs = append(inputs, b.AllocInput(v))
	}
	aux := make([]pce.Num, 0, len(e.Aux))
	for i, v := range e.Aux {
		if e.Bits[i] {
			aux = append(aux, b.AllocBit(v.IsOne()).Num())
		} else {
			aux = append(aux, b.Alloc(v))
		}
	}
	for _, r := range e.Rows {
		var lc [3]pce.LC
		for m := range lc {
			for _, t := range r[m] {
				switch {
				case t.Input && t.Index == 0:
					lc[m].AddOne(t.Coeff)
				case t.Input:
					lc[m].AddNum(inputs[t.Index-1], t.Coeff)
				default:
					lc[m].AddNum(aux[t.Index], t.Coeff)
				}
			}
		}
		b.Enforce(lc[0], lc[1], lc[2])
	}
	return nil
}

// allRows are the rows of the circuit in order of emission, and those that prover and key generator append.
func (e *Explicit) allRows() []Row {
	var rows []Row
	one := fr.One()
	for i := range e.Aux {
		if e.Bits[i] { // (ONE − x) * x = 0
			x := Term{Index: i, Coeff: one}
			minus := Term{Index: i}
			minus.Coeff.Neg(&one)
			rows = append(rows, Row{{{Input: true, Coeff: one}, minus}, {x}, nil})
		}
	}
	rows = append(rows, e.Rows...)
	for i := range len(e.Inputs) + 1 {
		rows = append(rows, Row{{{Input: true, Index: i, Coeff: one}}, nil, nil})
	}
	return rows
}

// value is the value of a term's variable.
func (e *Explicit) value(t Term) fr.Element {
	switch {
	case t.Input && t.Index == 0:
		return fr.One()
	case t.Input:
		return e.Inputs[t.Index-1]
	}
	return e.Aux[t.Index]
}
