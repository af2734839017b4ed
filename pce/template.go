package pce

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// template is the structure of a block: what all its instances have in common. Variables are
// numbered from the first of the block, nested blocks included, separately for inputs, bits and
// dense variables; variables from outside are slots, bound anew at every call.
type template struct {
	name string

	slots                     uint32 // outside variables
	inputs, bits, dense, rows uint32 // of one instance, nested blocks included

	// Own rows. Row i has its A, B and C terms at terms[ends[3i+m−1]:ends[3i+m]], with ends[−1] = 0.
	ends  []uint32
	terms []Term

	// runs says in which order private variables of the two classes were allocated outside nested
	// blocks; calls say where nested blocks stand among rows and runs.
	runs  []classRun
	calls []call
	binds []uint32 // for each call, the packed refs that its slots stand for
}

// Term is one coefficient of a template row: which variable, and which entry of the dictionary.
type Term struct {
	Var   uint32 // packed ref
	Coeff uint32
}

// classRun is a number of consecutive private variables of one class: count<<1, plus 1 for bits.
type classRun uint32

func makeRun(n uint32, bit bool) classRun {
	r := classRun(n << 1)
	if bit {
		r |= 1
	}
	return r
}

func (r classRun) count() uint32 { return uint32(r >> 1) }
func (r classRun) bit() bool     { return r&1 == 1 }

// appendRun adds n variables of a class to a list of runs.
func appendRun(runs []classRun, n uint32, bit bool) []classRun {
	if n == 0 {
		return runs
	}
	if k := len(runs) - 1; k >= 0 && runs[k].bit() == bit && runs[k].count()+n < 1<<31 {
		runs[k] = makeRun(runs[k].count()+n, bit)
		return runs
	}
	return append(runs, makeRun(n, bit))
}

// call is a nested block.
type call struct {
	template            uint32
	ownRows, runs       uint32 // how many of the caller's own come before it
	inputs, bits, dense uint32 // the number its first variables have in the caller
	binds               uint32 // where in the caller's binds its slots start
}

func (t *template) ownRows() int { return len(t.ends) / 3 }

// rowTerms are the terms of matrix m (0, 1, 2 for A, B, C) in own row i.
func (t *template) rowTerms(i, m int) []Term {
	k := 3*i + m
	start := uint32(0)
	if k > 0 {
		start = t.ends[k-1]
	}
	return t.terms[start:t.ends[k]]
}

// dictionary numbers the coefficients.
type dictionary struct {
	values []fr.Element
	index  map[fr.Element]uint32
}

// The codes of the two commonest coefficients.
const (
	codeOne      = 0
	codeMinusOne = 1
)

func newDictionary() *dictionary {
	d := &dictionary{index: make(map[fr.Element]uint32)}
	d.code(one())
	d.code(minusOne())
	return d
}

func (d *dictionary) code(v fr.Element) uint32 {
	if c, ok := d.index[v]; ok {
		return c
	}
	c := uint32(len(d.values))
	d.values = append(d.values, v)
	d.index[v] = c
	return c
}
