package gpu

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
)

// openCard gives the first card of a driver. What is left behind on it fails the test.
func openCard(t testing.TB, drv *fakedrv.Driver) *gpu.Device {
	d, err := gpu.NewSystem(drv).Open(0)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		require.Empty(t, strings.Join(drv.Violations(), "\n"))
		require.Equal(t, fakedrv.Usage{}, drv.Usage())
	})
	return d
}

func TestKeyMaker(t *testing.T) {
	for _, stretch := range []int{64, kernels.DefaultStretch} {
		enginetest.RunKeyMaker(t, func(t testing.TB, n int) engine.KeyMaker {
			m, err := newKeyMaker(t.Context(), openCard(t, fake(fakedrv.Config{})), n, n, stretch)
			require.NoError(t, err)
			return m
		})
	}
}

// What a plan promises is what is reserved and suffices, and products allocate nothing.
func TestKeyPlanIsKept(t *testing.T) {
	drv := fake(fakedrv.Config{})
	k, err := newKeyMaker(t.Context(), openCard(t, drv), 100, 100, 64)
	require.NoError(t, err)
	m := k.(*keyMaker)
	require.Equal(t, planKey(100, 100, 64, 1<<30).bytes(), m.lease.Bytes())
	require.Equal(t, m.arena.Size(), drv.Usage().DeviceBytes)
	require.LessOrEqual(t, m.arena.Peak(), m.arena.Size())
	before := drv.Calls()
	require.NoError(t, m.G1Powers(t.Context(), 100, fr.NewElement(3), fr.One(), func([]byte) error { return nil }))
	after := drv.Calls()
	for _, op := range []string{"MemAlloc", "HostAlloc", "StreamCreate", "EventCreate", "ModuleLoad"} {
		require.Equal(t, before[op], after[op], op)
	}
	require.NoError(t, m.Close())
}

// Plans for 10 million points shrink with the card until they are refused.
func TestKeyPlans(t *testing.T) {
	const n1, n2 = 10_000_000, 700_000
	last := planKey(n1, n2, kernels.DefaultStretch, 140<<30)
	require.Equal(t, kernels.DefaultStretch, last.stretch)
	require.Less(t, last.bytes(), uint64(3<<30))
	for memory := uint64(4 << 30); memory >= 16<<20; memory /= 2 {
		p := planKey(n1, n2, kernels.DefaultStretch, memory)
		require.LessOrEqual(t, p.bytes(), memory)
		require.LessOrEqual(t, p.stretch, last.stretch)
		require.LessOrEqual(t, p.bits1, last.bits1)
		require.LessOrEqual(t, p.bits2, last.bits2)
		last = p
	}
	least := planKey(n1, n2, kernels.DefaultStretch, 1<<20)
	require.Greater(t, least.bytes(), uint64(1<<20))
	require.Equal(t, leastKeyStretch, least.stretch)
	require.Equal(t, 2, planKey(0, 0, kernels.DefaultStretch, 1<<30).stretch)
	require.Equal(t, 8, planKey(7, 2, kernels.DefaultStretch, 1<<30).stretch, "stretches are even")
}

// A card without room is refused with the numbers before anything is allocated.
func TestKeyMakerOnTooSmallCard(t *testing.T) {
	drv := fake(fakedrv.Config{Cards: []fakedrv.Card{{MemoryBytes: 1 << 20}}})
	_, err := NewKeyMaker(t.Context(), openCard(t, drv), 1000, 1000)
	require.ErrorIs(t, err, gpu.ErrMemory)
	var typed *gpu.Error
	require.ErrorAs(t, err, &typed)
	require.Greater(t, typed.NeedBytes, typed.FreeBytes)
	require.NotZero(t, typed.TotalBytes)
	require.Zero(t, drv.Calls()["MemAlloc"])
	require.Zero(t, drv.Calls()["ModuleLoad"])
}

func TestKeyMakerCancelledInTheMaking(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err := NewKeyMaker(ctx, openCard(t, fake(fakedrv.Config{})), 10, 10)
	require.ErrorIs(t, err, enough)
}

// A fault in any call of the driver is an error of package gpu and leaves nothing behind.
func TestKeyMakerFaults(t *testing.T) {
	want, err := makePowers(t.Context(), fake(fakedrv.Config{}))
	require.NoError(t, err)
	calls := func() int {
		drv := fake(fakedrv.Config{})
		_, err := makePowers(t.Context(), drv)
		require.NoError(t, err)
		return len(drv.Log())
	}()
	step := 29
	if *slow {
		step = 1
	}
	failures := 0
	for _, result := range []cudrv.Result{cudrv.OutOfMemory, cudrv.IllegalAddress} {
		for n := 0; n < calls; n += step {
			drv := fake(fakedrv.Config{})
			drv.Inject(fakedrv.Rule{Card: -1, After: n, Result: result, Sticky: result.Sticky()})
			got, err := makePowers(t.Context(), drv)
			if err == nil {
				require.Equal(t, want, got, "call %d, %v", n, result) // a call whose failure only costs speed
			} else {
				var typed *gpu.Error
				require.ErrorAs(t, err, &typed, "call %d, %v: %v", n, result, err)
				failures++
			}
			if !result.Sticky() && !releases(drv.Log()[n].Op) {
				require.Equal(t, fakedrv.Usage{}, drv.Usage(), "call %d, %v", n, result)
			}
		}
	}
	require.Greater(t, failures, 10)
}

// makePowers opens a card, makes some powers there and closes everything.
func makePowers(ctx context.Context, drv *fakedrv.Driver) (encoded []byte, err error) {
	d, err := gpu.NewSystem(drv).Open(0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	m, err := newKeyMaker(ctx, d, 10, 10, 4)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	err = m.G1Powers(ctx, 10, fr.NewElement(3), fr.NewElement(7), func(b []byte) error {
		encoded = append(encoded, b...)
		return nil
	})
	return encoded, err
}
