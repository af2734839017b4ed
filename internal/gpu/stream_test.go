package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
)

// rig is a fake card with a stream and a kernel that counts how often it ran.
type rig struct {
	drv *fakedrv.Driver
	d   *Device
	s   *Stream
	m   *Module
	f   *Function
	ran int
}

func newRig(t *testing.T, cfg fakedrv.Config, o *Options) *rig {
	t.Helper()
	g := &rig{drv: fakedrv.New(cfg)}
	g.drv.Register("count", func(*fakedrv.Memory, cudrv.Launch, []byte) { g.ran++ })
	g.drv.Register("fault", func(m *fakedrv.Memory, _ cudrv.Launch, _ []byte) { m.Bytes(64, 1) })
	g.d = must(NewSystem(g.drv).OpenWith(0, o))(t)
	g.s, g.m = must(g.d.NewStream())(t), must(g.d.Load([]byte("image")))(t)
	g.f = must(g.m.Function("count"))(t)
	return g
}

func (g *rig) launch(micros int) error {
	return Launch(g.s, g.f, Grid{Blocks: 1, Threads: 1, Micros: micros}, &params{})
}

func (g *rig) close(t *testing.T) {
	t.Helper()
	ok(t, g.s.Close(), g.m.Close(), g.d.Close())
	clean(t, g.drv)
}

func TestPace(t *testing.T) {
	g := newRig(t, fakedrv.Config{}, &Options{Piece: time.Millisecond})
	for i := range 100 {
		ok(t, g.launch(400)) // a piece is three of them
		if queued := i + 1 - g.ran; queued > 9 {
			t.Fatalf("%d launches in flight", queued)
		}
	}
	if n := g.drv.Calls()["EventRecord"]; n != 33 {
		t.Errorf("%d marks", n)
	}
	ok(t, g.s.Wait())
	if g.ran != 100 {
		t.Error(g.ran)
	}
	g.close(t)
}

func TestSmallLaunchesNeverWait(t *testing.T) {
	g := newRig(t, fakedrv.Config{}, nil)
	for range 1000 {
		ok(t, g.launch(0))
	}
	if c := g.drv.Calls(); c["EventRecord"] != 0 || c["EventQuery"] != 0 || c["StreamQuery"] != 0 || g.ran != 0 {
		t.Error(c, g.ran)
	}
	if err := g.launch(-1); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	g.close(t)
}

func TestBind(t *testing.T) {
	g := newRig(t, fakedrv.Config{}, nil)
	a := must(g.d.Reserve(4096))(t)
	x, y, e := must(Alloc[byte](a, 8))(t), must(Alloc[byte](a, 8))(t), must(g.d.NewEvent())(t)
	p := must(AllocPinned[byte](g.d, 8))(t)
	cause := errors.New("overtaken")
	ctx, cancel := context.WithCancelCause(t.Context())
	g.s.Bind(ctx)
	ok(t, g.launch(0), UploadSlice(g.s, x, make([]byte, 8)), Copy(g.s, y, x), e.Record(g.s))
	cancel(cause)
	before := g.drv.Log()
	for name, err := range map[string]error{
		"launch": g.launch(0), "upload": Upload(g.s, x, p), "download": Download(g.s, p, x),
		"upload slice": UploadSlice(g.s, x, make([]byte, 8)), "download slice": DownloadSlice(g.s, make([]byte, 8), x),
		"stage": Stage(g.s, x, make([]byte, 8)), "bytes": StageBytes(g.s, x, make([]byte, 8)),
		"copy": Copy(g.s, x, y), "fill": Fill(g.s, x, 1), "record": e.Record(g.s), "wait for": g.s.WaitFor(e),
	} {
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(g.drv.Log()) - len(before); n != 0 {
		t.Errorf("%d driver calls after the end of the context", n)
	}
	ok(t, g.s.Wait(), e.Wait())
	g.s.Bind(context.Background())
	ok(t, g.launch(0), p.Close(), e.Close(), a.Close())
	g.close(t)
}

// TestCancelWhilePaced: a launch that waits for its turn ends with the context, and what it would have launched does not
// run.
func TestCancelWhilePaced(t *testing.T) {
	g := newRig(t, fakedrv.Config{}, &Options{Piece: time.Millisecond})
	g.drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: -1, Hang: true})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	g.s.Bind(ctx)
	ok(t, g.launch(1000), g.launch(2000))
	if err := g.launch(1000); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	g.drv.Resume(0)
	ok(t, g.s.Wait())
	if g.ran != 2 {
		t.Error(g.ran)
	}
	g.close(t)
}

// TestWatchdog: each wait for a card that hangs ends with the loss of the card, and nothing calls the driver for it again.
func TestWatchdog(t *testing.T) {
	for name, wait := range map[string]func(*rig, View[byte], *Event) error{
		"stream": func(g *rig, _ View[byte], _ *Event) error { return g.s.Wait() },
		"event":  func(_ *rig, _ View[byte], e *Event) error { return e.Wait() },
		"paced launch": func(g *rig, _ View[byte], _ *Event) error {
			return errors.Join(g.launch(5000), g.launch(5000), g.launch(0))
		},
		"upload slice":   func(g *rig, x View[byte], _ *Event) error { return UploadSlice(g.s, x, make([]byte, x.n)) },
		"download slice": func(g *rig, x View[byte], _ *Event) error { return DownloadSlice(g.s, make([]byte, x.n), x) },
		"stage":          func(g *rig, x View[byte], _ *Event) error { return Stage(g.s, x, make([]byte, x.n)) },
		"debug":          func(g *rig, _ View[byte], _ *Event) error { g.d.opts.DebugSync = true; return g.launch(0) },
		"close": func(g *rig, x View[byte], _ *Event) error {
			return errors.Join(g.s.Close(), Fill(g.s, x, 1), g.d.alive("x"))
		},
	} {
		for _, pinned := range []uint64{0, 100} {
			t.Run(fmt.Sprint(name, pinned), func(t *testing.T) {
				g := newRig(t, fakedrv.Config{PinnedBytes: pinned}, &Options{Piece: time.Millisecond, Watchdog: 20 * time.Millisecond})
				a, e := must(g.d.Reserve(4*slotBytes))(t), must(g.d.NewEvent())(t)
				x := must(Alloc[byte](a, 3*slotBytes+1))(t)
				ok(t, Stage(g.s, x, make([]byte, x.n)), g.s.Wait())
				g.drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: -1, Hang: true})
				ok(t, g.launch(0), e.Record(g.s))
				err := wait(g, x, e)
				var lost *Error
				if !errors.Is(err, ErrLost) || !errors.As(g.d.Stats().Lost, &lost) {
					t.Fatal(err)
				}
				if !strings.Contains(lost.Error(), "nothing completed for 20ms: last launches: count") {
					t.Error(lost)
				}
				calls, before := len(g.drv.Log()), g.d.Stats()
				if err := g.launch(0); err == nil {
					t.Error("a launch on a lost card")
				}
				ok(t, e.Close(), a.Close(), g.s.Close(), g.m.Close(), g.d.Close())
				if n := len(g.drv.Log()); n != calls {
					t.Error("the driver was called for a lost card: ", g.drv.Log()[calls:])
				}
				after := g.d.Stats()
				if after.PinnedBytes != before.PinnedBytes || after.LeasedBytes != 0 {
					t.Errorf("%+v", after)
				}
			})
		}
	}
}

func TestDebugSync(t *testing.T) {
	g := newRig(t, fakedrv.Config{}, &Options{DebugSync: true})
	ok(t, g.launch(0), g.launch(0))
	if g.ran != 2 {
		t.Error("launches were not waited for")
	}
	bad := must(g.m.Function("fault"))(t)
	err := Launch(g.s, bad, Grid{Blocks: 1, Threads: 1}, &params{})
	var e *Error
	if !errors.Is(err, ErrLost) || !errors.As(err, &e) || e.Kernel != "fault" || e.Result != cudrv.IllegalAddress {
		t.Error(err)
	}
}

// TestStaging copies ordinary memory of all sizes around the slots', with page-locked memory and without.
func TestStaging(t *testing.T) {
	for _, limit := range []uint64{0, slotBytes, 1} {
		g := newRig(t, fakedrv.Config{PinnedBytes: limit, Seed: limit}, nil)
		a := must(g.d.Reserve(8 * slotBytes))(t)
		for _, n := range []int{0, 1, 7, slotBytes - 1, slotBytes, slotBytes + 1, 3*slotBytes + 5} {
			mark := a.Mark()
			src := make([]byte, n)
			for i := range src {
				src[i] = byte(i*i>>8 + i)
			}
			want := bytes.Clone(src)
			x, y := must(Alloc[byte](a, n))(t), must(Alloc[byte](a, n))(t)
			ok(t, Stage(g.s, x, src))
			clear(src) // free as soon as Stage returns
			ok(t, StageBytes(g.s, y, want), Fill(g.s, y, 3))
			got, threes := make([]byte, n), make([]byte, n)
			ok(t, DownloadSlice(g.s, got, x), DownloadSlice(g.s, threes, y))
			if !bytes.Equal(got, want) || slices.ContainsFunc(threes, func(b byte) bool { return b != 3 }) {
				t.Errorf("%d bytes, %d page-locked: wrong content", n, limit)
			}
			a.Rewind(mark)
		}
		words := must(Alloc[uint64](a, 2))(t)
		if err := StageBytes(g.s, words, make([]byte, 2)); !errors.Is(err, ErrArgument) {
			t.Error(err)
		}
		if refused := g.d.Stats().PinnedRefused; refused != min(1, int64(limit)) {
			t.Errorf("%d streams without page-locked memory at a limit of %d", refused, limit)
		}
		ok(t, a.Close())
		g.close(t)
	}
}

// TestSmallStagesQueue: many small copies go out without a wait while the card is busy.
func TestSmallStagesQueue(t *testing.T) {
	g := newRig(t, fakedrv.Config{}, &Options{Watchdog: time.Minute})
	a := must(g.d.Reserve(4096))(t)
	x := must(Alloc[uint32](a, 100))(t)
	g.drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: -1, Hang: true})
	ok(t, g.launch(0))
	for i := range x.Len() {
		ok(t, Stage(g.s, x.Slice(i, i+1), []uint32{uint32(i)}))
	}
	if c := g.drv.Calls(); c["StreamQuery"]+c["EventQuery"] != 0 {
		t.Error(c)
	}
	g.drv.Resume(0)
	got := make([]uint32, 100)
	ok(t, DownloadSlice(g.s, got, x))
	for i, v := range got {
		if v != uint32(i) {
			t.Fatalf("%d: %d", i, v)
		}
	}
	ok(t, a.Close())
	g.close(t)
}

// tour makes every kind of call once.
func tour(drv *fakedrv.Driver) (err error) {
	d, err := NewSystem(drv).OpenWith(0, &Options{Piece: time.Microsecond})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	m, err := d.Load([]byte("image"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	f, err := m.Function("count")
	if err != nil {
		return err
	}
	l, err := d.Lease(context.Background(), 4*slotBytes, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	a, err := l.Reserve(4 * slotBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	e, err := d.NewEvent()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	x, err := Alloc[byte](a, 3*slotBytes)
	if err != nil {
		return err
	}
	src := bytes.Repeat([]byte{7}, x.n)
	got := make([]byte, x.n)
	for _, step := range []func() error{
		func() error { return Stage(s, x, src) },
		func() error { return Launch(s, f, Grid{Blocks: 1, Threads: 1, Micros: 1}, &params{}) },
		func() error { return e.Record(s) },
		func() error { return s.WaitFor(e) },
		func() error { return DownloadSlice(s, got, x) },
		e.Wait,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if !bytes.Equal(got, src) {
		return errors.New("wrong content")
	}
	return nil
}

// TestFaultSweep fails every driver call of a tour once, fatally and not. There is always an error, or the work was done all
// the same, and nothing is left over.
func TestFaultSweep(t *testing.T) {
	for _, sticky := range []bool{false, true} {
		for after := 0; ; after++ {
			drv := fakedrv.New(fakedrv.Config{})
			drv.Register("count", func(*fakedrv.Memory, cudrv.Launch, []byte) {})
			rule := fakedrv.Rule{Card: -1, After: after, Result: cudrv.OutOfMemory}
			if sticky {
				rule.Result, rule.Sticky = cudrv.LaunchFailed, true
			}
			drv.Inject(rule)
			err := tour(drv)
			i := slices.IndexFunc(drv.Log(), func(c fakedrv.Call) bool { return c.Result == rule.Result })
			if i < 0 {
				if after < 50 || err != nil {
					t.Errorf("the tour has only %d calls: %v", after, err)
				}
				break
			}
			checkFault(t, drv, drv.Log()[i].Op, sticky, err)
		}
	}
}

func checkFault(t *testing.T, drv *fakedrv.Driver, op string, sticky bool, err error) {
	t.Helper()
	end := strings.Contains(op, "Destroy") || strings.Contains(op, "Free") || strings.Contains(op, "Unload") ||
		op == "PrimaryRelease"
	var e *Error
	switch {
	case err == nil && !end && op != "StreamQuery" && (sticky || op != "HostAlloc"):
		t.Errorf("%s: no error", op)
	case err != nil && (!errors.As(err, &e) || e.Op == "" || sticky && !errors.Is(err, ErrLost)):
		t.Errorf("%s: %v", op, err)
	}
	if v := drv.Violations(); !end && len(v) > 0 {
		t.Errorf("%s: %v", op, v)
	}
	if u := drv.Usage(); !sticky && !end && u != (fakedrv.Usage{}) {
		t.Errorf("%s: not given back: %+v", op, u)
	}
}
