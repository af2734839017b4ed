package cuzk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/queue"
)

// Preload loads the keys of circuits ahead of their first job, on the device with the given UUID or, if that is empty, on
// all on which they fit and that take such jobs. It waits for memory that partitions use. Circuits are named as for
// [Engine.Estimate].
func (e *Engine) Preload(ctx context.Context, uuid string, names ...string) error {
	return e.eachKey(ctx, uuid, names, e.known, func(ctx context.Context, c *card, k *kind) error {
		fits := func(d DeviceNeed) bool { return d.Fits() }
		need := k.needs[c.index]
		switch {
		case uuid == "" && c.onlyWinning && k.class != queue.Winning:
			return nil
		case need.Fits():
			b, err := c.shelf.acquire(ctx, k, k.class, need)
			if err == nil {
				c.shelf.release(b)
			}
			return err
		case uuid == "" && slices.ContainsFunc(k.needs, fits):
			return nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		return &MemoryError{Need: k.need(e.cards), HostLimitBytes: e.host.limit}
	})
}

// Evict gives the memory of keys back that no partition uses, on the device with the given UUID or, if that is empty, on
// all. Of those that are used, the error wraps [ErrBusy]. Keys that are not loaded are left alone.
func (e *Engine) Evict(ctx context.Context, uuid string, names ...string) error {
	return e.eachKey(ctx, uuid, names, e.alreadyOpen, func(_ context.Context, c *card, k *kind) error {
		if c.shelf.evictKey(k.name) {
			return fmt.Errorf("%w: partitions use it", ErrBusy)
		}
		return nil
	})
}

// eachKey calls f for all circuits that find finds on all devices, or on one.
func (e *Engine) eachKey(
	ctx context.Context, uuid string, names []string, find func(context.Context, string) (*kind, error),
	f func(context.Context, *card, *kind) error,
) error {
	ctx, leave, err := e.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	var cards []*card
	e.mu.Lock()
	for _, c := range e.cards {
		if !c.standby && c.lost == nil && (uuid == "" || c.device.Info().UUID == uuid) {
			cards = append(cards, c)
		}
	}
	e.mu.Unlock()
	if len(cards) == 0 {
		return fmt.Errorf("cuzk: no device %q in use: %w", uuid, device.ErrNoDevice)
	}
	var kinds []*kind
	var problems []error
	for _, name := range names {
		k, err := find(ctx, name)
		if err != nil {
			problems = append(problems, err)
		} else if k != nil {
			kinds = append(kinds, k)
		}
	}
	perCard := make([]error, len(cards))
	err = parallel.Each(ctx, len(cards), func(ctx context.Context, i int) error {
		for _, k := range kinds {
			perCard[i] = errors.Join(perCard[i], e.keyError(cards[i], k, f(ctx, cards[i], k)))
		}
		return nil // the others go on
	})
	return errors.Join(append(append(problems, perCard...), err)...)
}

// keyError says about which key on which device an error is, which may be nil, and takes a lost device out.
func (e *Engine) keyError(c *card, k *kind, err error) error {
	if err == nil {
		return nil
	}
	e.loseIfGone(c)
	return fmt.Errorf("cuzk: %s on %s %s: %w", k.name, c.device.Info().Name, c.device.Info().UUID, err)
}

// SelfTest proves and verifies a tiny circuit on every device, beside what they have in work, and says what they are
// capable of. The error joins those in the report.
func (e *Engine) SelfTest(ctx context.Context) (*SelfTestReport, error) {
	ctx, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var cards []*card
	e.mu.Lock()
	for _, c := range e.cards {
		if !c.standby {
			cards = append(cards, c)
		}
	}
	e.mu.Unlock()
	r := &SelfTestReport{Devices: make([]DeviceReport, len(cards))}
	err = parallel.Each(ctx, len(cards), func(ctx context.Context, i int) error {
		r.Devices[i] = selfTest(ctx, cards[i].device, cards[i].backend, cards[i].log)
		if r.Devices[i].Err != nil {
			e.loseIfGone(cards[i])
		}
		return nil // the others go on
	})
	for i := range r.Devices {
		err = errors.Join(err, r.Devices[i].Err)
	}
	return r, err
}
