package gpu

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
)

// TestStageLockedMemory: what lies in page-locked memory, of whichever card, goes out in one copy from where it is; what
// lies partly in it, or in memory that has been given back, does not.
func TestStageLockedMemory(t *testing.T) {
	const n = 3*slotBytes + 5
	g := newRig(t, fakedrv.Config{Cards: make([]fakedrv.Card, 2)}, nil)
	other := must(g.d.sys.Open(1))(t)
	a := must(g.d.Reserve(8 * slotBytes))(t)
	for _, owner := range []*Device{g.d, other} {
		first, second := must(AllocPinned[byte](owner, n))(t), must(AllocPinned[byte](g.d, 1))(t)
		for i := range first.Slice() {
			first.Slice()[i] = byte(i*i>>8 + i)
		}
		for _, src := range [][]byte{first.Slice(), first.Slice()[7 : n-9], first.Slice()[n-1:], second.Slice()} {
			before := g.drv.Calls()["CopyToDeviceAsync"]
			mark := a.Mark()
			dst := must(Alloc[byte](a, len(src)))(t)
			ok(t, StageBytes(g.s, dst, src))
			if copies := g.drv.Calls()["CopyToDeviceAsync"] - before; copies != 1 {
				t.Errorf("%d copies for %d bytes", copies, len(src))
			}
			if g.s.p.slots[0].used+g.s.p.slots[1].used != 0 {
				t.Error("it went through the stream's own memory")
			}
			got := make([]byte, len(src))
			ok(t, DownloadSlice(g.s, got, dst))
			if !bytes.Equal(got, src) {
				t.Errorf("%d bytes: wrong content", len(src))
			}
			a.Rewind(mark)
		}
		ok(t, first.Close(), second.Close(), first.Close())
	}
	if r := g.d.sys.locked.ranges; len(r) != 0 {
		t.Error("still known:", r)
	}
	ok(t, a.Close(), other.Close())
	g.close(t)
}

func TestLockedRanges(t *testing.T) {
	var l lockedMemory
	for _, r := range []addresses{{60, 80}, {10, 20}, {20, 30}} {
		l.add(r)
	}
	if l.remove(addresses{11, 20}) {
		t.Error("there is no such range")
	}
	for r, want := range map[addresses]bool{
		{0, 1}: false, {9, 11}: false, {10, 20}: true, {10, 21}: false, {19, 20}: true, {20, 30}: true, {29, 31}: false,
		{30, 31}: false, {59, 60}: false, {60, 61}: true, {79, 80}: true, {79, 81}: false, {80, 81}: false, {99, 100}: false,
	} {
		if got := l.holding(r) != nil; got != want {
			t.Errorf("%v: %t", r, got)
		}
	}
	if !l.remove(addresses{60, 80}) || l.holding(addresses{60, 61}) != nil || l.holding(addresses{10, 11}) == nil {
		t.Error("the wrong range is gone")
	}
}

// TestLockedMemoryOfLostReader: what a lost card may still read stays where it is, whichever card it was made on; what only
// others have read is given back.
func TestLockedMemoryOfLostReader(t *testing.T) {
	drv := fakedrv.New(fakedrv.Config{Cards: make([]fakedrv.Card, 2)})
	s := NewSystem(drv)
	owner, reader := must(s.Open(0))(t), must(s.Open(1))(t)
	stream, a := must(reader.NewStream())(t), must(reader.Reserve(1<<10))(t)
	read, spared := must(AllocPinned[byte](owner, 100))(t), must(AllocPinned[byte](owner, 30))(t)
	dst := must(Alloc[byte](a, 100))(t)
	ok(t, Stage(stream, dst, read.Slice()))
	drv.Inject(fakedrv.Rule{Op: "StreamQuery", Card: 1, Result: cudrv.IllegalAddress, Sticky: true})
	if err := stream.Wait(); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	ok(t, read.Close(), spared.Close(), stream.Close(), a.Close(), reader.Close())
	if u := drv.Usage(); u.Pinned != 1 || u.PinnedBytes != 100 {
		t.Errorf("%+v", u)
	}
	if n := owner.Stats(); n.PinnedBytes != 100 || n.Pinned != 0 {
		t.Errorf("%+v", n)
	}
	ok(t, owner.Close())
}

// TestMuchLockedMemoryTakesItsTime: the watchdog allows for the size of what the system takes back.
func TestMuchLockedMemoryTakesItsTime(t *testing.T) {
	drv := fakedrv.New(fakedrv.Config{})
	d := must(NewSystem(drv).OpenWith(0, &Options{Watchdog: 20 * time.Millisecond}))(t)
	m := must(AllocPinned[byte](d, 256<<20))(t)
	drv.Inject(fakedrv.Rule{Op: "HostFree", Card: 0, Delay: 60 * time.Millisecond})
	ok(t, m.Close())
	if lost := d.Stats().Lost; lost != nil {
		t.Error(lost)
	}
	ok(t, d.Close())
	clean(t, drv)
}
