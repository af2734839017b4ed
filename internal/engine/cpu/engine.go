package cpu

import (
	"context"
	"fmt"
	"sync"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// New returns an engine on the processor. It uses GOMAXPROCS goroutines at a time.
func New() engine.Engine { return cpuEngine{} }

type cpuEngine struct{}

func (cpuEngine) Close() error { return nil }

func (cpuEngine) Load(ctx context.Context, sys *pce.System, key *srs.Key) (engine.Loaded, error) {
	domain, err := newDomain(ctx, key.Len(srs.H)+1, logBlock)
	if err != nil {
		return nil, err
	}
	return &loaded{sys: sys, key: key, domain: domain, pool: &pool{size: domain.size()}}, nil
}

// loaded implements engine.Loaded.
type loaded struct {
	sys    *pce.System
	key    *srs.Key
	domain *domain
	pool   *pool

	mu     sync.Mutex
	closed bool
	layout *pce.Layout // of the latest queries
	plan   *queries
}

func (l *loaded) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.plan, l.layout = nil, nil
	l.pool.drain()
	return nil
}

// queriesFor returns the queries of a layout. There is one layout in all normal use: the system's.
func (l *loaded) queriesFor(layout *pce.Layout) (*queries, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, engine.ErrClosed
	}
	if l.plan == nil || l.layout.Digest != layout.Digest {
		q, err := newQueries(layout, l.key)
		if err != nil {
			return nil, err
		}
		l.plan, l.layout = q, layout
	}
	return l.plan, nil
}

// quotientWork is the weight of the quotient in units of one point of a windowed sum: six transforms and their
// passes take about half as long as the sum over h.
func (l *loaded) quotientWork() uint64 { return uint64(l.domain.size()) / 2 }

func (l *loaded) Work() uint64 {
	points := l.key.Len(srs.H) + l.key.Len(srs.L) + l.key.Len(srs.A) + 2*l.key.Len(srs.BG1)
	return l.quotientWork() + uint64(points)
}

// Memory implements engine.Loaded.
func (l *loaded) Memory() engine.Memory { return engine.Memory{} }

// assignment implements engine.Assignment.
type assignment struct {
	owner   *loaded
	witness *pce.Witness
	layout  *pce.Layout

	mu       sync.Mutex
	a, b, c  []element // nil once used or released
	released bool
}

// Assign implements engine.Loaded.
func (l *loaded) Assign(ctx context.Context, w *pce.Witness) (engine.Assignment, error) {
	if l.sys == nil {
		return nil, fmt.Errorf("cpu: assign: %w: no constraint system is loaded", engine.ErrForeign)
	}
	if err := l.sys.Layout().Match(w); err != nil {
		return nil, err
	}
	a, err := l.newAssignment(w, l.sys.Layout(), l.sys.FullRows())
	if err != nil {
		return nil, err
	}
	n := l.sys.FullRows()
	if err := l.sys.Eval(ctx, w, a.a[:n], a.b[:n], a.c[:n]); err != nil {
		a.Release()
		return nil, err
	}
	return a, nil
}

// AssignRows implements engine.Loaded.
func (l *loaded) AssignRows(_ context.Context, w *pce.Witness, r *pce.Rows) (engine.Assignment, error) {
	if err := r.Layout.Match(w); err != nil {
		return nil, err
	}
	a, err := l.newAssignment(w, r.Layout, len(r.A))
	if err != nil {
		return nil, err
	}
	copy(a.a, r.A)
	copy(a.b, r.B)
	copy(a.c, r.C)
	return a, nil
}

// newAssignment has vectors for rows values, zero behind them.
func (l *loaded) newAssignment(w *pce.Witness, layout *pce.Layout, rows int) (*assignment, error) {
	if size := l.domain.size(); rows > size || 2*rows <= size && size > 1 {
		return nil, fmt.Errorf("cpu: assign: %w: %d rows for a domain of %d", engine.ErrForeign, rows, size)
	}
	if _, err := l.queriesFor(layout); err != nil {
		return nil, err
	}
	a := &assignment{owner: l, witness: w, layout: layout, a: l.pool.get(), b: l.pool.get(), c: l.pool.get()}
	clear(a.a[rows:])
	clear(a.b[rows:])
	clear(a.c[rows:])
	return a, nil
}

// take hands the rows to the caller, once.
func (a *assignment) take() (x, y, z []element, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.released:
		return nil, nil, nil, engine.ErrClosed
	case a.a == nil:
		return nil, nil, nil, engine.ErrUsed
	}
	x, y, z = a.a, a.b, a.c
	a.a, a.b, a.c = nil, nil, nil
	return x, y, z, nil
}

// Times implements engine.Assignment.
func (a *assignment) Times() engine.Times { return engine.Times{} }

// Release implements engine.Assignment.
func (a *assignment) Release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.released = true
	a.owner.pool.put(a.a, a.b, a.c)
	a.a, a.b, a.c = nil, nil, nil
}

func (a *assignment) isReleased() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.released
}

// scalars implements engine.Scalars: the coefficients of h, lowest first.
type scalars struct {
	owner *loaded
	mu    sync.Mutex
	v     []element // nil once released; of the domain's size
}

// Release implements engine.Scalars.
func (s *scalars) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner.pool.put(s.v)
	s.v = nil
}

// own returns the engine's view of values that must be this Loaded's.
func (l *loaded) own(a engine.Assignment) (*assignment, error) {
	x, ok := a.(*assignment)
	if !ok || x.owner != l {
		return nil, engine.ErrForeign
	}
	if x.isReleased() {
		return nil, engine.ErrClosed
	}
	return x, nil
}
