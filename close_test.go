package cuzk

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/queue"
)

// Close may come at any moment of any other call: each of those ends, well or with a typed error, and nothing is left.
func TestCloseBesideEveryCall(t *testing.T) {
	for round := range 15 {
		quick := func(ctx context.Context, _ *card, _ *kind, _ *groth16.ProveOptions) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
				return nil
			}
		}
		e := scripted(t, Options{Devices: cardsOf(t, 2)}, quick)
		submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 1), nil)
		known := func(err error) {
			if err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrBusy) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		calls := []func(context.Context){
			func(ctx context.Context) {
				j, err := e.Submit(ctx, taskOf(queue.Winning, small(t, "cubic"), 3), nil)
				known(err)
				if err == nil {
					_, err = j.Wait(context.Background())
					known(err)
				}
			},
			func(ctx context.Context) { known(e.Preload(ctx, "", "cubic")) },
			func(ctx context.Context) { known(e.Evict(ctx, "", "cubic")) },
			func(ctx context.Context) { _, err := e.SelfTest(ctx); known(err) },
			func(ctx context.Context) { _, err := e.Estimate(ctx, "cubic"); known(err) },
			func(context.Context) { e.Stats() },
			func(ctx context.Context) { known(e.Close(ctx)) },
		}
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				calls[i%len(calls)](ctx)
			})
		}
		wg.Wait()
		_, err := e.Submit(t.Context(), taskOf(queue.Rest, small(t, "cubic"), 1), nil)
		require.ErrorIs(t, err, ErrClosed)
	}
}
