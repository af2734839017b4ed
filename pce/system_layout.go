package pce

// makeLayout builds what the layouts of all templates have from the innermost out, so that its cost follows
// what is stored and not what the circuit unfolds to.
func (s *System) makeLayout() *Layout {
	return newLayout(s.Counts(), s.runs().runs, s.densities())
}

// layoutDigest is that of the layout, without its densities.
func (s *System) layoutDigest() [32]byte {
	return layoutDigest(s.Counts().Inputs, countsOf(s.runs().runs))
}

// inner calls f for each template after those it calls.
func (s *System) inner(f func(i int, t *template)) {
	for k := range s.templates {
		i := (k + 1) % len(s.templates) // the root may call all others
		f(i, s.templates[i])
	}
}

// runs is the order of the private variables.
func (s *System) runs() *runList {
	done := make([]runList, len(s.templates))
	s.inner(func(i int, t *template) {
		l, run := &done[i], 0
		addRuns := func(to int) {
			for ; run < to; run++ {
				l.add(int(t.runs[run].count()), t.runs[run].bit())
			}
		}
		for k := range t.calls {
			addRuns(int(t.calls[k].runs))
			l.append(&done[t.calls[k].template])
		}
		addRuns(len(t.runs))
	})
	return &done[0]
}

// densities says which variables the rows of the circuit use.
func (s *System) densities() *classDensities {
	done := make([]classDensities, len(s.templates))
	s.inner(func(i int, t *template) {
		used := &done[i]
		for m := range 2 {
			used.inputs[m], used.slots[m] = NewBitset(int(t.inputs)), NewBitset(int(t.slots))
			used.bits[m], used.dense[m] = NewBitset(int(t.bits)), NewBitset(int(t.dense))
		}
		s.markOwnRows(t, used)
		for k := range t.calls {
			used.addCall(&t.calls[k], &done[t.calls[k].template], t.binds)
		}
	})
	return &done[0]
}

// addCall adds what a nested block uses.
func (d *classDensities) addCall(c *call, sub *classDensities, binds []uint32) {
	for m := range 2 {
		d.bits[m].orAt(int(c.bits), sub.bits[m])
		d.dense[m].orAt(int(c.dense), sub.dense[m])
		d.inputs[m].orAt(int(c.inputs), sub.inputs[m])
		d.one[m] = d.one[m] || sub.one[m]
		sub.slots[m].members(func(k int) { d.mark(m, binds[int(c.binds)+k]) })
	}
}

func (s *System) markOwnRows(t *template, d *classDensities) {
	for i := range t.ownRows() {
		for m := range 2 {
			for _, x := range t.rowTerms(i, m) {
				if !s.dict[x.Coeff].IsZero() {
					d.mark(m, x.Var)
				}
			}
		}
	}
}
