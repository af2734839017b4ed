package gpu

import (
	"context"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// slotBytes is the size of one of a stream's two staging slots.
const slotBytes = 1 << 20

// slot is page-locked memory that copies of ordinary memory go through, so that the card never sees memory of Go. While one
// slot is copied by the card, the other is filled or emptied.
type slot struct {
	mem  []byte // nil before the first use
	used int    // given out since the slot was last free
	free cudrv.Event
	busy bool // free is recorded behind the copies that use the slot
}

func (t *slot) pin(d *Device) cudrv.Result {
	p, r := d.drv.HostAlloc(d.ctx, slotBytes)
	if r == cudrv.Success {
		t.mem = unsafe.Slice((*byte)(p), slotBytes)
		d.pinned.Add(slotBytes)
	}
	return r
}

func (t *slot) unpin(d *Device) cudrv.Result {
	if t.mem == nil {
		return cudrv.Success
	}
	d.pinned.Add(^uint64(slotBytes - 1))
	return d.drv.HostFree(d.ctx, unsafe.Pointer(unsafe.SliceData(t.mem)))
}

// pinSlots makes the staging memory, once. It reports whether there is any: where the system refuses page-locked memory,
// copies are the driver's own, from ordinary memory.
func (s *Stream) pinSlots() (bool, error) {
	for i := range s.p.slots {
		t := &s.p.slots[i]
		if t.mem != nil || s.noPins {
			continue
		}
		if r := t.pin(s.d); r.Sticky() {
			return false, s.check(r, "cuMemHostAlloc")
		} else if r != cudrv.Success {
			s.noPins = true
			s.d.refused.Add(1)
		}
	}
	return !s.noPins, nil
}

// room gives n bytes of staging memory, at most slotBytes. If the slot in use has not that much left, its end is marked, and
// the other slot is waited for.
func (s *Stream) room(n int) ([]byte, error) {
	t := &s.p.slots[s.slot]
	if len(t.mem)-t.used < n {
		if err := s.seal(); err != nil {
			return nil, err
		}
		s.slot = 1 - s.slot
		t = &s.p.slots[s.slot]
		if err := s.reuse(t); err != nil {
			return nil, err
		}
	}
	t.used += n
	return t.mem[t.used-n : t.used], nil
}

// seal marks the end of the copies that use the present slot.
func (s *Stream) seal() error {
	t := &s.p.slots[s.slot]
	if err := s.check(s.d.drv.EventRecord(s.d.ctx, t.free, s.p.s), "cuEventRecord"); err != nil {
		return err
	}
	t.busy = true
	return nil
}

// reuse waits until no copy uses a slot any more.
func (s *Stream) reuse(t *slot) error {
	if t.busy {
		if err := s.waitEvent(context.Background(), t.free); err != nil {
			return err
		}
	}
	t.used, t.busy = 0, false
	return nil
}

// direct copies page-locked memory to the card.
func (s *Stream) direct(dst uint64, src []byte) error {
	p := unsafe.Pointer(unsafe.SliceData(src))
	return s.cut("cuMemcpyHtoDAsync", uint64(len(src)), func(off, n uint64) cudrv.Result {
		return s.d.drv.CopyToDeviceAsync(s.d.ctx, cudrv.DevicePtr(dst+off), unsafe.Add(p, off), n, s.p.s)
	})
}

// stage copies memory to the card. Unless it is page-locked, src is free when it returns.
func (s *Stream) stage(dst uint64, src []byte) error {
	const op = "cuMemcpyHtoDAsync"
	if err := s.enter(op); err != nil || len(src) == 0 {
		return err
	}
	if s.d.sys.locked.claim(src, s.d) {
		return s.direct(dst, src)
	}
	pinned, err := s.pinSlots()
	if err != nil {
		return err
	}
	if !pinned {
		return s.stagePageable(dst, src)
	}
	for off := 0; off < len(src); {
		n := min(len(src)-off, slotBytes)
		room, err := s.room(n)
		if err != nil {
			return err
		}
		copy(room, src[off:])
		err = s.cut(op, uint64(n), func(o, n uint64) cudrv.Result {
			p := unsafe.Pointer(&room[o])
			return s.d.drv.CopyToDeviceAsync(s.d.ctx, cudrv.DevicePtr(dst+uint64(off)+o), p, n, s.p.s)
		})
		if err != nil {
			return err
		}
		off += n
	}
	return nil
}

// fetch copies from the card to ordinary memory and waits for the stream. Of two slots, one is emptied while the card fills
// the other.
func (s *Stream) fetch(dst []byte, src uint64) error {
	const op = "cuMemcpyDtoHAsync"
	if err := s.enter(op); err != nil || len(dst) == 0 {
		return err
	}
	pinned, err := s.pinSlots()
	if err != nil {
		return err
	}
	if !pinned {
		return s.fetchPageable(dst, src)
	}
	var full []byte // filled by the copy before this one
	done := 0
	for off := 0; off < len(dst); {
		n := min(len(dst)-off, slotBytes)
		last := s.slot
		room, err := s.room(n)
		if err != nil {
			return err
		}
		err = s.cut(op, uint64(n), func(o, n uint64) cudrv.Result {
			p := unsafe.Pointer(&room[o])
			return s.d.drv.CopyToHostAsync(s.d.ctx, p, cudrv.DevicePtr(src+uint64(off)+o), n, s.p.s)
		})
		if err != nil {
			return err
		}
		if full != nil {
			if err := s.reuse(&s.p.slots[last]); err != nil {
				return err
			}
			done += copy(dst[done:], full)
		}
		full, off = room, off+n
	}
	if err := s.Wait(); err != nil {
		return err
	}
	copy(dst[done:], full)
	return nil
}

// stagePageable waits for the stream, under the watchdog, and then lets the driver copy ordinary memory.
func (s *Stream) stagePageable(dst uint64, src []byte) error {
	const op = "cuMemcpyHtoDAsync"
	if err := s.Wait(); err != nil {
		return err
	}
	part := make([]byte, min(len(src), slotBytes)) // src may be a mapped file, which must not fault inside the driver
	return s.cut(op, uint64(len(src)), func(off, n uint64) cudrv.Result {
		for end := off + n; off < end; {
			m := uint64(copy(part, src[off:end]))
			if r := s.d.drv.CopyToDevice(s.d.ctx, cudrv.DevicePtr(dst+off), part[:m], s.p.s); r != cudrv.Success {
				return r
			}
			off += m
		}
		return cudrv.Success
	})
}

// fetchPageable is stagePageable in the other direction.
func (s *Stream) fetchPageable(dst []byte, src uint64) error {
	const op = "cuMemcpyDtoHAsync"
	if err := s.Wait(); err != nil {
		return err
	}
	return s.cut(op, uint64(len(dst)), func(off, n uint64) cudrv.Result {
		return s.d.drv.CopyToHost(s.d.ctx, dst[off:off+n], cudrv.DevicePtr(src+off), s.p.s)
	})
}
