package parallel

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRangesCoverEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 99, 100, 101, 1000} {
		seen := make([]int, n)
		var mu sync.Mutex
		require.NoError(t, Ranges(t.Context(), n, 100, func(worker, lo, hi int) error {
			mu.Lock()
			defer mu.Unlock()
			require.Less(t, worker, Workers())
			require.LessOrEqual(t, hi-lo, 100)
			for i := lo; i < hi; i++ {
				seen[i]++
			}
			return nil
		}))
		for i, k := range seen {
			require.Equal(t, 1, k, "n %d element %d", n, i)
		}
	}
}

func TestFirstErrorStops(t *testing.T) {
	boom := errors.New("boom")
	calls := 0
	var mu sync.Mutex
	err := Ranges(t.Context(), 1_000_000, 1, func(_, lo, _ int) error {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return boom
	})
	require.ErrorIs(t, err, boom)
	require.LessOrEqual(t, calls, Workers())
}

func TestContextCauseIsReturned(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := Ranges(ctx, 1000, 1, func(_, lo, _ int) error {
		if lo == 10 {
			cancel(cause)
		}
		return nil
	})
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, Each(ctx, 1, func(context.Context, int) error { return nil }), cause)
}

func TestPanicBecomesError(t *testing.T) {
	err := Ranges(t.Context(), 10, 1, func(_, lo, _ int) error { panic("odd") })
	var p *PanicError
	require.ErrorAs(t, err, &p)
	require.Equal(t, "odd", p.Value)
	require.Contains(t, err.Error(), "parallel_test.go")
}

func TestApartSurvivesGoexit(t *testing.T) {
	require.NoError(t, Apart(func() error { return nil }))
	boom := errors.New("boom")
	require.ErrorIs(t, Apart(func() error { return boom }), boom)
	require.ErrorIs(t, Apart(func() error { runtime.Goexit(); return nil }), ErrExited)
	var p *PanicError
	require.ErrorAs(t, Apart(func() error { panic("odd") }), &p)
}
