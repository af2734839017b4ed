package gpu

import (
	"errors"
	"sync"

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
	kinds
)

var kindNames = [kinds]string{"leases", "arenas", "pinned buffers", "streams", "events", "modules"}

// handle is what all children share: a device, a kind, and a way to give the resource back that
// runs once.
type handle struct {
	d       *Device
	kind    kind
	op      string
	release func() cudrv.Result // gives the resource back; nil, or not called on a lost card
	books   func()              // always called, or nil
	once    sync.Once
	err     error
}

func (d *Device) child(k kind, op string, release func() cudrv.Result) *handle {
	d.counts[k].Add(1)
	return &handle{d: d, kind: k, op: op, release: release}
}

// end gives the resource back, once. On a lost card only the books are put right.
func (h *handle) end(leaks int64) {
	h.once.Do(func() {
		h.d.leaks.Add(leaks)
		if h.release != nil && h.d.lost.Load() == nil {
			h.err = h.d.check(h.release(), h.op, "", nil)
		}
		if h.books != nil {
			h.books()
		}
		h.d.counts[h.kind].Add(-1)
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
