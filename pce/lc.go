package pce

import (
	"cmp"
	"slices"
	"sort"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// LC is a linear combination of variables and its value. The zero LC is empty.
//
// The value is kept at all times, the terms only while structure is recorded or checked: then they
// are sorted by variable, each variable occurs once, and a coefficient that became zero stays as an
// explicit term, as in the reference (circuits.md §1.2). An LC is changed in place by its Add
// methods; assigning an LC copies its value but shares its terms, so use [LC.Clone] before changing
// a copy.
type LC struct {
	value fr.Element
	terms []term
}

type term struct {
	ref   ref
	coeff fr.Element
}

// Value is the combination's value.
func (l *LC) Value() fr.Element { return l.value }

// Clone is an independent copy.
func (l *LC) Clone() LC {
	return LC{value: l.value, terms: append([]term(nil), l.terms...)}
}

// AddNum adds coeff·n.
func (l *LC) AddNum(n Num, coeff fr.Element) {
	var v fr.Element
	l.value.Add(&l.value, v.Mul(&coeff, &n.value))
	if n.ref != 0 {
		l.addTerm(n.ref, coeff)
	}
}

// AddBit adds coeff·b: nothing for a constant 0, coeff·ONE for a constant 1, coeff·ONE − coeff·x for
// a negation of x.
func (l *LC) AddBit(b Bit, coeff fr.Element) {
	if b.value {
		l.value.Add(&l.value, &coeff)
	}
	switch {
	case b.constant:
		if b.value {
			l.addTerm(refOne, coeff)
		}
	case b.negated:
		l.addTerm(refOne, coeff)
		if b.ref != 0 {
			var minus fr.Element
			l.addTerm(b.ref, *minus.Neg(&coeff))
		}
	case b.ref != 0:
		l.addTerm(b.ref, coeff)
	}
}

// AddOne adds coeff·ONE.
func (l *LC) AddOne(coeff fr.Element) {
	l.value.Add(&l.value, &coeff)
	l.addTerm(refOne, coeff)
}

// AddScaled adds coeff·m. m is not changed and must not be l.
func (l *LC) AddScaled(m *LC, coeff fr.Element) {
	var v fr.Element
	l.value.Add(&l.value, v.Mul(&coeff, &m.value))
	if len(m.terms) == 0 {
		return
	}
	merged := make([]term, 0, len(l.terms)+len(m.terms))
	i := 0
	for _, t := range m.terms {
		for i < len(l.terms) && l.terms[i].ref < t.ref {
			merged = append(merged, l.terms[i])
			i++
		}
		t.coeff.Mul(&t.coeff, &coeff)
		if i < len(l.terms) && l.terms[i].ref == t.ref {
			t.coeff.Add(&t.coeff, &l.terms[i].coeff)
			i++
		}
		merged = append(merged, t)
	}
	l.terms = append(merged, l.terms[i:]...)
}

func (l *LC) addTerm(r ref, coeff fr.Element) {
	n := len(l.terms)
	if n == 0 || l.terms[n-1].ref < r {
		l.terms = append(l.terms, term{r, coeff})
		return
	}
	i := sort.Search(n, func(i int) bool { return l.terms[i].ref >= r })
	if l.terms[i].ref == r {
		l.terms[i].coeff.Add(&l.terms[i].coeff, &coeff)
		return
	}
	l.terms = append(l.terms, term{})
	copy(l.terms[i+1:], l.terms[i:])
	l.terms[i] = term{r, coeff}
}

// termList collects terms in any order and sorts once; it serves rows with hundreds of terms.
type termList []term

func (t *termList) add(r ref, coeff fr.Element) { *t = append(*t, term{r, coeff}) }

func (t *termList) addBit(b Bit, coeff fr.Element) {
	if b.constant {
		if b.value {
			t.add(refOne, coeff)
		}
		return
	}
	if b.negated {
		t.add(refOne, coeff)
		coeff.Neg(&coeff)
	}
	t.add(b.ref, coeff)
}

// merged is the list as the terms of an LC. The list's storage is reused.
func (t termList) merged() []term {
	t.sort()
	out := t[:0]
	for _, x := range t {
		if n := len(out); n > 0 && out[n-1].ref == x.ref {
			out[n-1].coeff.Add(&out[n-1].coeff, &x.coeff)
			continue
		}
		out = append(out, x)
	}
	return out
}

// sort orders by variable. Most rows have a handful of terms, for which insertion is quickest.
func (t termList) sort() {
	if len(t) > 12 {
		slices.SortFunc(t, func(x, y term) int { return cmp.Compare(x.ref, y.ref) })
		return
	}
	for i := 1; i < len(t); i++ {
		for j := i; j > 0 && t[j].ref < t[j-1].ref; j-- {
			t[j], t[j-1] = t[j-1], t[j]
		}
	}
}
