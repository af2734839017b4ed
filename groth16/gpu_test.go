package groth16

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gputest"
)

// The engine of a card gives the reference's bytes too, and says where it worked.
func TestGPUProofBytesMatchReference(t *testing.T) {
	for _, name := range enginetest.SmallNames() {
		for _, direct := range []bool{false, true} {
			_, devices := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
			v, p := smallProver(t, name, &ProverOptions{Device: devices[1], DisablePCE: direct})
			ctx := blinding.Fix(t.Context(), blinding.Factors{R: v.R, S: v.S})
			r, err := p.Prove(ctx, list(v.Circuit, v.Circuit), nil)
			require.NoError(t, err)
			require.Equal(t, v.Proof, r.Bytes()[:ProofSize])
			require.Equal(t, BackendGPU, r.Partitions[0].Backend)
			require.Equal(t, devices[1].Info(), r.Partitions[0].Device)
			require.Positive(t, r.Partitions[0].Stats.Device.Sums)
			require.Zero(t, devices[0].Stats().Launches)
			require.NoError(t, p.Close())
		}
	}
}

// Provers on two cards at a time, two on each: every native call is on the card of its prover.
func TestGPUProversKeepToTheirCards(t *testing.T) {
	drv, devices := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
	var provers []Prover
	var v *enginetest.Vector
	for i := range 4 {
		var p Prover
		v, p = smallProver(t, "cubic", &ProverOptions{Backend: BackendGPU, Device: devices[i%2]})
		provers = append(provers, p)
	}
	var wg sync.WaitGroup
	for i, p := range provers {
		wg.Go(func() {
			r, err := p.Prove(t.Context(), list(v.Circuit, v.Circuit), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if got := r.Partitions[0].Device; got != devices[i%2].Info() {
				t.Errorf("prover %d: %v", i, got)
			}
		})
	}
	wg.Wait()
	for _, p := range provers {
		require.NoError(t, p.Close())
	}
	launches := map[int]int64{}
	for _, c := range drv.Log() {
		if c.Op == "LaunchKernel" {
			launches[c.Card]++
		}
	}
	for i, d := range devices {
		require.Equal(t, d.Stats().Launches, launches[i])
		require.Positive(t, launches[i])
	}
}

func TestGPUErrors(t *testing.T) {
	v := enginetest.Small(t, "feistel")
	key, system := openKey(t, v.ParamsFile(t)), v.System(t)
	drv, devices := gputest.Cards(t, nil, fakedrv.Card{MemoryBytes: 4 << 20}, fakedrv.Card{NoImage: true}, fakedrv.Card{})

	_, err := NewProver(t.Context(), key, system, &ProverOptions{Device: devices[0]})
	require.ErrorIs(t, err, device.ErrMemory)
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Greater(t, typed.NeedBytes, typed.FreeBytes)
	require.Equal(t, devices[0].Info().UUID, typed.UUID)

	_, err = NewProver(t.Context(), key, system, &ProverOptions{Device: devices[1]})
	require.ErrorIs(t, err, device.ErrUnsupported)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = NewProver(ctx, key, system, &ProverOptions{Device: devices[2]})
	require.ErrorIs(t, err, context.Canceled)

	p := newProver(t, key, system, &ProverOptions{Device: devices[2]})
	require.ErrorIs(t, devices[2].Close(), device.ErrBusy)
	drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: 2, After: 20, Result: cudrv.IllegalAddress, Sticky: true})
	r, err := p.Prove(t.Context(), list(v.Circuit, v.Circuit), nil)
	require.ErrorIs(t, err, device.ErrLost)
	require.Nil(t, r.Bytes())
	require.True(t, devices[2].Stats().Lost)
}
