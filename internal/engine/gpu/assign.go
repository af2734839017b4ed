package gpu

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/pce"
)

// assignment implements engine.Assignment. It has its key's working memory until it and its quotient are released.
type assignment struct {
	owner *loaded
	desk  *desk

	mu       sync.Mutex // held by whatever works on it
	released bool
	users    int // the assignment, and its quotient
	used     bool
	times    engine.Times

	dense   gpu.View[fr.Element] // inputs, then dense variables
	bits    gpu.View[uint32]
	first   gpu.View[uint32] // first row that is not satisfied
	b, a, c gpu.View[fr.Element]
	mark    uint64 // of the working memory behind b
}

// Assign implements engine.Loaded.
func (l *loaded) Assign(ctx context.Context, w *pce.Witness) (engine.Assignment, error) {
	if l.sys == nil {
		return nil, fmt.Errorf("gpu: assign: %w: no constraint system is loaded", engine.ErrForeign)
	}
	layout := l.sys.Layout()
	return l.assign(ctx, w, layout, l.sys.FullRows(), func(x *assignment) error {
		n := layout.Counts.Inputs
		rows := l.sys.FullRows()
		witness := kernels.Assignment{Inputs: x.dense.Slice(0, n), Dense: x.dense.Slice(n, x.dense.Len()), Bits: x.bits}
		return x.desk.system.Eval(x.desk.stream, witness, x.a.Slice(0, rows), x.b.Slice(0, rows), x.c.Slice(0, rows))
	})
}

// AssignRows implements engine.Loaded.
func (l *loaded) AssignRows(ctx context.Context, w *pce.Witness, r *pce.Rows) (engine.Assignment, error) {
	return l.assign(ctx, w, r.Layout, len(r.A), func(x *assignment) error {
		for _, m := range []struct {
			to   gpu.View[fr.Element]
			from []fr.Element
		}{{x.a, r.A}, {x.b, r.B}, {x.c, r.C}} {
			if err := gpu.Stage(x.desk.stream, m.to.Slice(0, len(m.from)), m.from); err != nil {
				return err
			}
		}
		return nil
	})
}

// assign waits for the working memory, brings the witness to it and makes the rows.
func (l *loaded) assign(ctx context.Context, w *pce.Witness, layout *pce.Layout, rows int, fill func(*assignment) error) (engine.Assignment, error) {
	if err := layout.Match(w); err != nil {
		return nil, err
	}
	if size := l.domain(); rows > size || 2*rows <= size && size > 1 {
		return nil, fmt.Errorf("gpu: assign: %w: %d rows for a domain of %d", engine.ErrForeign, rows, size)
	}
	if err := l.suits(layout); err != nil {
		return nil, err
	}
	if err := l.turn.take(ctx); err != nil {
		return nil, err
	}
	if err := l.prepare(ctx, layout); err != nil {
		l.turn.give()
		return nil, err
	}
	x := &assignment{owner: l, desk: l.desk, users: 1}
	err := x.timed(ctx, &x.times.Assign, func() error {
		if err := x.place(w, rows); err != nil {
			return err
		}
		return fill(x)
	})
	if err != nil {
		x.Release()
		return nil, err
	}
	return x, nil
}

// place cuts the working memory and brings the witness there.
func (x *assignment) place(w *pce.Witness, rows int) (err error) {
	alloc := func(v *gpu.View[fr.Element], n int) {
		if err == nil {
			*v, err = gpu.Alloc[fr.Element](x.desk.work, n)
		}
	}
	words := bitWords(w)
	alloc(&x.dense, len(w.Inputs)+len(w.Dense))
	if err == nil {
		x.bits, err = gpu.Alloc[uint32](x.desk.work, len(words))
	}
	if err == nil {
		x.first, err = gpu.Alloc[uint32](x.desk.work, 1)
	}
	m := x.owner.domain()
	alloc(&x.b, m)
	x.mark = x.desk.work.Mark()
	alloc(&x.a, m)
	alloc(&x.c, m)
	if err != nil {
		return err
	}
	s, n := x.desk.stream, len(w.Inputs)
	if err := gpu.Stage(s, x.dense.Slice(0, n), w.Inputs); err != nil {
		return err
	}
	if err := gpu.Stage(s, x.dense.Slice(n, x.dense.Len()), w.Dense); err != nil {
		return err
	}
	if err := gpu.Stage(s, x.bits, words); err != nil {
		return err
	}
	for _, v := range []gpu.View[fr.Element]{x.a, x.b, x.c} {
		if err := gpu.Fill(s, v.Slice(rows, m), 0); err != nil {
			return err
		}
	}
	return nil
}

// bitWords are the packed bits in words of the card's size. Processors that drive these cards are little-endian.
func bitWords(w *pce.Witness) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(w.Bits))), 2*len(w.Bits))
}

// timed runs a phase whose work heeds ctx, waits for it and adds up the card's time. Whatever comes, nothing is left
// running. The stream stays bound until the assignment is released, so that less urgent work does not come in between the
// phases.
func (x *assignment) timed(ctx context.Context, took *time.Duration, phase func() error) error {
	d := x.desk
	d.stream.Bind(ctx)
	err := d.begin.Record(d.stream)
	if err == nil {
		err = phase()
	}
	if err == nil {
		err = d.end.Record(d.stream)
	}
	if e := d.stream.Wait(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	t, err := d.end.Since(d.begin)
	*took += t
	return err
}

// Times implements engine.Assignment.
func (x *assignment) Times() engine.Times {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.times
}

// Release implements engine.Assignment.
func (x *assignment) Release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.released {
		x.released = true
		x.leave()
	}
}

// leave gives the working memory back with the last user.
func (x *assignment) leave() {
	if x.users--; x.users == 0 {
		x.desk.stream.Bind(context.Background())
		x.desk.work.Rewind(0)
		x.owner.turn.give()
	}
}

// scalars implements engine.Scalars: the coefficients of h, lowest first, in the place of b.
type scalars struct {
	of       *assignment
	released bool // under of.mu
}

// Release implements engine.Scalars.
func (h *scalars) Release() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if !h.released {
		h.released = true
		h.of.leave()
	}
}

// own locks an assignment that must be this key's. The caller unlocks it.
func (l *loaded) own(a engine.Assignment) (*assignment, error) {
	x, ok := a.(*assignment)
	if !ok || x.owner != l {
		return nil, engine.ErrForeign
	}
	x.mu.Lock()
	if x.released {
		x.mu.Unlock()
		return nil, engine.ErrClosed
	}
	return x, nil
}

// Quotient implements engine.Loaded.
func (l *loaded) Quotient(ctx context.Context, a engine.Assignment, m engine.Meter) (engine.Scalars, error) {
	x, err := l.own(a)
	if err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	if x.used {
		return nil, engine.ErrUsed
	}
	x.used = true
	first := make([]uint32, 1)
	err = x.timed(ctx, &x.times.Quotient, func() error {
		d := x.desk
		if err := d.lib.FirstUnequal(d.stream, x.first, x.a, x.b, x.c); err != nil {
			return err
		}
		if err := d.ntt.Quotient(d.stream, l.logN, x.a, x.b, x.c); err != nil {
			return err
		}
		return gpu.DownloadSlice(d.stream, first, x.first)
	})
	if err != nil {
		return nil, err
	}
	if int(first[0]) < l.domain() {
		return nil, &engine.UnsatisfiedError{Row: int(first[0])}
	}
	x.desk.work.Rewind(x.mark)
	x.users++
	m.Add(l.quotientWork())
	return &scalars{of: x}, nil
}
