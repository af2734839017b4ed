package gpu

import (
	"time"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// Estimates for pieces: a copy between host and card at 16 bytes a nanosecond, one inside the card at a thousand. They
// err on the side of long.
const (
	hostBytesPerNano = 16
	cardBytesPerNano = 1000
	leastWork        = 2 * time.Microsecond // any call that enqueues
)

// pieceBytes is the most that one copy between host and card moves.
func (s *Stream) pieceBytes() uint64 { return max(1<<20, uint64(s.d.opts.Piece)*hostBytesPerNano) }

// cut calls do for the parts of n bytes that are copied at once, and accounts for each.
func (s *Stream) cut(op string, n uint64, do func(off, n uint64) cudrv.Result) error {
	for off := uint64(0); off < n; {
		if err := s.enter(op); err != nil {
			return err
		}
		part := min(n-off, s.pieceBytes())
		if err := s.check(do(off, part), op); err != nil {
			return err
		}
		if err := s.spend(time.Duration(part / hostBytesPerNano)); err != nil {
			return err
		}
		off += part
	}
	return nil
}

// Upload enqueues a copy of page-locked memory. src must not change until the copy has run, also where an error says that
// only a part of it was enqueued.
func Upload[T any](s *Stream, dst View[T], src *Pinned[T]) error {
	const op = "cuMemcpyHtoDAsync"
	if err := checkCopy(s, op, dst, len(src.s)); err != nil {
		return err
	}
	b := bytesOf(src.s)
	s.d.sys.locked.claim(b, s.d)
	return s.direct(dst.Ptr(), b)
}

// Download enqueues a copy to page-locked memory. dst must not be touched until it has run, also where an error says that
// only a part of it was enqueued.
func Download[T any](s *Stream, dst *Pinned[T], src View[T]) error {
	const op = "cuMemcpyDtoHAsync"
	if err := checkCopy(s, op, src, len(dst.s)); err != nil {
		return err
	}
	s.d.sys.locked.claim(bytesOf(dst.s), s.d)
	p := unsafe.Pointer(unsafe.SliceData(dst.s))
	return s.cut(op, src.Bytes(), func(off, n uint64) cudrv.Result {
		return s.d.drv.CopyToHostAsync(s.d.ctx, unsafe.Add(p, off), cudrv.DevicePtr(src.Ptr()+off), n, s.p.s)
	})
}

// Stage enqueues a copy of ordinary memory through page-locked memory of the stream. It returns when src is free again,
// before the copy has run. If src is in the memory of a [Pinned] of any card, it is copied from there, and must not change
// until the copy has run, also where an error says that only a part of it was enqueued.
func Stage[T any](s *Stream, dst View[T], src []T) error {
	if err := checkCopy(s, "cuMemcpyHtoDAsync", dst, len(src)); err != nil {
		return err
	}
	return s.stage(dst.Ptr(), bytesOf(src))
}

// StageBytes is Stage for the bytes of the elements, for instance of a mapped file. src has dst.Bytes() bytes.
func StageBytes[T any](s *Stream, dst View[T], src []byte) error {
	const op = "cuMemcpyHtoDAsync"
	if err := checkCopy(s, op, dst, dst.n); err != nil {
		return err
	}
	if uint64(len(src)) != dst.Bytes() {
		return s.d.argument(op, "%d bytes to %d elements of %d bytes in all", len(src), dst.n, dst.Bytes())
	}
	return s.stage(dst.Ptr(), src)
}

// UploadSlice copies ordinary memory in stream order and waits for the stream.
func UploadSlice[T any](s *Stream, dst View[T], src []T) error {
	if err := Stage(s, dst, src); err != nil || len(src) == 0 {
		return err
	}
	return s.Wait()
}

// DownloadSlice copies to ordinary memory in stream order and waits for the stream.
func DownloadSlice[T any](s *Stream, dst []T, src View[T]) error {
	if err := checkCopy(s, "cuMemcpyDtoHAsync", src, len(dst)); err != nil {
		return err
	}
	return s.fetch(bytesOf(dst), src.Ptr())
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
	if err := s.enter(op); err != nil || dst.n == 0 {
		return err
	}
	r := s.d.drv.CopyOnDeviceAsync(s.d.ctx, cudrv.DevicePtr(dst.Ptr()), cudrv.DevicePtr(src.Ptr()), dst.Bytes(), s.p.s)
	if err := s.check(r, op); err != nil {
		return err
	}
	return s.spend(time.Duration(dst.Bytes() / cardBytesPerNano))
}

// Fill enqueues the filling of every byte with v.
func Fill[T any](s *Stream, dst View[T], v byte) error {
	const op = "cuMemsetD8Async"
	if err := checkCopy(s, op, dst, dst.n); err != nil {
		return err
	}
	if err := s.enter(op); err != nil || dst.n == 0 {
		return err
	}
	if err := s.check(s.d.drv.MemsetAsync(s.d.ctx, cudrv.DevicePtr(dst.Ptr()), v, dst.Bytes(), s.p.s), op); err != nil {
		return err
	}
	return s.spend(time.Duration(dst.Bytes() / cardBytesPerNano))
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
