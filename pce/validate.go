package pce

import "fmt"

// validate checks every index of a template, so that later uses need not.
func validate(templates []*template, i, coeffs int) error {
	t := templates[i]
	if len(t.ends)%3 != 0 {
		return fmt.Errorf("template %d: %d row ends: %w", i, len(t.ends), errIndex)
	}
	last := uint32(0)
	for k, e := range t.ends {
		if e < last || int64(e) > int64(len(t.terms)) {
			return fmt.Errorf("template %d: row %d ends at term %d: %w", i, k/3, e, errIndex)
		}
		last = e
	}
	if int64(last) != int64(len(t.terms)) {
		return fmt.Errorf("template %d: %d terms, rows have %d: %w", i, len(t.terms), last, errIndex)
	}
	for k, x := range t.terms {
		if !t.has(x.Var) || int64(x.Coeff) >= int64(coeffs) {
			return fmt.Errorf("template %d: term %d: %w", i, k, errIndex)
		}
	}
	for k, v := range t.binds {
		if !t.has(v) || kind(v>>kindShift) == kindOne {
			return fmt.Errorf("template %d: argument %d: %w", i, k, errIndex)
		}
	}
	return validateCalls(templates, i)
}

// has says whether a packed ref is a variable of t.
func (t *template) has(v uint32) bool {
	n := v & maxIndex
	switch kind(v >> kindShift) {
	case kindOne:
		return n == 0
	case kindInput:
		return n < t.inputs
	case kindBit:
		return n < t.bits
	case kindDense:
		return n < t.dense
	case kindSlot:
		return n < t.slots
	}
	return false
}

// validateCalls checks that nested blocks and own variables fill a template exactly.
func validateCalls(templates []*template, i int) error {
	t := templates[i]
	var inputs, bits, dense uint64
	rows := uint64(t.ownRows())
	run, ownRows, binds := uint32(0), uint32(0), uint64(0)
	ownRuns := func(to uint32) {
		for ; run < to; run++ {
			if r := t.runs[run]; r.bit() {
				bits += uint64(r.count())
			} else {
				dense += uint64(r.count())
			}
		}
	}
	for k := range t.calls {
		c := &t.calls[k]
		// The root may call all others, the others only those before them: no cycles.
		if c.template == 0 || int64(c.template) >= int64(len(templates)) || i != 0 && int64(c.template) >= int64(i) ||
			int64(c.runs) > int64(len(t.runs)) || c.runs < run || int64(c.ownRows) > int64(t.ownRows()) || c.ownRows < ownRows ||
			uint64(c.binds) != binds {
			return fmt.Errorf("template %d: block %d: %w", i, k, errIndex)
		}
		ownRuns(c.runs)
		ownRows = c.ownRows
		sub := templates[c.template]
		if uint64(c.bits) != bits || uint64(c.dense) != dense || uint64(c.inputs) < inputs {
			return fmt.Errorf("template %d: block %d: variables: %w", i, k, errIndex)
		}
		inputs = uint64(c.inputs) + uint64(sub.inputs)
		bits += uint64(sub.bits)
		dense += uint64(sub.dense)
		rows += uint64(sub.rows)
		binds += uint64(sub.slots)
	}
	ownRuns(uint32(len(t.runs)))
	if bits != uint64(t.bits) || dense != uint64(t.dense) || inputs > uint64(t.inputs) || rows != uint64(t.rows) ||
		binds != uint64(len(t.binds)) || max(bits, dense, rows, uint64(t.inputs)) > maxIndex {
		return fmt.Errorf("template %d: counts: %w", i, errIndex)
	}
	if i == 0 && (t.slots != 0 || t.inputs == 0) {
		return fmt.Errorf("template 0: %d outside variables, %d inputs: %w", t.slots, t.inputs, errIndex)
	}
	return nil
}
