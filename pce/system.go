package pce

import (
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// System is a pre-compiled constraint system: the rows of a circuit, kept as templates of its blocks
// and a tree of calls. It is immutable and safe for concurrent use.
type System struct {
	name      string
	dict      []fr.Element
	templates []*template // the first is the whole circuit

	layout func() *Layout
	digest func() [32]byte
}

func newSystem(name string, dict []fr.Element, templates []*template) *System {
	s := &System{name: name, dict: dict, templates: templates}
	s.layout = sync.OnceValue(s.makeLayout)
	s.digest = sync.OnceValue(s.makeDigest)
	return s
}

// Name is the circuit's name.
func (s *System) Name() string { return s.name }

// Layout is the system's layout. It is made at the first call.
func (s *System) Layout() *Layout { return s.layout() }

// Counts are the system's sizes.
func (s *System) Counts() Counts {
	t := s.root()
	return Counts{
		Rows: int(t.rows), Inputs: int(t.inputs),
		Aux: int(t.bits) + int(t.dense), Bits: int(t.bits), Dense: int(t.dense),
	}
}

// FullRows is the number of rows that prover and key generator use: the circuit's, and one row
// I[i] * 0 = 0 for every input, ONE included (circuits.md §1.4).
func (s *System) FullRows() int { return s.Counts().Rows + s.Counts().Inputs }

// Stats are figures about the stored form.
type Stats struct {
	Templates    int
	StoredRows   int // rows in templates
	StoredTerms  int // coefficients in templates
	Calls        int // blocks in templates
	Coefficients int // distinct ones
	Instances    int // blocks in the whole circuit
}

// Stats counts what is stored.
func (s *System) Stats() Stats {
	st := Stats{Templates: len(s.templates), Coefficients: len(s.dict)}
	for _, t := range s.templates {
		st.StoredRows += t.ownRows()
		st.StoredTerms += len(t.terms)
		st.Calls += len(t.calls)
	}
	e, _ := s.unfolded()
	st.Instances = int(e.blocks)
	return st
}

func (s *System) root() *template { return s.templates[0] }

// instance is one block of the unfolded circuit.
type instance struct {
	t                      *template
	row, input, bit, dense uint32   // numbers of its first row and variables in the whole circuit
	slots                  []uint32 // packed refs of what its slots stand for, numbered in the whole circuit
}

// resolve is the packed ref in the whole circuit of a packed ref in the block.
func (in *instance) resolve(v uint32) uint32 {
	switch kind(v >> kindShift) {
	case kindInput:
		return v + in.input
	case kindBit:
		return v + in.bit
	case kindDense:
		return v + in.dense
	case kindSlot:
		return in.slots[v&maxIndex]
	}
	return v
}

// walk calls rows for each stretch of a block's own rows, from to to−1, in row order through all blocks;
// the stretch's first row is row first of the circuit. The instance may be kept.
func (s *System) walk(rows func(in *instance, from, to int, first uint32)) {
	s.walkInstance(&instance{t: s.root()}, rows)
}

func (s *System) walkInstance(in *instance, rows func(in *instance, from, to int, first uint32)) {
	t, row, ownRow := in.t, in.row, 0
	ownRows := func(to int) {
		if n := to - ownRow; n > 0 {
			rows(in, ownRow, to, row)
			row += uint32(n)
			ownRow = to
		}
	}
	for i := range t.calls {
		c := &t.calls[i]
		ownRows(int(c.ownRows))
		sub := s.templates[c.template]
		child := &instance{
			t: sub, row: row,
			input: in.input + c.inputs, bit: in.bit + c.bits, dense: in.dense + c.dense,
			slots: make([]uint32, sub.slots),
		}
		for k := range child.slots {
			child.slots[k] = in.resolve(t.binds[int(c.binds)+k])
		}
		s.walkInstance(child, rows)
		row += sub.rows
	}
	ownRows(t.ownRows())
}
