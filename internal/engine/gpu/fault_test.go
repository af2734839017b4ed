package gpu

import (
	"context"
	"errors"
	"flag"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// prove opens a card of a system, proves once and closes everything. It answers the first error.
func prove(ctx context.Context, s *gpu.System, ordinal int, b *enginetest.Bench, o options) (sums *engine.PartialSums, err error) {
	d, err := s.Open(ordinal)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	e, err := newEngine(d, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return b.ProveOn(ctx, e)
}

// slow tries every call instead of some.
var slow = flag.Bool("slow", false, "run the slow tests too")

// releases tells whether an operation gives something back, so that a fault of it leaves that behind.
func releases(op string) bool {
	return slices.Contains([]string{"MemFree", "HostFree", "StreamDestroy", "EventDestroy", "ModuleUnload", "PrimaryRelease"}, op)
}

// A fault in any call of the driver is an error of package gpu, leaves nothing behind, and does not concern another card.
func TestFaults(t *testing.T) {
	b := enginetest.NewBench(t, 20)
	o := options{segmentBytes: 4 << 10, stream: true}
	calls := func() int {
		drv := fake(fakedrv.Config{})
		_, err := prove(t.Context(), gpu.NewSystem(drv), 0, b, o)
		require.NoError(t, err)
		n := 0
		for _, c := range drv.Log() {
			if c.Card == 0 {
				n++
			}
		}
		return n
	}()
	require.Greater(t, calls, 100)
	step := 61
	switch {
	case *slow:
		step = 1
	case testing.Short():
		step = 307
	}
	for _, result := range []cudrv.Result{cudrv.OutOfMemory, cudrv.IllegalAddress} {
		t.Run(result.String(), func(t *testing.T) {
			failures := 0
			for n := 0; n < calls; n += step {
				if faultAt(t, b, o, n, result) {
					failures++
				}
			}
			require.Positive(t, failures)
			t.Logf("calls 0 to %d in steps of %d: %d ended the proof", calls-1, step, failures)
		})
	}
}

// faultAt lets call n of a proof fail, and proves on another card after it. It tells whether the fault ended the proof.
func faultAt(t *testing.T, b *enginetest.Bench, o options, n int, result cudrv.Result) (failed bool) {
	t.Helper()
	drv := fake(fakedrv.Config{Cards: make([]fakedrv.Card, 2)})
	s := gpu.NewSystem(drv)
	drv.Inject(fakedrv.Rule{Card: 0, After: n, Result: result, Sticky: result.Sticky()})
	sums, err := prove(t.Context(), s, 0, b, o)
	if err == nil {
		b.Require(t, sums) // a call whose failure only costs speed
	} else {
		var typed *gpu.Error
		require.ErrorAs(t, err, &typed, "call %d, %v: %v", n, result, err)
	}
	log := drv.Log()
	i := slices.IndexFunc(log, func(c fakedrv.Call) bool { return c.Result == result })
	require.GreaterOrEqual(t, i, 0, "call %d did not fail", n)
	if !result.Sticky() && !releases(log[i].Op) {
		require.Equal(t, fakedrv.Usage{}, drv.Usage(), "call %d, %s, %v", n, log[i].Op, result)
	}
	sums, other := prove(t.Context(), s, 1, b, o)
	require.NoError(t, other)
	b.Require(t, sums)
	return err != nil
}

// Every native call of a proof names the context of its engine's card.
func TestCardOfEveryCall(t *testing.T) {
	drv := fake(fakedrv.Config{Cards: make([]fakedrv.Card, 3)})
	s := gpu.NewSystem(drv)
	b := enginetest.NewBench(t, 40)
	_, err := prove(t.Context(), s, 1, b, options{segmentBytes: 1 << 20})
	require.NoError(t, err)
	for _, c := range drv.Log() {
		if c.Context != 0 || c.Op == "PrimaryRetain" {
			require.Equal(t, 1, c.Card, c.Op)
		}
	}
	require.Zero(t, drv.PeakBytes(0))
	require.Zero(t, drv.PeakBytes(2))
}

// What a plan promises is what the card has to give, no more, and proofs allocate nothing.
func TestPlanIsKept(t *testing.T) {
	for _, stream := range []bool{false, true} {
		drv := fake(fakedrv.Config{})
		e := open(t, drv, options{segmentBytes: 4 << 10, stream: stream})
		b := enginetest.NewBench(t, 300)
		l, err := e.Load(t.Context(), b.System(), b.Key())
		require.NoError(t, err)
		d := l.(*loaded).desk
		require.Equal(t, d.lease.Bytes(), drv.Usage().DeviceBytes)
		var side uint64
		if d.side != nil {
			side = d.side.work.Size()
		}
		require.Equal(t, stream, d.side == nil)
		require.Equal(t, d.keep.Size()+d.work.Size()+side, d.lease.Bytes())
		before := drv.Calls()
		for range 3 {
			sums, err := b.ProveLoaded(t.Context(), l)
			require.NoError(t, err)
			b.Require(t, sums)
		}
		after := drv.Calls()
		for _, op := range []string{"MemAlloc", "HostAlloc", "StreamCreate", "EventCreate", "ModuleLoad"} {
			require.Equal(t, before[op], after[op], op)
		}
		require.LessOrEqual(t, d.work.Peak(), d.work.Size())
		if d.side != nil {
			require.NotZero(t, d.side.work.Peak())
		}
		require.NoError(t, l.Close())
		require.NoError(t, e.Close())
	}
}

// A key that fits no plan is refused with the numbers before anything is allocated.
func TestTooSmallCard(t *testing.T) {
	drv := fake(fakedrv.Config{Cards: []fakedrv.Card{{MemoryBytes: 8 << 20}}})
	e := open(t, drv, options{segmentBytes: 4 << 10})
	b := enginetest.NewBench(t, 300)
	_, err := e.Load(t.Context(), b.System(), b.Key())
	require.ErrorIs(t, err, gpu.ErrMemory)
	var typed *gpu.Error
	require.ErrorAs(t, err, &typed)
	require.Greater(t, typed.NeedBytes, typed.FreeBytes)
	require.NotZero(t, typed.TotalBytes)
	require.Zero(t, drv.Calls()["MemAlloc"])
	require.NoError(t, e.Close())
}

// Without page-locked memory proofs are slower and right.
func TestPinnedRefused(t *testing.T) {
	drv := fake(fakedrv.Config{PinnedBytes: 1})
	b := enginetest.NewBench(t, 60)
	sums, err := prove(t.Context(), gpu.NewSystem(drv), 0, b, options{segmentBytes: 4 << 10, stream: true})
	require.NoError(t, err)
	b.Require(t, sums)
}

// A card that hangs costs its own proof alone, and no goroutine.
func TestHang(t *testing.T) {
	drv := fake(fakedrv.Config{Cards: make([]fakedrv.Card, 2)})
	s := gpu.NewSystem(drv)
	b := enginetest.NewBench(t, 20)
	goroutines := runtime.NumGoroutine()
	d, err := s.OpenWith(0, &gpu.Options{Watchdog: 50 * time.Millisecond})
	require.NoError(t, err)
	e, err := newEngine(d, options{segmentBytes: 1 << 20})
	require.NoError(t, err)
	drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: 0, After: 30, Hang: true})
	_, err = b.ProveOn(t.Context(), e)
	require.ErrorIs(t, err, gpu.ErrLost)
	require.NoError(t, e.Close())
	require.NoError(t, d.Close())
	sums, err := prove(t.Context(), s, 1, b, options{segmentBytes: 1 << 20})
	require.NoError(t, err)
	b.Require(t, sums)
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "goroutines left")
}
