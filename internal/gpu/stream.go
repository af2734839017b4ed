package gpu

import (
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// keepLaunches is how many kernel names a stream remembers for errors found later.
const keepLaunches = 32

// Stream is an in-order queue of work on one card. It is not safe for concurrent use.
type Stream struct {
	d       *Device
	s       cudrv.Stream
	h       *handle
	cleanup runtime.Cleanup
	ring    []string
	closed  bool
}

// NewStream makes a stream.
func (d *Device) NewStream() (*Stream, error) {
	if err := d.alive("cuStreamCreate"); err != nil {
		return nil, err
	}
	q, r := d.drv.StreamCreate(d.ctx)
	if err := d.check(r, "cuStreamCreate", "", nil); err != nil {
		return nil, err
	}
	s := &Stream{d: d, s: q}
	s.h = d.child(kindStream, "cuStreamDestroy", func() cudrv.Result { return d.drv.StreamDestroy(d.ctx, q) })
	s.cleanup = runtime.AddCleanup(s, leaked, s.h)
	return s, nil
}

// Device is the card.
func (s *Stream) Device() *Device { return s.d }

func (s *Stream) usable(op string) error {
	if s.closed {
		return s.d.closedError(op)
	}
	return s.d.alive(op)
}

func (s *Stream) check(r cudrv.Result, op string) error {
	var launches []string
	if r.Sticky() {
		launches = slices.Clone(s.ring)
	}
	return s.d.check(r, op, "", launches)
}

// Wait blocks until all work enqueued so far has run, and returns its first error. It is not
// interrupted by anything: memory stays in use until the card is done.
func (s *Stream) Wait() error {
	if err := s.usable("cuStreamSynchronize"); err != nil {
		return err
	}
	return s.check(s.d.drv.StreamSynchronize(s.d.ctx, s.s), "cuStreamSynchronize")
}

// Close destroys the stream. Work in it still runs.
func (s *Stream) Close() error {
	s.closed = true
	s.cleanup.Stop()
	return s.h.close()
}

// Upload enqueues a copy of page-locked memory. src must not change until the copy has run.
func Upload[T any](s *Stream, dst View[T], src *Pinned[T]) error {
	const op = "cuMemcpyHtoDAsync"
	if err := checkCopy(s, op, dst, len(src.s)); err != nil {
		return err
	}
	p := unsafe.Pointer(unsafe.SliceData(src.s))
	return s.check(s.d.drv.CopyToDeviceAsync(s.d.ctx, cudrv.DevicePtr(dst.Ptr()), p, dst.Bytes(), s.s), op)
}

// Download enqueues a copy to page-locked memory. dst must not be touched until it has run.
func Download[T any](s *Stream, dst *Pinned[T], src View[T]) error {
	const op = "cuMemcpyDtoHAsync"
	if err := checkCopy(s, op, src, len(dst.s)); err != nil {
		return err
	}
	p := unsafe.Pointer(unsafe.SliceData(dst.s))
	return s.check(s.d.drv.CopyToHostAsync(s.d.ctx, p, cudrv.DevicePtr(src.Ptr()), src.Bytes(), s.s), op)
}

// UploadSlice copies ordinary memory in stream order and waits for the stream.
func UploadSlice[T any](s *Stream, dst View[T], src []T) error {
	const op = "cuMemcpyHtoDAsync"
	if err := checkCopy(s, op, dst, len(src)); err != nil {
		return err
	}
	if len(src) == 0 {
		return nil
	}
	return s.check(s.d.drv.CopyToDevice(s.d.ctx, cudrv.DevicePtr(dst.Ptr()), bytesOf(src), s.s), op)
}

// DownloadSlice copies to ordinary memory in stream order and waits for the stream.
func DownloadSlice[T any](s *Stream, dst []T, src View[T]) error {
	const op = "cuMemcpyDtoHAsync"
	if err := checkCopy(s, op, src, len(dst)); err != nil {
		return err
	}
	if len(dst) == 0 {
		return nil
	}
	return s.check(s.d.drv.CopyToHost(s.d.ctx, bytesOf(dst), cudrv.DevicePtr(src.Ptr()), s.s), op)
}

// Copy enqueues a copy inside the card.
func Copy[T any](s *Stream, dst, src View[T]) error {
	const op = "cuMemcpyDtoDAsync"
	if err := checkCopy(s, op, dst, src.n); err != nil {
		return err
	}
	if err := src.on(s.d, op); err != nil {
		return err
	}
	return s.check(s.d.drv.CopyOnDeviceAsync(s.d.ctx, cudrv.DevicePtr(dst.Ptr()), cudrv.DevicePtr(src.Ptr()), dst.Bytes(), s.s), op)
}

// Fill enqueues the filling of every byte with v.
func Fill[T any](s *Stream, dst View[T], v byte) error {
	const op = "cuMemsetD8Async"
	if err := checkCopy(s, op, dst, dst.n); err != nil || dst.n == 0 {
		return err
	}
	return s.check(s.d.drv.MemsetAsync(s.d.ctx, cudrv.DevicePtr(dst.Ptr()), v, dst.Bytes(), s.s), op)
}

func checkCopy[T any](s *Stream, op string, v View[T], n int) error {
	if err := s.usable(op); err != nil {
		return err
	}
	if err := v.on(s.d, op); err != nil {
		return err
	}
	if v.n != n {
		return s.d.argument(op, "%d elements to %d", n, v.n)
	}
	return nil
}

func bytesOf[T any](s []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(t)))
}

// Event marks a place in a stream.
type Event struct {
	d       *Device
	e       cudrv.Event
	h       *handle
	cleanup runtime.Cleanup
}

// NewEvent makes an event that keeps the time; a wait for it sleeps instead of spinning.
func (d *Device) NewEvent() (*Event, error) {
	if err := d.alive("cuEventCreate"); err != nil {
		return nil, err
	}
	ev, r := d.drv.EventCreate(d.ctx, cudrv.EventBlocking)
	if err := d.check(r, "cuEventCreate", "", nil); err != nil {
		return nil, err
	}
	e := &Event{d: d, e: ev}
	e.h = d.child(kindEvent, "cuEventDestroy", func() cudrv.Result { return d.drv.EventDestroy(d.ctx, ev) })
	e.cleanup = runtime.AddCleanup(e, leaked, e.h)
	return e, nil
}

// Record marks the present end of s.
func (e *Event) Record(s *Stream) error {
	if err := s.usable("cuEventRecord"); err != nil {
		return err
	}
	return s.check(e.d.drv.EventRecord(e.d.ctx, e.e, s.s), "cuEventRecord")
}

// Wait blocks until the marked place has been passed.
func (e *Event) Wait() error {
	if err := e.d.alive("cuEventSynchronize"); err != nil {
		return err
	}
	return e.d.check(e.d.drv.EventSynchronize(e.d.ctx, e.e), "cuEventSynchronize", "", nil)
}

// Done reports whether the marked place has been passed.
func (e *Event) Done() (bool, error) {
	if err := e.d.alive("cuEventQuery"); err != nil {
		return false, err
	}
	r := e.d.drv.EventQuery(e.d.ctx, e.e)
	if r == cudrv.NotReady {
		return false, nil
	}
	return r == cudrv.Success, e.d.check(r, "cuEventQuery", "", nil)
}

// Since is the card's time from start to e, both passed.
func (e *Event) Since(start *Event) (time.Duration, error) {
	if err := e.d.alive("cuEventElapsedTime"); err != nil {
		return 0, err
	}
	ms, r := e.d.drv.EventElapsed(e.d.ctx, start.e, e.e)
	return time.Duration(float64(ms) * float64(time.Millisecond)), e.d.check(r, "cuEventElapsedTime", "", nil)
}

// Close destroys the event.
func (e *Event) Close() error {
	e.cleanup.Stop()
	return e.h.close()
}

// WaitFor lets later work of s wait for e.
func (s *Stream) WaitFor(e *Event) error {
	if err := s.usable("cuStreamWaitEvent"); err != nil {
		return err
	}
	return s.check(s.d.drv.StreamWaitEvent(s.d.ctx, s.s, e.e), "cuStreamWaitEvent")
}
