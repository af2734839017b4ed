package pce

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// RefKind is the space in which the index of a packed ref counts. A packed ref has its kind in the bits from
// RefShift up and its index below.
type RefKind uint32

// The kinds of refs.
const (
	RefOne   = RefKind(kindOne)   // the constant ONE, index 0
	RefInput = RefKind(kindInput) // public input
	RefBit   = RefKind(kindBit)   // private variable that is 0 or 1
	RefDense = RefKind(kindDense) // private variable of any value
	RefSlot  = RefKind(kindSlot)  // whatever an instance has bound to the slot
)

// RefShift is where a packed ref's kind begins.
const RefShift = kindShift

// SplitRef gives the kind and the index of a packed ref.
func SplitRef(v uint32) (RefKind, uint32) { return RefKind(v >> RefShift), v & maxIndex }

// Structure is what evaluators outside the package need of a System: the rows of all templates, and all
// blocks of the circuit with the numbers that turn refs of a template into refs of the circuit. It must not
// be changed.
type Structure struct {
	Coefficients []fr.Element // 1 and −1 first
	Templates    []Template
}

// Template is the rows that all instances of a block have in common. Refs in terms count from the instance's
// first variable of the kind; slots count from 0.
type Template struct {
	// At[i] is the number of own row i, counted from the instance's first row: the rows of nested blocks lie
	// between a block's own ones.
	At []uint32
	// Ends and Terms hold the rows: row i has its A, B and C terms at Terms[Ends[3i+m−1]:Ends[3i+m]], m = 0, 1,
	// 2, with Ends[−1] = 0. A variable occurs at most once in such a list.
	Ends  []uint32
	Terms []Term

	Instances []Instance
	// Slots are the packed refs that slots stand for, numbered in the whole circuit and never slots themselves:
	// those of instance k are Slots[k·n:(k+1)·n] for n slots of the template.
	Slots []uint32
}

// Instance is one block of the circuit: the number of its first row and the numbers of its first variables.
type Instance struct {
	Row, Input, Bit, Dense uint32
}

// Structure unfolds the tree of calls. What it makes is as large as all blocks' slots together, for PoRep of
// 32 GiB 16 MB; rows and terms are shared with the System.
func (s *System) Structure() *Structure {
	out := &Structure{Coefficients: s.dict, Templates: make([]Template, len(s.templates))}
	for i, t := range s.templates {
		out.Templates[i] = Template{At: s.ownRowNumbers(t), Ends: t.ends, Terms: t.terms}
	}
	s.unfold(out, 0, Instance{}, nil)
	return out
}

// ownRowNumbers are the own rows' numbers in an instance.
func (s *System) ownRowNumbers(t *template) []uint32 {
	at := make([]uint32, t.ownRows())
	nested, call := uint32(0), 0
	for i := range at {
		for ; call < len(t.calls) && int(t.calls[call].ownRows) <= i; call++ {
			nested += s.templates[t.calls[call].template].rows
		}
		at[i] = uint32(i) + nested
	}
	return at
}

// unfold adds an instance of a template and all that it calls.
func (s *System) unfold(out *Structure, template uint32, at Instance, slots []uint32) {
	t, o := s.templates[template], &out.Templates[template]
	in := instance{t: t, row: at.Row, input: at.Input, bit: at.Bit, dense: at.Dense, slots: slots}
	o.Instances = append(o.Instances, at)
	o.Slots = append(o.Slots, slots...)
	nested := uint32(0)
	for i := range t.calls {
		c := &t.calls[i]
		sub := s.templates[c.template]
		bound := make([]uint32, sub.slots)
		for k := range bound {
			bound[k] = in.resolve(t.binds[int(c.binds)+k])
		}
		s.unfold(out, c.template, Instance{
			Row:   at.Row + c.ownRows + nested,
			Input: at.Input + c.inputs, Bit: at.Bit + c.bits, Dense: at.Dense + c.dense,
		}, bound)
		nested += sub.rows
	}
}
