package pce

import "fmt"

// Bounds of what templates unfold to, so that a small file cannot fill memory or stack. The largest Filecoin circuits have
// 263,089 blocks, 4 million outside variables, 1.2 million runs, blocks 4 deep and 0.4 billion variables in templates.
const (
	maxInstances = 1 << 24 // blocks
	maxSlots     = 1 << 26 // outside variables of all blocks
	maxRuns      = 1 << 23 // runs of private variables, before adjacent ones are joined
	maxDepth     = 1 << 8  // blocks within one another
	maxVariables = 1 << 31 // variables of all templates, each counted once with those of its nested blocks
)

// extent is what a template unfolds to. Beyond its bound a number is the bound and 1 more.
type extent struct{ blocks, slots, runs, depth uint64 }

// unfolded is the extent of the whole circuit, and the number of variables of all templates.
func (s *System) unfolded() (e extent, variables uint64) {
	done := make([]extent, len(s.templates))
	s.inner(func(i int, t *template) {
		e := extent{blocks: 1, slots: uint64(t.slots), runs: uint64(len(t.runs))}
		for k := range t.calls {
			sub := &done[t.calls[k].template]
			e.blocks += sub.blocks
			e.slots += sub.slots
			e.runs += sub.runs
			e.depth = max(e.depth, sub.depth+1)
		}
		done[i] = extent{
			blocks: min(e.blocks, maxInstances+1), slots: min(e.slots, maxSlots+1),
			runs: min(e.runs, maxRuns+1), depth: min(e.depth, maxDepth+1),
		}
		variables += uint64(t.inputs) + uint64(t.bits) + uint64(t.dense) + uint64(t.slots)
	})
	return done[0], variables
}

// checkExtent refuses a circuit that unfolds to too much.
func (s *System) checkExtent() error {
	e, variables := s.unfolded()
	for _, x := range []struct {
		n, most uint64
		of      string
	}{
		{e.blocks, maxInstances, "blocks"},
		{e.slots, maxSlots, "outside variables of blocks"},
		{e.runs, maxRuns, "runs of private variables"},
		{e.depth, maxDepth, "blocks within one another"},
		{variables, maxVariables, "variables in templates"},
	} {
		if x.n > x.most {
			return fmt.Errorf("%w: more than %d %s", ErrTooLarge, x.most, x.of)
		}
	}
	return nil
}
