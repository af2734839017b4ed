package pce

// templateLayout is the layout of one block: the order of its private variables and which variables
// its rows use, nested blocks included.
type templateLayout struct {
	runs runList
	used classDensities
}

// makeLayout builds the layouts of all templates from the innermost out, so that its cost follows
// what is stored and not what the circuit unfolds to.
func (s *System) makeLayout() *Layout {
	done := make([]templateLayout, len(s.templates))
	for i := 1; i < len(s.templates); i++ { // a template comes after those it calls, the root excepted
		done[i] = s.templateLayout(s.templates[i], done)
	}
	root := s.templateLayout(s.root(), done)
	return newLayout(s.Counts(), root.runs.runs, &root.used)
}

func (s *System) templateLayout(t *template, done []templateLayout) templateLayout {
	var l templateLayout
	s.markOwnRows(t, &l.used)
	run := 0
	addRuns := func(to int) {
		for ; run < to; run++ {
			l.runs.add(int(t.runs[run].count()), t.runs[run].bit())
		}
	}
	for i := range t.calls {
		c := &t.calls[i]
		sub := &done[c.template]
		addRuns(int(c.runs))
		l.runs.append(&sub.runs)
		for m := range 2 {
			l.used.bits[m].orAt(int(c.bits), sub.used.bits[m])
			l.used.dense[m].orAt(int(c.dense), sub.used.dense[m])
			l.used.one[m] = l.used.one[m] || sub.used.one[m]
			l.used.inputs[m].orAt(int(c.inputs), sub.used.inputs[m])
			sub.used.slots[m].members(func(k int) { l.used.mark(m, t.binds[int(c.binds)+k]) })
		}
	}
	addRuns(len(t.runs))
	return l
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
