package gpu

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"
)

// lockedMemory is where the page-locked memory of all cards of a driver is. The driver knows it in every context, so any
// card can copy from it in place.
type lockedMemory struct {
	mu     sync.Mutex
	ranges []*lockedRange // disjoint, ascending
}

// lockedRange is one piece of it.
type lockedRange struct {
	addresses
	users []*Device // the cards that have been told to copy from or to it
}

// addresses are [from, to).
type addresses struct{ from, to uintptr }

func addressesOf(p unsafe.Pointer, size uint64) addresses {
	return addresses{uintptr(p), uintptr(p) + uintptr(size)}
}

// find is the place of a range that begins where r does, or where it would be put. The caller holds the lock.
func (l *lockedMemory) find(r addresses) (at int, found bool) {
	return slices.BinarySearchFunc(l.ranges, r, func(a *lockedRange, b addresses) int { return cmp.Compare(a.from, b.from) })
}

func (l *lockedMemory) add(r addresses) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := l.find(r)
	l.ranges = slices.Insert(l.ranges, at, &lockedRange{addresses: r})
}

// remove tells whether a range can be given back, and then forgets it. It cannot where one of its users is lost, since that
// card may still have it in use.
func (l *lockedMemory) remove(r addresses) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, found := l.find(r)
	if !found || slices.ContainsFunc(l.ranges[at].users, func(d *Device) bool { return d.lost.Load() != nil }) {
		return false
	}
	l.ranges = slices.Delete(l.ranges, at, at+1)
	return true
}

// claim tells whether all of b, which is not empty, is page-locked, and if so notes that a card uses it.
func (l *lockedMemory) claim(b []byte, d *Device) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.holding(addressesOf(unsafe.Pointer(unsafe.SliceData(b)), uint64(len(b))))
	if x == nil {
		return false
	}
	if !slices.Contains(x.users, d) {
		x.users = append(x.users, d)
	}
	return true
}

// holding is the range that r is in, or nil. The caller holds the lock.
func (l *lockedMemory) holding(r addresses) *lockedRange {
	at, found := l.find(r)
	if !found {
		at--
	}
	if at < 0 || r.to > l.ranges[at].to {
		return nil
	}
	return l.ranges[at]
}
