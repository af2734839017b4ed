package gpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/urgency"
)

// crowd is a fake card with streams of several levels, and kernels that are one piece each.
type crowd struct {
	drv *fakedrv.Driver
	d   *Device
	m   *Module
	ran [4]atomic.Int64 // pieces by level
	f   [4]*Function
}

func newCrowd(t *testing.T, patience time.Duration, seed uint64) *crowd {
	t.Helper()
	c := &crowd{drv: fakedrv.New(fakedrv.Config{Seed: seed})}
	names := []string{"0", "1", "2", "3"}
	for i, name := range names {
		c.drv.Register(name, func(*fakedrv.Memory, cudrv.Launch, []byte) { c.ran[i].Add(1) })
	}
	c.d = must(NewSystem(c.drv).OpenWith(0, &Options{Piece: time.Millisecond, Patience: patience}))(t)
	c.m = must(c.d.Load([]byte("image")))(t)
	for i, name := range names {
		c.f[i] = must(c.m.Function(name))(t)
	}
	return c
}

// stream is a stream that is bound at a level.
func (c *crowd) stream(t *testing.T, ctx context.Context, level int) *Stream {
	t.Helper()
	s := must(c.d.NewStream())(t)
	s.Bind(urgency.With(ctx, level))
	return s
}

// piece launches one whole piece.
func (c *crowd) piece(s *Stream, level int) error {
	return Launch(s, c.f[level], Grid{Blocks: 1, Threads: 1, Micros: 1000}, &params{})
}

// waiting is how many streams are held back.
func (c *crowd) waiting() int {
	c.d.gate.mu.Lock()
	defer c.d.gate.mu.Unlock()
	return c.d.gate.waiting
}

// await waits until n streams are held back.
func (c *crowd) await(n int) {
	for c.waiting() != n {
		time.Sleep(50 * time.Microsecond)
	}
}

// close checks that nobody is active or waits.
func (c *crowd) close(t *testing.T) {
	t.Helper()
	c.d.gate.mu.Lock()
	if len(c.d.gate.active) != 0 || c.d.gate.waiting != 0 || c.d.gate.changed != nil {
		t.Errorf("left in the gate: %v, %d wait", c.d.gate.active, c.d.gate.waiting)
	}
	c.d.gate.mu.Unlock()
	ok(t, c.m.Close(), c.d.Close())
	clean(t, c.drv)
}

// TestUrgentWorkOvertakes: during long work an urgent stream of several pieces arrives again and again. From its arrival
// to its end at most the two pieces that were under way run, and no new one begins but the one whose call was already
// through.
func TestUrgentWorkOvertakes(t *testing.T) {
	c := newCrowd(t, time.Hour, 1)
	ctx, stop := context.WithCancel(t.Context())
	long := c.stream(t, ctx, 0)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if err := c.piece(long, 0); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
		}
	})
	rng := rand.New(rand.NewPCG(2, 3))
	s := must(c.d.NewStream())(t)
	for range 100 {
		for n := c.ran[0].Load() + rng.Int64N(5); c.ran[0].Load() < n; {
			time.Sleep(10 * time.Microsecond)
		}
		s.Bind(urgency.With(t.Context(), 1+rng.IntN(3)))
		from, before := c.d.Stats().Launches, c.ran[0].Load()
		for range 5 {
			ok(t, c.piece(s, 3))
		}
		ok(t, s.Wait())
		after, begun := c.ran[0].Load(), c.d.Stats().Launches-from-5
		s.Bind(context.Background())
		if after-before > 2 || begun > 1 {
			t.Fatalf("%d pieces of other work ran and %d began during five urgent ones", after-before, begun)
		}
	}
	stop()
	wg.Wait()
	if st := c.d.Stats(); st.Yields == 0 || c.ran[3].Load() != 500 {
		t.Error(st.Yields, c.ran[3].Load())
	}
	ok(t, long.Close(), s.Close())
	c.close(t)
}

// TestGateOrder: those that wait go on as soon as none more urgent is bound, equal ones side by side, and idle streams hold
// nobody.
func TestGateOrder(t *testing.T) {
	c := newCrowd(t, time.Hour, 1)
	idle, unbound := c.stream(t, t.Context(), 9), must(c.d.NewStream())(t)
	idle.Bind(context.Background())
	high, low := c.stream(t, t.Context(), 3), c.stream(t, t.Context(), -1)
	mid, mid2 := c.stream(t, t.Context(), 2), c.stream(t, t.Context(), 2)
	ok(t, c.piece(high, 3), c.piece(unbound, 0), c.piece(idle, 0))
	done := map[*Stream]chan error{}
	for level, s := range []*Stream{low, mid, mid2} {
		result := make(chan error, 1)
		done[s] = result
		go func() { result <- c.piece(s, level) }()
	}
	c.await(3)
	high.Bind(urgency.With(t.Context(), 4)) // other work, more urgent still
	c.await(3)
	high.Bind(context.Background())
	ok(t, <-done[mid], <-done[mid2])
	c.await(1)
	mid.Bind(context.Background())
	c.await(1)
	ok(t, mid2.Close()) // bound
	ok(t, <-done[low])
	for _, s := range []*Stream{idle, unbound, high, mid, low} {
		ok(t, s.Close(), s.Close())
	}
	c.close(t)
}

// TestGateWithinAPiece: work that has begun a piece finishes it.
func TestGateWithinAPiece(t *testing.T) {
	c := newCrowd(t, time.Hour, 1)
	low := c.stream(t, t.Context(), 0)
	part := Grid{Blocks: 1, Threads: 1, Micros: 400}
	ok(t, Launch(low, c.f[0], part, &params{}))
	high := c.stream(t, t.Context(), 1)
	ok(t, Launch(low, c.f[0], part, &params{}), Launch(low, c.f[0], part, &params{}))
	held := make(chan error, 1)
	go func() { held <- Launch(low, c.f[0], part, &params{}) }()
	c.await(1)
	ok(t, high.Close(), <-held, low.Close())
	c.close(t)
}

// TestGateCancel: a stream that is held back heeds its context, and enqueues nothing.
func TestGateCancel(t *testing.T) {
	c := newCrowd(t, time.Hour, 1)
	high := c.stream(t, t.Context(), 1)
	cause := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	low := c.stream(t, ctx, 0)
	held := make(chan error, 1)
	go func() { held <- c.piece(low, 0) }()
	c.await(1)
	cancel(cause)
	if err := <-held; !errors.Is(err, cause) || c.waiting() != 0 || c.drv.Calls()["LaunchKernel"] != 0 {
		t.Error(err)
	}
	ok(t, low.Wait(), low.Close(), high.Close())
	c.close(t)
}

// TestGateLoss: the loss of the card wakes those that are held back.
func TestGateLoss(t *testing.T) {
	c := newCrowd(t, time.Hour, 1)
	high, low := c.stream(t, t.Context(), 1), c.stream(t, t.Context(), 0)
	held := make(chan error, 1)
	go func() { held <- c.piece(low, 0) }()
	c.await(1)
	c.drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: -1, Result: cudrv.LaunchFailed, Sticky: true})
	if err := c.piece(high, 1); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if err := <-held; !errors.Is(err, ErrLost) || c.waiting() != 0 {
		t.Error(err)
	}
	ok(t, high.Close(), low.Close(), c.m.Close(), c.d.Close())
	if n := len(c.d.gate.active); n != 0 {
		t.Errorf("%d levels active", n)
	}
}

// TestGateAging: beside urgent work that never ends the other goes on, piece by piece.
func TestGateAging(t *testing.T) {
	c := newCrowd(t, time.Millisecond, 1)
	high, low := c.stream(t, t.Context(), 1), c.stream(t, t.Context(), 0)
	for range 20 {
		ok(t, c.piece(low, 0))
	}
	half := Grid{Blocks: 1, Threads: 1, Micros: 500}
	for range 20 {
		ok(t, Launch(low, c.f[0], half, &params{}))
	}
	if st := c.d.Stats(); st.Yields != 30 {
		t.Errorf("%d pieces were held back, want 30", st.Yields)
	}
	ok(t, low.Close(), high.Close())
	c.close(t)
}

// TestGateLeak: a stream that is dropped while it is bound holds nobody back once it is found.
func TestGateLeak(t *testing.T) {
	c := newCrowd(t, time.Hour, 1)
	func() { c.stream(t, t.Context(), 1) }()
	low := c.stream(t, t.Context(), 0)
	held := make(chan error, 1)
	go func() { held <- c.piece(low, 0) }()
	collect(t, c.d, 1)
	ok(t, <-held, low.Close())
	c.close(t)
}

// TestGateMany has many streams of all levels come and go, and their contexts end at random.
func TestGateMany(t *testing.T) {
	c := newCrowd(t, time.Millisecond, 4)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 5))
			s, err := c.d.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				level := rng.IntN(4)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(4000))*time.Microsecond)
				s.Bind(urgency.With(ctx, level))
				for range rng.IntN(8) {
					if err = c.piece(s, level); err != nil {
						break
					}
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if err := s.Wait(); err != nil {
					t.Error(err)
				}
				if rng.IntN(2) == 0 {
					s.Bind(context.Background())
				}
				cancel()
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c.close(t)
}
