package fakedrv

import (
	"fmt"
	"hash/maphash"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// card is one made-up card and everything that lives on it.
type card struct {
	Card
	d        *Driver
	ordinal  int
	ctx      cudrv.Context
	retained int
	lost     cudrv.Result // what every call answers, unless Success
	hung     bool         // nothing runs
	mem      *Memory
	used     uint64
	peak     uint64
	clock    int // operations run so far; the card's time in microseconds
	order    []*stream
	streams  map[cudrv.Stream]*stream
	events   map[cudrv.Event]*event
	modules  map[cudrv.Module]bool
}

type stream struct{ ops []op }

// op is one enqueued piece of work.
type op struct {
	wait   *marker // run only after this
	marker *marker // marked when run
	run    func()  // may be nil
}

// marker is one recording of an event.
type marker struct {
	done bool
	time int
}

type event struct {
	last   *marker // nil before the first recording
	timing bool
}

var hashSeed = maphash.MakeSeed()

func newCard(d *Driver, ordinal int, c Card) *card {
	if c.Name == "" {
		c.Name = "Fake GPU"
	}
	if c.UUID == ([16]byte{}) {
		c.UUID = [16]byte{0: 0xfa, 15: byte(ordinal + 1)}
	}
	if c.PCI == "" {
		c.PCI = fmt.Sprintf("0000:%02x:00.0", ordinal+1)
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = 1 << 30
	}
	if c.Major == 0 {
		c.Major = 9
	}
	if c.SMs == 0 {
		c.SMs = 4
	}
	return &card{
		Card: c, d: d, ordinal: ordinal,
		mem:     &Memory{d: d, ordinal: ordinal, next: uint64(ordinal+1) << 44},
		streams: map[cudrv.Stream]*stream{},
		events:  map[cudrv.Event]*event{},
		modules: map[cudrv.Module]bool{},
	}
}

// enqueue adds work to a stream.
func (k *card) enqueue(s cudrv.Stream, o op) cudrv.Result {
	q := k.streams[s]
	if q == nil {
		return cudrv.InvalidHandle
	}
	q.ops = append(q.ops, o)
	return cudrv.Success
}

// step runs the first operation of one stream, chosen at random among those that may run. It
// reports whether there was one; a card that hangs has none.
func (k *card) step() bool {
	if k.hung {
		return false
	}
	var ready []*stream
	for _, s := range k.order {
		if len(s.ops) > 0 && (s.ops[0].wait == nil || s.ops[0].wait.done) {
			ready = append(ready, s)
		}
	}
	if len(ready) == 0 {
		return false
	}
	s := ready[k.d.rng.IntN(len(ready))]
	o := s.ops[0]
	s.ops = s.ops[1:]
	k.clock++
	if o.run != nil && k.lost == cudrv.Success {
		k.runOp(o.run)
	}
	if o.marker != nil {
		o.marker.done, o.marker.time = true, k.clock
	}
	return true
}

func (k *card) runOp(run func()) {
	defer func() {
		if p := recover(); p != nil {
			k.lost = cudrv.IllegalAddress
			k.d.violate("%v", p)
		}
	}()
	run()
}

// drain runs work until done says that the wait is over.
func (k *card) drain(done func() bool) cudrv.Result {
	for !done() {
		if k.hung {
			k.d.resumed.Wait()
			continue
		}
		if !k.step() {
			k.d.violate("card %d: a wait can never end", k.ordinal)
			return cudrv.Unknown
		}
	}
	return k.lost
}

func (k *card) drainStream(s cudrv.Stream) cudrv.Result {
	q := k.streams[s]
	if q == nil {
		return cudrv.InvalidHandle
	}
	return k.drain(func() bool { return len(q.ops) == 0 })
}

func (k *card) drainAll() cudrv.Result {
	return k.drain(func() bool {
		for _, s := range k.order {
			if len(s.ops) > 0 {
				return false
			}
		}
		return true
	})
}

// hostBytes is host memory given to a copy.
func hostBytes(p unsafe.Pointer, n uint64) []byte { return unsafe.Slice((*byte)(p), n) }

// checkPinned reports host memory that was not page-locked, which a real driver would copy
// with other ordering.
func (d *Driver) checkPinned(op string, p unsafe.Pointer, n uint64) {
	for base, h := range d.pinned {
		if uintptr(p) >= uintptr(base) && uintptr(p)+uintptr(n) <= uintptr(base)+uintptr(h.bytes) {
			return
		}
	}
	d.violate("%s: %d bytes of host memory are not page-locked", op, n)
}
