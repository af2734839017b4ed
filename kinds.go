package cuzk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/internal/parallel"
)

// library is the circuits that an Engine has had to do with. A circuit that could not be opened is not remembered.
type library struct {
	params  Params
	systems *Systems // nil with option DisablePCE
	cards   []*card

	mu    sync.Mutex
	kinds map[string]*kind
	turns map[string]chan struct{} // full while a circuit is being opened
}

func newLibrary(p Params, s *Systems, cards []*card) *library {
	return &library{params: p, systems: s, cards: cards, kinds: map[string]*kind{}, turns: map[string]chan struct{}{}}
}

// get is a circuit that is open, or nil.
func (l *library) get(name string) *kind {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kinds[name]
}

// open opens a circuit once. Those who ask meanwhile wait, and try themselves if it fails. Under a name that is none of
// Filecoin's, model is what the constraint system is of.
func (l *library) open(ctx context.Context, name string, model circuits.Circuit) (*kind, error) {
	turn := l.turn(name)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-turn }()
	if k := l.get(name); k != nil {
		return k, nil
	}
	k := &kind{name: name, class: classOf(name)}
	if err := parallel.Guard(func() error { return l.fill(ctx, k, model) }); err != nil {
		if k.key != nil {
			err = errors.Join(err, k.key.Close())
		}
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kinds[name] = k
	return k, nil
}

// fill opens what belongs to a circuit. It calls the caller's code: the circuit, and Options.Params.
func (l *library) fill(ctx context.Context, k *kind, model circuits.Circuit) (err error) {
	if l.systems != nil {
		if err := checkName(k.name); err != nil {
			return err
		}
	}
	if k.key, err = l.params.OpenKey(ctx, k.name); err != nil {
		return err
	}
	if k.key == nil {
		return fmt.Errorf("%w: nothing was opened for %s", ErrParams, k.name)
	}
	if l.systems != nil {
		if blank := blankOf(k.name); blank != nil {
			model = blank
		}
		if k.system, err = l.systems.open(ctx, model, k.key.Match); err != nil {
			return err
		}
	}
	return k.measure(l.cards)
}

func (l *library) turn(name string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.turns[name]
	if t == nil {
		t = make(chan struct{}, 1)
		l.turns[name] = t
	}
	return t
}

// close closes all keys.
func (l *library) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, k := range l.kinds {
		errs = append(errs, k.key.Close())
	}
	clear(l.kinds)
	return errors.Join(errs...)
}

// keepTimes is of how many partitions the median is taken.
const keepTimes = 33

// times are how long the last partitions of a circuit took, without the loading of keys.
type times struct {
	mu   sync.Mutex
	last []time.Duration // the oldest first
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == keepTimes {
		t.last = slices.Delete(t.last, 0, 1)
	}
	t.last = append(t.last, d)
}

// median is 0 if no partition was made yet.
func (t *times) median() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(t.last))[len(t.last)/2]
}
