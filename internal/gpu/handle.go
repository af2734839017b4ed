package gpu

import (
	"errors"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// kind is a kind of child.
type kind int

const (
	kindLease kind = iota
	kindArena
	kindPinned
	kindStream
	kindEvent
	kindModule
	kindCall
	kinds
)

var kindNames = [kinds]string{"leases", "arenas", "pinned buffers", "streams", "events", "modules", "running calls"}

// handle is what all children share: a device, a kind, and a way to give the resource back that
// runs once.
type handle struct {
	d       *Device
	kind    kind
	op      string
	release func() cudrv.Result // gives the resource back; nil, or not called on a lost card
	books   func()              // always called, or nil
	slow    time.Duration       // what the driver may need to take it back beside the time of the watchdog
	once    sync.Once
	err     error
}

// adopt counts a child before the driver is asked for it, so that the card is not closed meanwhile. The error is that of a
// card that is lost or closed. If there will be no child, the caller disowns it.
func (d *Device) adopt(k kind, op string) error {
	d.life.Lock()
	defer d.life.Unlock()
	if err := d.alive(op); err != nil {
		return err
	}
	d.counts[k].Add(1)
	return nil
}

func (d *Device) disown(k kind) { d.counts[k].Add(-1) }

// child is the handle of a child that has been adopted.
func (d *Device) child(k kind, op string, release func() cudrv.Result) *handle {
	return &handle{d: d, kind: k, op: op, release: release}
}

// end gives the resource back, once. On a lost card only the books are put right.
func (h *handle) end(leaks int64) {
	h.once.Do(func() {
		h.d.leaks.Add(leaks)
		if h.release != nil && h.d.lost.Load() == nil {
			h.err = h.d.await(h.d.opts.Watchdog+h.slow, h.op, h.release)
		}
		if h.books != nil {
			h.books()
		}
		h.d.disown(h.kind)
	})
}

// close is what Close of every child does.
func (h *handle) close() error {
	h.end(0)
	if h.err != nil && errors.Is(h.err, ErrLost) {
		return nil // the loss is reported by the call that needs the card, not by a close
	}
	return h.err
}

// leaked runs when the collector finds an unclosed child.
func leaked(h *handle) { h.end(1) }
