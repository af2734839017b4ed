package fakedrv

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

const (
	zoneBytes = 256  // red zone before and after each allocation
	zoneByte  = 0x5a // its content
	align     = 512  // of addresses, as the real driver's
)

// Memory is the memory of one card, as kernels see it.
type Memory struct {
	d       *Driver
	ordinal int
	next    uint64        // next address
	live    []*allocation // sorted by address
}

type allocation struct {
	base uint64
	n    uint64
	mem  []byte // zone, content, zone; nil in accounting mode

	fills []filled // in accounting mode, the oldest first
}

// filled is a stretch of memory that was filled with a byte.
type filled struct {
	at, n uint64
	v     byte
}

// noteFill remembers a fill in place of those that it covers.
func (a *allocation) noteFill(at, n uint64, v byte) {
	covered := func(f filled) bool { return f.at >= at && f.at+f.n <= at+n }
	a.fills = append(slices.DeleteFunc(a.fills, covered), filled{at, n, v})
}

// lastFill is the byte that was filled in last at a place, or 0.
func (a *allocation) lastFill(at uint64) byte {
	for _, f := range slices.Backward(a.fills) {
		if f.at <= at && at < f.at+f.n {
			return f.v
		}
	}
	return 0
}

func (a *allocation) content() []byte { return a.mem[zoneBytes : zoneBytes+a.n] }

// find is the live allocation that holds [p, p+n), or nil.
func (m *Memory) find(p cudrv.DevicePtr, n uint64) *allocation {
	i := sort.Search(len(m.live), func(i int) bool { return m.live[i].base > uint64(p) })
	if i == 0 {
		return nil
	}
	a := m.live[i-1]
	if off := uint64(p) - a.base; off > a.n || n > a.n-off {
		return nil
	}
	return a
}

// Bytes is n bytes of device memory at an address, to read and write. It panics, as an illegal
// address, if they are not inside one live allocation.
func (m *Memory) Bytes(address, n uint64) []byte {
	a := m.find(cudrv.DevicePtr(address), n)
	if a == nil {
		panic(fmt.Sprintf("card %d: illegal address: %d bytes at %#x", m.ordinal, n, address))
	}
	off := address - a.base
	return a.content()[off : off+n : off+n]
}

// Slice is n values of T in device memory at p, to read and write. T must be of a fixed layout
// without pointers. It panics, as an illegal address, if they are not inside one live
// allocation or p is not aligned for T.
func Slice[T any](m *Memory, p cudrv.DevicePtr, n int) []T {
	var t T
	if uintptr(p)%unsafe.Alignof(t) != 0 {
		panic(fmt.Sprintf("card %d: misaligned address %#x", m.ordinal, uint64(p)))
	}
	b := m.Bytes(uint64(p), uint64(n)*uint64(unsafe.Sizeof(t)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func (m *Memory) alloc(n uint64) *allocation {
	a := &allocation{base: m.next, n: n}
	m.next = (m.next + n + 2*zoneBytes + align - 1) &^ (align - 1)
	if !m.d.cfg.Accounting {
		words := make([]uint64, (n+2*zoneBytes+7)/8) // aligned for every element type
		a.mem = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
		fill(a.mem, zoneByte)
		fill(a.content(), Poison)
	}
	m.live = append(m.live, a) // addresses only grow
	return a
}

// free takes the allocation that begins at p out of use, or returns nil.
func (m *Memory) free(p cudrv.DevicePtr) *allocation {
	for i, a := range m.live {
		if a.base == uint64(p) {
			m.live = append(m.live[:i:i], m.live[i+1:]...)
			m.checkZones(a)
			if a.mem != nil {
				fill(a.content(), Poison)
			}
			return a
		}
	}
	return nil
}

var zone = bytes.Repeat([]byte{zoneByte}, zoneBytes)

func (m *Memory) checkZones(a *allocation) {
	if a.mem == nil {
		return
	}
	before, after := a.mem[:zoneBytes], a.mem[zoneBytes+a.n:][:zoneBytes]
	if !bytes.Equal(before, zone) || !bytes.Equal(after, zone) {
		m.d.violate("card %d: red zone of the %d bytes at %#x overwritten", m.ordinal, a.n, a.base)
		fill(before, zoneByte)
		fill(after, zoneByte)
	}
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}
