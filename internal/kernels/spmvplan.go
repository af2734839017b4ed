package kernels

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/pce"
)

// The forms of terms, heads and places are those of cuda/pce/spmv.cuh.
const (
	smallOne = iota
	smallBit
	smallSlot
)

const (
	smallShift  = 22
	maxSmall    = 127 // largest sum of a small list's absolute coefficients
	maxTerms    = 16  // of a small list
	noList      = 255
	maxShort    = 16 // terms of a list of spmv_short
	runShift    = 27
	maxRun      = 32 // bits in a row
	placeShift  = 30
	numberZero  = 128 // where 0 is in the table of small numbers
	numberCount = 256
)

// spmvPlan is a constraint system as the kernels read it.
type spmvPlan struct {
	small, short, long spmvPart
	instances          []pce.Instance
	slots              []uint32
	numbers            []fr.Element // −128 to 127
	coefficients       []fr.Element // for each c: c, c·2^256
}

// spmvPart is the share of one kernel.
type spmvPart struct {
	kernel    string
	items     int // of a block
	templates []spmvTemplate
	owners    []uint32
	heads     [][4]uint32
	terms     []uint32
	places    []uint32
}

func (p *spmvPlan) parts() []*spmvPart { return []*spmvPart{&p.small, &p.short, &p.long} }

// check says whether all tables can be numbered as the kernels do it.
func (p *spmvPlan) check() error {
	most := len(p.slots)
	for _, part := range p.parts() {
		most = max(most, len(part.terms), len(part.places), len(part.heads), len(part.owners))
	}
	if most > math.MaxUint32 || len(p.coefficients) > 2<<runShift {
		return fmt.Errorf("table of %d entries or %d coefficients: %w", most, len(p.coefficients)/2, gpu.ErrArgument)
	}
	return nil
}

// newSpmvPlan makes the tables. The appended input rows are a template of their own.
func newSpmvPlan(sys *pce.System) *spmvPlan {
	st := sys.Structure()
	p := &spmvPlan{
		small:   spmvPart{kernel: spmvSmall, items: spmvThreads},
		short:   spmvPart{kernel: spmvShort, items: spmvThreads},
		long:    spmvPart{kernel: spmvLong, items: spmvThreads / spmvLanes},
		numbers: make([]fr.Element, numberCount),
	}
	small := make(map[fr.Element]int)
	for i := range p.numbers {
		p.numbers[i].SetInt64(int64(i - numberZero))
		small[p.numbers[i]] = i - numberZero
	}
	b := spmvBuilder{spmvPlan: p, dict: st.Coefficients, doubles: doubles(st.Coefficients)}
	shift := *new(fr.Element).SetBigInt(new(big.Int).Lsh(big.NewInt(1), 256))
	for _, c := range st.Coefficients {
		k, ok := small[c]
		if !ok {
			k = maxSmall + 1
		}
		b.integers = append(b.integers, k)
		p.coefficients = append(p.coefficients, c, *new(fr.Element).Mul(&c, &shift))
	}
	for i := range st.Templates {
		b.add(&st.Templates[i])
	}
	inputs := inputRows(sys.Counts())
	b.add(&inputs)
	return p
}

// doubles has, for each coefficient's code, the code of twice the coefficient, or its own.
func doubles(dict []fr.Element) []uint32 {
	codes := make(map[fr.Element]uint32, len(dict))
	for i, c := range dict {
		codes[c] = uint32(i)
	}
	out := make([]uint32, len(dict))
	for i, c := range dict {
		out[i] = uint32(i)
		if k, ok := codes[*c.Double(&c)]; ok {
			out[i] = k
		}
	}
	return out
}

// inputRows is the template of the rows that every prover appends: input · 0 = 0.
func inputRows(n pce.Counts) pce.Template {
	t := pce.Template{Instances: []pce.Instance{{Row: uint32(n.Rows)}}}
	for i := range uint32(n.Inputs) {
		t.At = append(t.At, i)
		t.Terms = append(t.Terms, pce.Term{Var: uint32(pce.RefInput)<<pce.RefShift | i})
		t.Ends = append(t.Ends, i+1, i+1, i+1)
	}
	return t
}

// spmvBuilder fills a plan, template by template.
type spmvBuilder struct {
	*spmvPlan
	dict     []fr.Element
	integers []int // a coefficient's value where that is small
	doubles  []uint32

	t     *pce.Template
	bits  []bool // slots that are a bit or ONE in every instance
	joins []bool // slots that are a bit, the next of which is the next bit, in every instance
	lists map[string]*spmvList
	order []*spmvList // in order of the first place, then of length
}

// spmvList is a list that is not small, with all places that have it.
type spmvList struct {
	terms, places []uint32
}

func (b *spmvBuilder) add(t *pce.Template) {
	b.t, b.lists, b.order = t, make(map[string]*spmvList), nil
	head := spmvTemplate{
		Instances: uint32(len(t.Instances)), FirstInstance: uint32(len(b.instances)), FirstSlot: uint32(len(b.slots)),
	}
	if len(t.Instances) == 0 {
		return
	}
	head.Slots = uint32(len(t.Slots) / len(t.Instances))
	b.instances = append(b.instances, t.Instances...)
	b.slots = append(b.slots, t.Slots...)
	b.classifySlots(int(head.Slots))

	first := [3]int{len(b.small.heads), len(b.short.heads), len(b.long.heads)}
	for i, at := range t.At {
		b.row(i, at)
	}
	slices.SortStableFunc(b.order, func(x, y *spmvList) int { return cmp.Compare(len(x.terms), len(y.terms)) })
	for _, l := range b.order { // neighbouring lanes have lists of about the same length
		part := &b.long
		if len(l.terms) <= 2*maxShort {
			part = &b.short
		}
		part.heads = append(part.heads, [4]uint32{
			uint32(len(part.terms) / 2), uint32(len(l.terms) / 2), uint32(len(part.places)), uint32(len(l.places)),
		})
		part.terms = append(part.terms, l.terms...)
		part.places = append(part.places, l.places...)
	}
	for k, part := range b.parts() {
		part.template(head, first[k])
	}
}

// template adds the blocks for all items since head first of a template.
func (p *spmvPart) template(t spmvTemplate, first int) {
	items := len(p.heads) - first
	if items == 0 {
		return
	}
	t.FirstBlock, t.Items, t.FirstHead = uint32(len(p.owners)), uint32(items), uint32(first)
	owner := uint32(len(p.templates))
	p.templates = append(p.templates, t)
	p.owners = append(p.owners, slices.Repeat([]uint32{owner}, blocks(items*int(t.Instances), p.items))...)
}

func (b *spmvBuilder) classifySlots(n int) {
	b.bits, b.joins = slices.Repeat([]bool{true}, n), slices.Repeat([]bool{true}, n)
	for k := 0; k < len(b.t.Slots); k += n {
		slots := b.t.Slots[k : k+n]
		for i, v := range slots {
			kind, _ := pce.SplitRef(v)
			b.bits[i] = b.bits[i] && (kind == pce.RefBit || kind == pce.RefOne)
			b.joins[i] = b.joins[i] && kind == pce.RefBit && i+1 < n && slots[i+1] == v+1
		}
	}
}

// row adds row i of the template, which is row at of an instance.
func (b *spmvBuilder) row(i int, at uint32) {
	head := [4]uint32{at, uint32(len(b.small.terms))}
	here := false
	for m := range 3 {
		start := uint32(0)
		if k := 3*i + m; k > 0 {
			start = b.t.Ends[k-1]
		}
		terms := b.t.Terms[start:b.t.Ends[3*i+m]]
		if b.addSmall(terms) {
			head[2] |= uint32(len(terms)) << (8 * m)
			here = true
			continue
		}
		head[2] |= noList << (8 * m)
		b.addList(terms, uint32(m)<<placeShift|at)
	}
	if here {
		b.small.heads = append(b.small.heads, head)
	}
}

// addSmall adds a list to the small ones if it is one.
func (b *spmvBuilder) addSmall(terms []pce.Term) bool {
	sum, n := 0, len(b.small.terms)
	for _, t := range terms {
		kind, i := pce.SplitRef(t.Var)
		c := b.integers[t.Coeff]
		sum += max(c, -c)
		form := -1
		switch {
		case kind == pce.RefOne:
			form = smallOne
		case kind == pce.RefBit:
			form = smallBit
		case kind == pce.RefSlot && b.bits[i]:
			form = smallSlot
		}
		if form < 0 || sum > maxSmall || i >= 1<<smallShift || len(terms) > maxTerms {
			b.small.terms = b.small.terms[:n]
			return false
		}
		b.small.terms = append(b.small.terms, uint32(c)<<24|uint32(form)<<smallShift|i)
	}
	return true
}

// addList adds a place to the list of its terms.
func (b *spmvBuilder) addList(terms []pce.Term, place uint32) {
	key := unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(terms))), len(terms)*int(unsafe.Sizeof(pce.Term{})))
	l := b.lists[key]
	if l == nil {
		l = &spmvList{terms: b.runs(terms)}
		b.lists[key] = l // the key is part of the system, which does not change
		b.order = append(b.order, l)
	}
	l.places = append(l.places, place)
}

// runs writes terms, and as one term bits in a row whose coefficients double.
func (b *spmvBuilder) runs(terms []pce.Term) []uint32 {
	var out []uint32
	n := 0 // bits of the last term
	for k, t := range terms {
		if n > 0 && n < maxRun && b.follows(terms[k-1], t) {
			out[len(out)-1] += 1 << runShift
			n++
			continue
		}
		out = append(out, t.Var, t.Coeff)
		n = 1
	}
	return out
}

// follows says whether u is the bit after t with twice its coefficient.
func (b *spmvBuilder) follows(t, u pce.Term) bool {
	kind, i := pce.SplitRef(t.Var)
	next := kind == pce.RefBit || kind == pce.RefSlot && b.joins[i]
	return next && u.Var == t.Var+1 && b.doubles[t.Coeff] == u.Coeff && t.Coeff != u.Coeff
}
