package kernels

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/pce"
)

// The kernels that evaluate rows.
const (
	spmvSmall = "spmv_small"
	spmvShort = "spmv_short"
	spmvLong  = "spmv_long"
)

const (
	spmvThreads = 256
	spmvLanes   = 4 // of a list of spmv_long
)

// System is a constraint system in a card's memory. It is safe for concurrent use.
type System struct {
	l      *Library
	name   string
	counts pce.Counts
	parts  []spmvLaunch

	instances gpu.View[pce.Instance]
	slots     gpu.View[uint32]
}

// spmvLaunch is one kernel's share of the lists.
type spmvLaunch struct {
	kernel    string
	blocks    int
	templates gpu.View[spmvTemplate]
	owners    gpu.View[uint32]
	heads     gpu.View[[4]uint32]
	terms     gpu.View[uint32]
	places    gpu.View[uint32]
	values    gpu.View[fr.Element]
}

// Assignment is a packed witness in a card's memory, in the order of pce.Witness. Bits has two words for each of
// the witness's, the lower half first.
type Assignment struct {
	Inputs, Dense gpu.View[fr.Element]
	Bits          gpu.View[uint32]
}

// SystemTables are a constraint system as the kernels read it, still in the host's memory.
type SystemTables struct {
	sys  *pce.System
	plan *spmvPlan
}

// TablesOf makes the tables of a constraint system, in half a second for PoRep of 32 GiB.
func TablesOf(sys *pce.System) *SystemTables { return &SystemTables{sys, newSpmvPlan(sys)} }

// Bytes is what LoadSystem takes of an arena.
func (t *SystemTables) Bytes() uint64 {
	p := t.plan
	n := gpu.Aligned[pce.Instance](len(p.instances)) + gpu.Aligned[uint32](len(p.slots)) +
		gpu.Aligned[fr.Element](len(p.numbers)) + gpu.Aligned[fr.Element](len(p.coefficients))
	for _, part := range p.parts() {
		n += gpu.Aligned[spmvTemplate](len(part.templates)) + gpu.Aligned[uint32](len(part.owners)) +
			gpu.Aligned[[4]uint32](len(part.heads)) + gpu.Aligned[uint32](len(part.terms)) +
			gpu.Aligned[uint32](len(part.places))
	}
	return n
}

// LoadSystem uploads a constraint system to the arena, 34 MB for PoRep of 32 GiB. It waits for the stream.
func (l *Library) LoadSystem(s *gpu.Stream, a *gpu.Arena, t *SystemTables) (*System, error) {
	p, sys := t.plan, t.sys
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("kernels: load %s: %w", sys.Name(), err)
	}
	u := uploader{s: s, a: a}
	y := &System{l: l, name: sys.Name(), counts: sys.Counts()}
	y.instances, y.slots = put(&u, p.instances), put(&u, p.slots)
	numbers, coefficients := put(&u, p.numbers), put(&u, p.coefficients)
	for _, part := range p.parts() {
		launch := spmvLaunch{
			kernel: part.kernel, blocks: len(part.owners), values: coefficients,
			templates: put(&u, part.templates), owners: put(&u, part.owners), heads: put(&u, part.heads),
			terms: put(&u, part.terms), places: put(&u, part.places),
		}
		if part.kernel == spmvSmall {
			launch.values = numbers
		}
		y.parts = append(y.parts, launch)
	}
	if u.err != nil {
		return nil, fmt.Errorf("kernels: load %s: %w", sys.Name(), u.err)
	}
	return y, nil
}

// uploader puts tables into an arena and keeps the first error.
type uploader struct {
	s   *gpu.Stream
	a   *gpu.Arena
	err error
}

func put[T any](u *uploader, table []T) gpu.View[T] {
	if u.err != nil {
		return gpu.View[T]{}
	}
	v, err := gpu.Alloc[T](u.a, len(table))
	if err == nil && len(table) > 0 {
		err = gpu.UploadSlice(u.s, v, table)
	}
	u.err = err
	return v
}

// Eval enqueues the evaluation of A, B and C in every row: what pce.System.Eval writes, bit for bit. Each of a,
// b and c has [pce.System.FullRows] elements; they overlap neither each other nor the assignment.
func (y *System) Eval(s *gpu.Stream, w Assignment, a, b, c gpu.View[fr.Element]) error {
	n := y.counts
	if w.Inputs.Len() != n.Inputs || w.Dense.Len() != n.Dense || w.Bits.Len() != 2*blocks(n.Bits, 64) {
		return fmt.Errorf("kernels: evaluate %s: %d inputs, %d dense values and %d words of bits, want %d, %d and %d: %w", y.name,
			w.Inputs.Len(), w.Dense.Len(), w.Bits.Len(), n.Inputs, n.Dense, 2*blocks(n.Bits, 64), gpu.ErrArgument)
	}
	for _, out := range []gpu.View[fr.Element]{a, b, c} {
		if out.Len() != n.Rows+n.Inputs {
			return fmt.Errorf("kernels: evaluate %s: %d, %d and %d rows, want %d: %w", y.name,
				a.Len(), b.Len(), c.Len(), n.Rows+n.Inputs, gpu.ErrArgument)
		}
	}
	for i := range y.parts {
		part := &y.parts[i]
		if part.blocks == 0 {
			continue
		}
		p := spmvParams{
			Templates: part.templates.Ptr(), Owners: part.owners.Ptr(), Heads: part.heads.Ptr(),
			Terms: part.terms.Ptr(), Places: part.places.Ptr(), Values: part.values.Ptr(),
			Instances: y.instances.Ptr(), Slots: y.slots.Ptr(),
			Inputs: w.Inputs.Ptr(), Bits: w.Bits.Ptr(), Dense: w.Dense.Ptr(),
			Out: [3]uint64{a.Ptr(), b.Ptr(), c.Ptr()},
		}
		grid := gpu.Grid{Blocks: part.blocks, Threads: spmvThreads, Micros: part.blocks / 100}
		if err := launch(y.l, s, part.kernel, grid, &p); err != nil {
			return err
		}
	}
	return nil
}
