package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// unlockBytesPerNano is a speed at which any system takes page-locked memory back.
const unlockBytesPerNano = 1

// alignBytes is what the start of every View is a multiple of.
const alignBytes = 256

// Arena is one reservation of device memory, cut into Views from its beginning. It is safe for
// concurrent use; the order of Mark and Rewind is the caller's business.
type Arena struct {
	d       *Device
	base    cudrv.DevicePtr
	size    uint64
	h       *handle
	cleanup runtime.Cleanup

	mu     sync.Mutex
	used   uint64
	peak   uint64
	closed bool
}

// Reserve allocates n bytes under a lease of their own, which ends with the Arena. It does not wait: what does not fit
// beside other leases is an Error with ErrMemory.
func (d *Device) Reserve(n uint64) (*Arena, error) {
	l, err := d.Lease(context.Background(), n, &LeaseOptions{NoWait: true})
	if err != nil {
		return nil, err
	}
	a, err := l.Reserve(n)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.cleanup.Stop() // it ends when the arena does
	books := a.h.books
	a.h.books = func() {
		books()
		l.h.end(0)
	}
	return a, nil
}

// allocate allocates n bytes. If the card has not that much free it answers an Error with ErrMemory and the numbers before
// anything is allocated.
func (d *Device) allocate(n uint64) (cudrv.DevicePtr, error) {
	free, total, err := d.Memory()
	if err != nil {
		return 0, err
	}
	short := &Error{Device: d.info.Identity, Op: "reserve", Reason: ErrMemory, NeedBytes: n, FreeBytes: free, TotalBytes: total}
	if n > free {
		return 0, short
	}
	p, r := d.drv.MemAlloc(d.ctx, n)
	if r == cudrv.OutOfMemory {
		short.Op, short.Result = "cuMemAlloc", r
		return 0, short
	}
	if err := d.check(r, "cuMemAlloc", "", nil); err != nil {
		return 0, err
	}
	now := d.reserved.Add(n)
	for {
		old := d.peak.Load()
		if now <= old || d.peak.CompareAndSwap(old, now) {
			return p, nil
		}
	}
}

// Size, Used and Peak are in bytes; Peak is the most that was in use at a time.
func (a *Arena) Size() uint64 { return a.size }

// Used is what has been cut off and not given back.
func (a *Arena) Used() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// Peak is the most that Used has been.
func (a *Arena) Peak() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peak
}

// Mark remembers how much is in use, for Rewind.
func (a *Arena) Mark() uint64 { return a.Used() }

// Rewind gives everything back that was cut off after the Mark. Work on it must have been waited
// for, or run before any new work on the same stream.
func (a *Arena) Rewind(mark uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if mark <= a.used {
		a.used = mark
	}
}

// Close frees the memory. Views of it are useless from then on.
func (a *Arena) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cleanup.Stop()
	return a.h.close()
}

// View is n elements of T in an Arena. It does not own them; it keeps the Arena alive. The zero
// value is empty and belongs to no card.
type View[T any] struct {
	a   *Arena
	off uint64
	n   int
}

// Alloc cuts n elements off an arena, without a call of the driver. Their content is undefined.
func Alloc[T any](a *Arena, n int) (View[T], error) {
	var t T
	if n < 0 {
		return View[T]{}, a.d.argument("alloc", "%d elements", n)
	}
	need := uint64(n) * uint64(unsafe.Sizeof(t))
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return View[T]{}, a.d.closedError("alloc")
	}
	off := (a.used + alignBytes - 1) &^ (alignBytes - 1)
	if off > a.size || need > a.size-off {
		return View[T]{}, &Error{Device: a.d.info.Identity, Op: "arena", Reason: ErrMemory,
			NeedBytes: need, FreeBytes: a.size - min(off, a.size), TotalBytes: a.size}
	}
	a.used = off + need
	a.peak = max(a.peak, a.used)
	return View[T]{a: a, off: off, n: n}, nil
}

// Aligned is the room that n elements of T take in an Arena.
func Aligned[T any](n int) uint64 {
	var t T
	return (uint64(n)*uint64(unsafe.Sizeof(t)) + alignBytes - 1) &^ (alignBytes - 1)
}

// Len is the number of elements.
func (v View[T]) Len() int { return v.n }

// Bytes is the size in bytes.
func (v View[T]) Bytes() uint64 {
	var t T
	return uint64(v.n) * uint64(unsafe.Sizeof(t))
}

// Slice is the elements from i to j. It panics like a slice expression.
func (v View[T]) Slice(i, j int) View[T] {
	if i < 0 || j < i || j > v.n {
		panic(fmt.Sprintf("gpu: slice [%d:%d] of a view of %d", i, j, v.n))
	}
	var t T
	return View[T]{a: v.a, off: v.off + uint64(i)*uint64(unsafe.Sizeof(t)), n: j - i}
}

// Ptr is the address, for parameter structs of kernels. Zero for the zero View.
func (v View[T]) Ptr() uint64 {
	if v.a == nil {
		return 0
	}
	return uint64(v.a.base) + v.off
}

// on is the error of a view that is not on the card or whose memory is gone.
func (v View[T]) on(d *Device, op string) error {
	switch {
	case v.a == nil:
		return d.argument(op, "view without memory")
	case v.a.d != d:
		return d.argument(op, "view of %s", v.a.d.info.Identity)
	}
	v.a.mu.Lock()
	defer v.a.mu.Unlock()
	if v.a.closed {
		return d.closedError(op)
	}
	return nil
}

// Pinned is n elements of T in page-locked host memory outside the Go heap. Its content belongs to
// the GPU from the enqueuing of a copy until that has run.
type Pinned[T any] struct {
	d       *Device
	s       []T
	h       *handle
	cleanup runtime.Cleanup
}

// AllocPinned allocates page-locked memory. It is an Error with ErrMemory where the system does
// not give it; callers then copy from ordinary memory.
func AllocPinned[T any](d *Device, n int) (*Pinned[T], error) {
	const op = "cuMemHostAlloc"
	if err := d.adopt(kindPinned, op); err != nil {
		return nil, err
	}
	m, err := allocPinned[T](d, op, n)
	if err != nil {
		d.disown(kindPinned)
	}
	return m, err
}

func allocPinned[T any](d *Device, op string, n int) (*Pinned[T], error) {
	var t T
	if n <= 0 {
		return nil, d.argument(op, "%d elements", n)
	}
	size := uint64(n) * uint64(unsafe.Sizeof(t))
	p, r := d.drv.HostAlloc(d.ctx, size)
	if err := d.check(r, op, "", nil); err != nil {
		return nil, err
	}
	d.pinned.Add(size)
	d.sys.locked.add(addressesOf(p, size))
	m := &Pinned[T]{d: d, s: unsafe.Slice((*T)(p), n)}
	m.h = d.child(kindPinned, "cuMemFreeHost", func() cudrv.Result {
		if !d.sys.locked.remove(addressesOf(p, size)) {
			return cudrv.Success
		}
		d.pinned.Add(-size)
		return d.drv.HostFree(d.ctx, p)
	})
	m.h.slow = time.Duration(size / unlockBytesPerNano).Truncate(time.Millisecond)
	m.cleanup = runtime.AddCleanup(m, leaked, m.h)
	return m, nil
}

// Slice is the memory. It must not be used after Close.
func (m *Pinned[T]) Slice() []T { return m.s }

// Close frees the memory. If its card is lost, or one that has copied from or to it, it is kept, since that card may still
// use it.
func (m *Pinned[T]) Close() error {
	m.cleanup.Stop()
	return m.h.close()
}
