package gpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/urgency"
)

// queued waits until n wait for a turn.
func (t *turn) queued(n int) {
	for {
		t.mu.Lock()
		now := len(t.queue)
		t.mu.Unlock()
		if now == n {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// line is a turn that is taken, and takers of given levels, who came in this order. Each says its number when it has its
// turn.
func line(t *testing.T, levels ...int) (*turn, chan int) {
	x, order := new(turn), make(chan int)
	require.NoError(t, x.take(t.Context()))
	for i, level := range levels {
		go func() {
			if err := x.take(urgency.With(t.Context(), level)); err != nil {
				t.Error(err)
			}
			order <- i
		}()
		x.queued(i + 1)
	}
	return x, order
}

func TestTurnGoesToTheMostUrgent(t *testing.T) {
	x, order := line(t, 0, 1, 0, 2, 1, -1)
	for _, want := range []int{3, 1, 4, 0, 2, 5} {
		x.give()
		require.Equal(t, want, <-order)
	}
	x.give()
	require.NoError(t, x.take(t.Context()), "free again")
	x.give()
	x.close()
}

// However many more urgent ones come, each waits for a bounded number of turns.
func TestTurnStarvesNobody(t *testing.T) {
	levels := make([]int, mostOvertakes+5)
	for i := range levels[1:] {
		levels[i+1] = i
	}
	x, order := line(t, levels...)
	for i := range mostOvertakes {
		x.give()
		require.Equal(t, len(levels)-1-i, <-order)
	}
	x.give()
	require.Zero(t, <-order)
	for range len(levels) - mostOvertakes - 1 {
		x.give()
		<-order
	}
	x.give()
	x.close()
}

func TestTurnCancel(t *testing.T) {
	x := new(turn)
	require.NoError(t, x.take(t.Context()))
	cause := errors.New("not wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	got := make(chan error)
	go func() { got <- x.take(ctx) }()
	x.queued(1)
	cancel(cause)
	require.ErrorIs(t, <-got, cause)
	x.queued(0)
	x.give()
	x.close()
}

// Close waits for the one whose turn it is, and refuses all others.
func TestTurnClose(t *testing.T) {
	x := new(turn)
	require.NoError(t, x.take(t.Context()))
	got := make(chan error)
	go func() { got <- x.take(t.Context()) }()
	x.queued(1)
	closed := make(chan struct{})
	go func() {
		x.close()
		close(closed)
	}()
	require.ErrorIs(t, <-got, engine.ErrClosed)
	require.ErrorIs(t, x.take(t.Context()), engine.ErrClosed)
	select {
	case <-closed:
		t.Fatal("closed during a turn")
	default:
	}
	x.give()
	<-closed
	require.ErrorIs(t, x.take(t.Context()), engine.ErrClosed)
}

// Never have two a turn at a time, and none is lost, whatever contexts end.
func TestTurnMany(t *testing.T) {
	var x turn
	var busy atomic.Int32
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(300))*time.Microsecond)
				err := x.take(urgency.With(ctx, rng.IntN(3)))
				cancel()
				if err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					continue
				}
				if n := busy.Add(1); n != 1 {
					t.Errorf("%d at a time", n)
				}
				busy.Add(-1)
				x.give()
			}
		})
	}
	wg.Wait()
	require.Empty(t, x.queue)
	require.False(t, x.taken)
	x.close()
}
