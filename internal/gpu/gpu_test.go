package gpu

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
)

func two() fakedrv.Config {
	return fakedrv.Config{Cards: []fakedrv.Card{{Name: "A", MemoryBytes: 1 << 20}, {Name: "B", MemoryBytes: 1 << 20}}}
}

func open(t *testing.T, cfg fakedrv.Config, ordinal int) (*fakedrv.Driver, *Device) {
	t.Helper()
	drv := fakedrv.New(cfg)
	d, err := NewSystem(drv).Open(ordinal)
	if err != nil {
		t.Fatal(err)
	}
	return drv, d
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// clean checks that nothing is left and no rule of CUDA was broken.
func clean(t *testing.T, drv *fakedrv.Driver) {
	t.Helper()
	if u := drv.Usage(); u != (fakedrv.Usage{}) {
		t.Errorf("not given back: %+v", u)
	}
	if v := drv.Violations(); len(v) > 0 {
		t.Error(v)
	}
}

func TestOpenIsShared(t *testing.T) {
	drv := fakedrv.New(two())
	s := NewSystem(drv)
	a, b := must(s.Open(1))(t), must(s.Open(1))(t)
	if a != b {
		t.Error("two devices for one card")
	}
	ok(t, a.Close())
	if _, _, err := b.Memory(); err != nil {
		t.Error("closed while in use: ", err)
	}
	ok(t, b.Close(), b.Close())
	if _, _, err := b.Memory(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	clean(t, drv)
	again := must(s.Open(1))(t)
	ok(t, again.Close())
	clean(t, drv)
}

func TestCloseNamesChildren(t *testing.T) {
	drv, d := open(t, two(), 0)
	a, st, ev := must(d.Reserve(1000))(t), must(d.NewStream())(t), must(d.NewEvent())(t)
	err := d.Close()
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "1 arenas, 1 streams, 1 events") {
		t.Error(err)
	}
	ok(t, a.Close(), a.Close(), st.Close(), st.Close(), ev.Close(), ev.Close(), d.Close())
	clean(t, drv)
}

func TestArena(t *testing.T) {
	drv, d := open(t, two(), 0)
	_, err := d.Reserve(1<<20 + 1)
	var e *Error
	if !errors.Is(err, ErrMemory) || !errors.As(err, &e) || e.NeedBytes != 1<<20+1 ||
		e.FreeBytes != 15<<16 || e.TotalBytes != 1<<20 {
		t.Fatal(err)
	}
	if n := drv.Calls()["MemAlloc"]; n != 0 {
		t.Error("asked the driver for what does not fit")
	}
	drv.Inject(fakedrv.Rule{Op: "MemAlloc", Card: -1, Result: cudrv.OutOfMemory})
	if _, err := d.Reserve(100); !errors.As(err, &e) || e.Result != cudrv.OutOfMemory || e.NeedBytes != 100 {
		t.Error(err)
	}
	a := must(d.Reserve(4096))(t)
	x := must(Alloc[uint32](a, 10))(t)
	mark := a.Mark()
	y := must(Alloc[uint64](a, 100))(t)
	if x.Ptr()%alignBytes != 0 || y.Ptr() != x.Ptr()+alignBytes || y.Len() != 100 || y.Bytes() != 800 {
		t.Error(x.Ptr(), y.Ptr())
	}
	if v := y.Slice(10, 20); v.Ptr() != y.Ptr()+80 || v.Len() != 10 {
		t.Error("slice")
	}
	if _, err := Alloc[byte](a, 4096); !errors.As(err, &e) || !errors.Is(err, ErrMemory) || e.FreeBytes >= 4096 {
		t.Error(err)
	}
	if _, err := Alloc[byte](a, -1); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	a.Rewind(mark)
	if z := must(Alloc[byte](a, 1))(t); z.Ptr() != y.Ptr() {
		t.Error("rewind")
	}
	if a.Size() != 4096 || a.Used() <= mark || a.Peak() < a.Used() || Aligned[uint64](33) != 512 {
		t.Error(a.Size(), a.Used(), a.Peak())
	}
	st := d.Stats()
	if st.ReservedBytes != 4096 || st.Arenas != 1 {
		t.Errorf("%+v", st)
	}
	ok(t, a.Close())
	if _, err := Alloc[byte](a, 1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if st := d.Stats(); st.ReservedBytes != 0 || st.PeakBytes != 4096 {
		t.Errorf("%+v", st)
	}
	if _, err := d.Reserve(0); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	ok(t, d.Close())
	clean(t, drv)
}

func TestCopies(t *testing.T) {
	drv, d := open(t, two(), 0)
	a, s := must(d.Reserve(8192))(t), must(d.NewStream())(t)
	x, y := must(Alloc[uint32](a, 4))(t), must(Alloc[uint32](a, 4))(t)
	want := []uint32{1, 2, 3, 4}
	ok(t, UploadSlice(s, x, want), Copy(s, y, x), Fill(s, x, 0xff))
	got := make([]uint32, 4)
	ok(t, DownloadSlice(s, got, y))
	if !slices.Equal(got, want) {
		t.Error(got)
	}
	p := must(AllocPinned[uint32](d, 4))(t)
	copy(p.Slice(), []uint32{9, 8, 7, 6})
	ok(t, Upload(s, y, p), s.Wait(), Download(s, p, x), s.Wait())
	if p.Slice()[0] != 0xffffffff {
		t.Error(p.Slice())
	}
	ok(t, DownloadSlice(s, got, y))
	if !slices.Equal(got, []uint32{9, 8, 7, 6}) {
		t.Error(got)
	}
	_, other := open(t, two(), 1)
	foreign := must(other.Reserve(64))(t)
	for name, err := range map[string]error{
		"length":  UploadSlice(s, x, want[:3]),
		"foreign": UploadSlice(s, must(Alloc[uint32](foreign, 4))(t), want),
		"zero":    Fill(s, View[uint32]{}, 0),
		"copy":    Copy(s, x, View[uint32]{n: 4}),
	} {
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := AllocPinned[byte](d, 0); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	ok(t, p.Close(), a.Close())
	if err := UploadSlice(s, x, want); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	ok(t, s.Close())
	if err := s.Wait(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	ok(t, d.Close(), foreign.Close(), other.Close())
	clean(t, drv)
}

func TestPinnedRefused(t *testing.T) {
	cfg := two()
	cfg.PinnedBytes = 100
	drv, d := open(t, cfg, 0)
	if _, err := AllocPinned[byte](d, 101); !errors.Is(err, ErrMemory) {
		t.Error(err)
	}
	ok(t, d.Close())
	clean(t, drv)
}

func TestEvents(t *testing.T) {
	drv, d := open(t, two(), 0)
	a, s, s2 := must(d.Reserve(64))(t), must(d.NewStream())(t), must(d.NewStream())(t)
	e, f := must(d.NewEvent())(t), must(d.NewEvent())(t)
	x := must(Alloc[byte](a, 1))(t)
	ok(t, e.Record(s), Fill(s, x, 1), f.Record(s), s2.WaitFor(f), Fill(s2, x, 2), s2.Wait())
	if done := must(f.Done())(t); !done {
		t.Error("not done")
	}
	got := make([]byte, 1)
	ok(t, f.Wait(), DownloadSlice(s, got, x))
	if took := must(f.Since(e))(t); took <= 0 || got[0] != 2 {
		t.Error(took, got)
	}
	ok(t, e.Record(s))
	if done := must(e.Done())(t); !done { // the only work: one step of the fake runs it
		t.Error("not done")
	}
	ok(t, e.Close(), f.Close(), s.Close(), s2.Close(), a.Close(), d.Close())
	clean(t, drv)
}

type params struct{ Ptr, Value uint64 }

func addKernel(m *fakedrv.Memory, l cudrv.Launch, p []byte) {
	at := uint64(0)
	for i := range 8 {
		at |= uint64(p[i]) << (8 * i)
	}
	fakedrv.Slice[uint64](m, cudrv.DevicePtr(at), 1)[0] += uint64(l.Grid[0]) + uint64(p[8])
}

func TestLaunch(t *testing.T) {
	drv, d := open(t, two(), 0)
	drv.Register("add", addKernel)
	m := must(d.Load([]byte("image")))(t)
	if _, err := m.Function("absent"); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Error(err)
	}
	f := must(m.Function("add"))(t)
	if n := must(f.Registers())(t); n == 0 || f.Name() != "add" {
		t.Error(n)
	}
	a, s := must(d.Reserve(64))(t), must(d.NewStream())(t)
	x := must(Alloc[uint64](a, 1))(t)
	ok(t, Fill(s, x, 0), Launch(s, f, Grid{Blocks: 5, Threads: 32}, &params{x.Ptr(), 7}))
	got := make([]uint64, 1)
	ok(t, DownloadSlice(s, got, x))
	if got[0] != 12 || d.Stats().Launches != 1 {
		t.Error(got)
	}
	for _, g := range []Grid{{Blocks: 0, Threads: 1}, {Blocks: 1, Threads: 0},
		{Blocks: 1, Threads: 1025}, {Blocks: 1, BlocksY: 65536, Threads: 1}} {
		if err := Launch(s, f, g, &params{}); !errors.Is(err, ErrArgument) {
			t.Errorf("%+v: %v", g, err)
		}
	}
	ok(t, m.Close(), m.Close(), a.Close(), s.Close(), d.Close())
	clean(t, drv)
}

func TestNoImage(t *testing.T) {
	_, d := open(t, fakedrv.Config{Cards: []fakedrv.Card{{NoImage: true}}}, 0)
	if _, err := d.Load([]byte("image")); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	if _, err := d.Load(nil); err == nil || !strings.Contains(err.Error(), "empty image") {
		t.Error(err)
	}
	ok(t, d.Close())
}

// TestLost: after an illegal address every call says so with the first cause, closes are quiet, the
// other card works, and the lost one can't be opened again.
func TestLost(t *testing.T) {
	drv := fakedrv.New(two())
	drv.Register("add", addKernel)
	sys := NewSystem(drv)
	d, other := must(sys.Open(0))(t), must(sys.Open(1))(t)
	m := must(d.Load([]byte("image")))(t)
	f, s, a, e := must(m.Function("add"))(t), must(d.NewStream())(t), must(d.Reserve(64))(t), must(d.NewEvent())(t)
	p := must(AllocPinned[byte](d, 8))(t)
	for range keepLaunches + 5 {
		ok(t, Launch(s, f, Grid{Blocks: 1, Threads: 1}, &params{Ptr: 64}))
	}
	err := s.Wait()
	var first *Error
	if !errors.Is(err, ErrLost) || !errors.As(err, &first) || first.Result != cudrv.IllegalAddress ||
		len(first.Launches) != keepLaunches {
		t.Fatal(err)
	}
	if !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") || !strings.Contains(err.Error(), d.Info().UUID) {
		t.Error(err)
	}
	calls := len(drv.Log())
	_, e1 := d.Reserve(1)
	_, e2 := d.NewStream()
	_, e3 := d.NewEvent()
	_, e4 := d.Load([]byte("x"))
	_, e5 := AllocPinned[byte](d, 1)
	_, _, e6 := d.Memory()
	_, e7 := e.Done()
	_, e8 := e.Since(e)
	_, e9 := m.Function("add")
	_, e10 := f.Registers()
	_, e11 := sys.Open(0)
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e.Wait(), e.Record(s), s.Wait(), s.WaitFor(e)} {
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "first cause") {
			t.Errorf("%d: %v", i, err)
		}
	}
	ok(t, p.Close(), a.Close(), s.Close(), e.Close(), m.Close(), d.Close())
	if n := len(drv.Log()); n != calls {
		t.Error("the driver was called for a lost card: ", drv.Log()[calls:])
	}
	if d.Stats().Lost == nil {
		t.Error("not lost")
	}
	b := must(other.Reserve(64))(t)
	ok(t, b.Close(), other.Close())
	if _, err := sys.Open(0); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

// TestLeaks: what nobody closed is found by the collector, counted and given back.
func TestLeaks(t *testing.T) {
	drv, d := open(t, two(), 0)
	func() {
		must(d.Reserve(64))(t)
		must(d.NewStream())(t)
		must(d.NewEvent())(t)
		must(d.Load([]byte("image")))(t)
		must(AllocPinned[byte](d, 8))(t)
	}()
	collect(t, d, 5)
	ok(t, d.Close())
	clean(t, drv)
}

// collect waits until the collector has found n leaks.
func collect(t *testing.T, d *Device, n int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); d.Stats().Leaks < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d leaks found", d.Stats().Leaks)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// TestConcurrent uses two cards from many goroutines; each call must be made in the right context.
func TestConcurrent(t *testing.T) {
	drv := fakedrv.New(fakedrv.Config{Cards: make([]fakedrv.Card, 2)})
	sys := NewSystem(drv)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for range 20 {
				if err := roundTrip(sys, g%2, byte(g)); err != nil {
					t.Errorf("goroutine %d: %v", g, err)
					return
				}
			}
		})
	}
	wg.Wait()
	clean(t, drv)
	for _, c := range drv.Log() {
		if c.Result != cudrv.Success && c.Result != cudrv.NotReady {
			t.Fatalf("%+v", c)
		}
	}
}

func roundTrip(sys *System, card int, v byte) (err error) {
	d, err := sys.Open(card)
	if err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	a, err := d.Reserve(256)
	if err != nil {
		return err
	}
	x, err := Alloc[byte](a, 256)
	if err != nil {
		return err
	}
	got := make([]byte, 256)
	err = errors.Join(Fill(s, x, v), DownloadSlice(s, got, x))
	if got[0] != v || got[255] != v {
		err = errors.Join(err, errors.New("wrong content"))
	}
	return errors.Join(err, a.Close(), s.Close(), d.Close())
}

// TestFaults fails every single driver call of a round trip.
func TestFaults(t *testing.T) {
	for after := 0; ; after++ {
		drv := fakedrv.New(two())
		drv.Inject(fakedrv.Rule{Card: -1, After: after, Result: cudrv.IllegalAddress, Sticky: true})
		err := roundTrip(NewSystem(drv), 0, 1)
		if err == nil {
			if after < 15 {
				t.Errorf("only %d calls", after)
			}
			return
		}
		var e *Error
		if !errors.Is(err, ErrLost) || !errors.As(err, &e) || e.Op == "" {
			t.Errorf("call %d: %v", after, err)
		}
	}
}
