package gpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
)

// queued waits until n leases wait.
func queued(d *Device, n int) {
	for {
		d.budget.mu.Lock()
		now := len(d.budget.queue)
		d.budget.mu.Unlock()
		if now == n {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func oneMiB() fakedrv.Config { return fakedrv.Config{Cards: []fakedrv.Card{{MemoryBytes: 1 << 20}}} }

func TestLease(t *testing.T) {
	drv, d := open(t, oneMiB(), 0)
	const limit = 15 << 16 // a sixteenth is kept
	l := must(d.Lease(t.Context(), 10<<16, nil))(t)
	if n := must(d.Leasable())(t); n != 5<<16 {
		t.Error(n)
	}
	_, err := d.Lease(t.Context(), 6<<16, &LeaseOptions{NoWait: true})
	var e *Error
	if !errors.Is(err, ErrMemory) || !errors.As(err, &e) || e.NeedBytes != 6<<16 || e.FreeBytes != 5<<16 ||
		e.TotalBytes != 1<<20 ||
		!strings.Contains(err.Error(), "at most 983040 bytes can be leased, 655360 are") {
		t.Error(err)
	}
	if _, err := d.Lease(t.Context(), limit+1, nil); !errors.Is(err, ErrMemory) { // at once: it can never fit
		t.Error(err)
	}
	if _, err := d.Lease(t.Context(), 0, nil); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	if n := drv.Calls()["MemAlloc"]; n != 0 {
		t.Error("a lease allocates")
	}
	a, b := must(l.Reserve(4<<16))(t), must(l.Reserve(6<<16))(t)
	if _, err := l.Reserve(1); !errors.As(err, &e) || !errors.Is(err, ErrMemory) || e.FreeBytes != 0 {
		t.Error(err)
	}
	if st := d.Stats(); st.LeasedBytes != 10<<16 || st.LimitBytes != limit || st.ReservedBytes != 10<<16 ||
		st.Leases != 1 || l.Bytes() != 10<<16 {
		t.Errorf("%+v", st)
	}
	if err := l.Close(); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "2 arenas") {
		t.Error(err)
	}
	ok(t, a.Close())
	c := must(l.Reserve(1 << 16))(t)
	ok(t, b.Close(), c.Close())
	if err := d.Close(); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "1 leases") {
		t.Error(err)
	}
	ok(t, l.Close(), l.Close())
	if _, err := l.Reserve(1); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if st := d.Stats(); st.LeasedBytes != 0 || st.PeakLeasedBytes != 10<<16 || st.Leases != 0 {
		t.Errorf("%+v", st)
	}
	ok(t, d.Close())
	clean(t, drv)
}

func TestMemoryLimit(t *testing.T) {
	drv := fakedrv.New(oneMiB())
	sys := NewSystem(drv)
	d := must(sys.OpenWith(0, &Options{MemoryLimit: 5 << 16}))(t)
	if _, err := d.Reserve(4<<16 + 1); !errors.Is(err, ErrMemory) {
		t.Error(err)
	}
	a := must(d.Reserve(4 << 16))(t)
	if _, err := sys.OpenWith(0, &Options{MemoryLimit: 6 << 16}); !errors.Is(err, ErrBusy) {
		t.Error("other options on an open card: ", err)
	}
	same := must(sys.OpenWith(0, &Options{MemoryLimit: 5 << 16, Piece: 50 * time.Millisecond}))(t)
	ok(t, a.Close(), same.Close(), d.Close())
	if _, err := sys.OpenWith(0, &Options{Watchdog: -1}); !errors.Is(err, ErrArgument) {
		t.Error(err)
	}
	clean(t, drv)
}

func TestLeasable(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct{ free, total, limit, want uint64 }{
		{139 * gib, 140 * gib, 0, 139*gib - keepFree},
		{139 * gib, 140 * gib, 19000 << 20, 19000<<20 - keepLimit},
		{10 * gib, 140 * gib, 19000 << 20, 10*gib - keepFree},
		{100 << 20, 140 * gib, 0, 0},
		{139 * gib, 140 * gib, 1, 0},
		{1600, 1600, 0, 1500},
	} {
		if got := leasable(c.free, c.total, c.limit); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestLeaseOtherProcess: the ledger promises what another process takes before it is allocated.
func TestLeaseOtherProcess(t *testing.T) {
	drv, d := open(t, oneMiB(), 0)
	l := must(d.Lease(t.Context(), 8<<16, nil))(t)
	ctx, r := drv.PrimaryRetain(0)
	if r != cudrv.Success {
		t.Fatal(r)
	}
	p, r := drv.MemAlloc(ctx, 12<<16)
	if r != cudrv.Success {
		t.Fatal(r)
	}
	var e *Error
	if _, err := l.Reserve(8 << 16); !errors.Is(err, ErrMemory) || !errors.As(err, &e) || e.FreeBytes != 4<<16 {
		t.Error(err)
	}
	drv.MemFree(ctx, p)
	drv.PrimaryRelease(0)
	a := must(l.Reserve(8 << 16))(t)
	ok(t, a.Close(), l.Close(), d.Close())
	clean(t, drv)
}

// TestLeaseOrder: those who wait are served in the order in which they came, small ones do not overtake.
func TestLeaseOrder(t *testing.T) {
	drv, d := open(t, oneMiB(), 0)
	first := must(d.Lease(t.Context(), 10<<16, nil))(t)
	got := make(chan int)
	leases := make([]*Lease, 4)
	sizes := []uint64{12 << 16, 1 << 16, 2 << 16, 15 << 16}
	release := make([]chan struct{}, len(sizes))
	for i, n := range sizes {
		release[i] = make(chan struct{})
		go func() {
			l, err := d.Lease(t.Context(), n, nil)
			if err != nil {
				t.Error(err)
			}
			leases[i] = l
			got <- i
			<-release[i]
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			got <- i
		}()
		queued(d, i+1)
	}
	_, err := d.Lease(t.Context(), 1, &LeaseOptions{NoWait: true})
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "4 wait before it") {
		t.Error("overtaken: ", err)
	}
	ok(t, first.Close())
	seen := map[int]bool{<-got: true, <-got: true, <-got: true} // 12 + 1 + 2 fill the card
	if seen[3] {
		t.Error("the last came before the others: ", seen)
	}
	queued(d, 1)
	for i := range 2 {
		close(release[i])
		if j := <-got; j != i {
			t.Errorf("%d before %d", j, i)
		}
	}
	close(release[2])
	if i, j := <-got, <-got; i+j != 2+3 { // the last may speak up before the one that made room for it
		t.Error(i, j)
	}
	close(release[3])
	<-got
	ok(t, d.Close())
	clean(t, drv)
}

func TestLeaseCancelAndLoss(t *testing.T) {
	drv, d := open(t, oneMiB(), 0)
	held := must(d.Lease(t.Context(), 15<<16, nil))(t)
	cause := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	wait := func(ctx context.Context, n uint64) chan error {
		done := make(chan error, 1)
		go func() {
			l, err := d.Lease(ctx, n, nil)
			if err == nil {
				err = l.Close()
			}
			done <- err
		}()
		return done
	}
	big := wait(ctx, 15<<16)
	queued(d, 1)
	small := wait(t.Context(), 1)
	queued(d, 2)
	cancel(cause)
	if err := <-big; !errors.Is(err, cause) {
		t.Error(err)
	}
	if _, err := d.Lease(ctx, 1, nil); !errors.Is(err, cause) {
		t.Error(err)
	}
	ok(t, held.Close(), <-small) // it is at the head now
	held = must(d.Lease(t.Context(), 15<<16, nil))(t)
	lost := wait(t.Context(), 1)
	queued(d, 1)
	drv.Inject(fakedrv.Rule{Op: "MemInfo", Card: -1, Result: cudrv.LaunchFailed, Sticky: true})
	if _, _, err := d.Memory(); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := <-lost; !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	ok(t, held.Close())
	if st := d.Stats(); st.LeasedBytes != 0 || st.Leases != 0 {
		t.Errorf("%+v", st)
	}
	ok(t, d.Close())
}

// TestLeaseMany has many goroutines lease, cancel and reserve at once; never is more leased or allocated than the limit.
func TestLeaseMany(t *testing.T) {
	drv, d := open(t, oneMiB(), 0)
	const limit = 15 << 16
	var held atomic.Int64
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 7))
			for range 50 {
				n := 1 + rng.Uint64N(limit)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(3000))*time.Microsecond)
				l, err := d.Lease(ctx, n, &LeaseOptions{NoWait: rng.IntN(4) == 0})
				cancel()
				if err != nil {
					if !errors.Is(err, ErrMemory) && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					continue
				}
				if now := held.Add(int64(n)); now > limit {
					t.Errorf("%d bytes leased", now)
				}
				a, err := l.Reserve(1 + rng.Uint64N(n))
				if err != nil {
					t.Error(err)
				} else if err := a.Close(); err != nil {
					t.Error(err)
				}
				held.Add(-int64(n))
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if st := d.Stats(); st.LeasedBytes != 0 || st.Leases != 0 || st.PeakLeasedBytes > limit || st.Leaks != 0 {
		t.Errorf("%+v", st)
	}
	if peak := drv.PeakBytes(0); peak > limit {
		t.Errorf("%d bytes allocated", peak)
	}
	ok(t, d.Close())
	clean(t, drv)
}

func TestLeaseLeak(t *testing.T) {
	drv, d := open(t, oneMiB(), 0)
	func() { must(d.Lease(t.Context(), 1<<16, nil))(t) }()
	collect(t, d, 1)
	if st := d.Stats(); st.LeasedBytes != 0 {
		t.Errorf("%+v", st)
	}
	ok(t, d.Close())
	clean(t, drv)
}
