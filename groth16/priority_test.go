package groth16

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/gputest"
)

// finely is a fake card on which every call that enqueues work is a piece.
func finely(t *testing.T, patience time.Duration) (*fakedrv.Driver, device.Device) {
	t.Helper()
	drv, devices := gputest.Cards(t, &gpu.Options{Piece: 1, Patience: patience}, fakedrv.Card{})
	return drv, devices[0]
}

// opened is a prover of a vector on a device, and the streams it made.
func opened(t *testing.T, drv *fakedrv.Driver, name string, o *ProverOptions) (*enginetest.Vector, Prover, []cudrv.Stream) {
	t.Helper()
	v := enginetest.Small(t, name)
	from := len(drv.Log())
	p, err := NewProver(t.Context(), openKey(t, v.ParamsFile(t)), v.System(t), o)
	require.NoError(t, err)
	var streams []cudrv.Stream
	for _, c := range drv.Log()[from:] {
		if c.Op == "StreamCreate" {
			streams = append(streams, c.Stream)
		}
	}
	require.NotEmpty(t, streams)
	return v, p, streams
}

// pieces counts the pieces of some streams in a part of a log.
func pieces(log []fakedrv.Call, streams []cudrv.Stream) (n int) {
	ops := []string{"LaunchKernel", "CopyToDeviceAsync", "CopyToHostAsync", "MemsetAsync"}
	for _, c := range log {
		if slices.Contains(ops, c.Op) && slices.Contains(streams, c.Stream) {
			n++
		}
	}
	return n
}

// during is the part of a log from the first to the last call on some streams.
func during(log []fakedrv.Call, streams []cudrv.Stream) []fakedrv.Call {
	on := func(c fakedrv.Call) bool { return c.Op != "StreamCreate" && slices.Contains(streams, c.Stream) }
	first := slices.IndexFunc(log, on)
	if first < 0 {
		return nil
	}
	last := len(log) - 1
	for !on(log[last]) {
		last--
	}
	return log[first : last+1]
}

// TestPriority: proofs that come at random while others are made with a lower priority hold them back from their first
// call to their last: one piece of each of the others' streams, whose call was through already, begins meanwhile. With equal
// priorities they share.
func TestPriority(t *testing.T) {
	for priority, rounds := range []int{2, 5} {
		drv, d := finely(t, time.Hour)
		long, low, lowStreams := opened(t, drv, "cubic", &ProverOptions{Device: d})
		short, high, highStreams := opened(t, drv, "cubic", &ProverOptions{Device: d})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := low.Prove(ctx, list(long.Circuit, long.Circuit), nil); ctx.Err() == nil && err != nil {
					t.Error(err)
				}
			}
		})
		rng := rand.New(rand.NewPCG(1, 2))
		most, all := 0, 0
		for range rounds {
			for until := d.Stats().Launches + rng.Int64N(100); d.Stats().Launches < until; {
				time.Sleep(10 * time.Microsecond)
			}
			from := len(drv.Log())
			_, err := high.Prove(t.Context(), list(short.Circuit), &ProveOptions{Priority: priority})
			require.NoError(t, err)
			n := pieces(during(drv.Log()[from:], highStreams), lowStreams)
			most, all = max(most, n), all+n
		}
		stop()
		wg.Wait()
		if priority > 0 {
			require.LessOrEqual(t, most, len(lowStreams))
		} else {
			require.Greater(t, all, rounds)
		}
		require.NoError(t, low.Close())
		require.NoError(t, high.Close())
	}
}

// The loading of a key has a priority too.
func TestPriorityOfLoading(t *testing.T) {
	drv, d := finely(t, time.Hour)
	long, low, lowStreams := opened(t, drv, "cubic", &ProverOptions{Device: d})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := low.Prove(ctx, list(long.Circuit), nil); ctx.Err() == nil && err != nil {
				t.Error(err)
			}
		}
	})
	for range 2 {
		from := len(drv.Log())
		_, p, streams := opened(t, drv, "cubic", &ProverOptions{Device: d, Priority: 1})
		require.LessOrEqual(t, pieces(during(drv.Log()[from:], streams), lowStreams), len(lowStreams))
		require.NoError(t, p.Close())
	}
	stop()
	wg.Wait()
	require.NoError(t, low.Close())
}

// gatekeeper is a proof of priority 1 that holds others back until the function it returns is called.
func gatekeeper(t *testing.T, drv *fakedrv.Driver, d device.Device) (finish func()) {
	t.Helper()
	v, p, _ := opened(t, drv, "cubic", &ProverOptions{Device: d})
	reached, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	hooks := &Hooks{PhaseStart: func(i PhaseInfo) {
		if i.Phase == PhaseSums {
			close(reached)
			<-release
		}
	}}
	go func() {
		_, err := p.Prove(t.Context(), list(v.Circuit), &ProveOptions{Priority: 1, Hooks: hooks})
		done <- err
	}()
	<-reached
	return func() {
		close(release)
		require.NoError(t, <-done)
		require.NoError(t, p.Close())
	}
}

// heldBack waits until pieces of a device have been held back.
func heldBack(d device.Device, n int64) {
	for d.(interface{ GPU() *gpu.Device }).GPU().Stats().Yields < n {
		time.Sleep(100 * time.Microsecond)
	}
}

// Calls that wait for more urgent work, or for their prover's memory, end with their context and with Close, and leave no
// goroutine.
func TestCloseWhileOthersWait(t *testing.T) {
	drv, d := finely(t, time.Hour)
	finish := gatekeeper(t, drv, d)
	v, p, _ := opened(t, drv, "feistel", &ProverOptions{Device: d, Priority: 1})
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, closed := make(chan error, 4), make(chan error, 4)
	for i := range cap(closed) {
		go func() {
			_, err := p.Prove(ctx, list(v.Circuit, v.Circuit), &ProveOptions{Priority: -i})
			cancelled <- err
		}()
		go func() {
			_, err := p.Prove(t.Context(), list(v.Circuit), nil)
			closed <- err
		}()
	}
	heldBack(d, 1)
	cancel()
	for range cap(cancelled) {
		require.ErrorIs(t, <-cancelled, context.Canceled)
	}
	require.NoError(t, p.Close())
	for range cap(closed) {
		require.ErrorIs(t, <-closed, device.ErrClosed)
	}
	requireGoroutines(t, before)
	finish()
	_, err := p.Prove(t.Context(), list(v.Circuit), nil)
	require.ErrorIs(t, err, device.ErrClosed)
}

// Work that is held back goes on piece by piece all the same, and is right.
func TestPriorityStarvesNobody(t *testing.T) {
	drv, d := finely(t, time.Microsecond)
	finish := gatekeeper(t, drv, d)
	v, p, _ := opened(t, drv, "cubic", &ProverOptions{Device: d})
	_, err := p.Prove(t.Context(), list(v.Circuit), &ProveOptions{Priority: -1})
	require.NoError(t, err)
	heldBack(d, 100)
	require.NoError(t, p.Close())
	finish()
}
