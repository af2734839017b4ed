package groth16

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gputest"
	"github.com/gocuzk/cuzk/pce"
)

func record(t testing.TB, c circuits.Circuit) *pce.System {
	t.Helper()
	s, err := pce.Record(t.Context(), c.Name(), c.Synthesize, nil)
	require.NoError(t, err)
	return s
}

// The size of a key is known without it: those of the small vectors and of the reference's circuits of 2 KiB.
func TestEstimateOfKeyBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("records circuits of 2 KiB; runs without -short")
	}
	systems, sizes := []*pce.System{porepSystem(t)}, []int64{0}
	_, winning := postCircuits(t, "winning-post")
	_, window := postCircuits(t, "window-post")
	_, update := updateCircuits(t, "snap-deals")
	for _, c := range []circuits.Circuit{winning, window, update} {
		systems, sizes = append(systems, record(t, c)), append(sizes, 0)
	}
	for i, vector := range []string{"porep", "winning-post", "window-post", "snap-deals"} {
		var want struct{ Params struct{ Size int64 } }
		readTestdata(t, vector+"/params.json", &want)
		sizes[i] = want.Params.Size
	}
	for _, name := range enginetest.SmallNames() {
		v := enginetest.Small(t, name)
		systems, sizes = append(systems, v.System(t)), append(sizes, int64(len(v.Params)))
	}
	for i, s := range systems {
		n, err := Estimate(s, device.CPU(), nil)
		require.NoError(t, err)
		require.Equal(t, sizes[i], n.KeyBytes, s.Name())
	}
}

// A Prover takes what was estimated: all of it if it can, never less than the least, and with less it is refused with the
// numbers.
func TestEstimateIsWhatProversTake(t *testing.T) {
	_, devices := gputest.Cards(t, nil, fakedrv.Card{MemoryBytes: 2 << 30})
	d := devices[0]
	for _, name := range enginetest.SmallNames() {
		v := enginetest.Small(t, name)
		key, system := openKey(t, v.ParamsFile(t)), v.System(t)
		n, err := Estimate(system, d, nil)
		require.NoError(t, err)
		require.Positive(t, n.LeastBytes)
		require.LessOrEqual(t, n.LeastBytes, n.AmpleBytes)
		for _, limit := range []int64{0, n.AmpleBytes, n.LeastBytes} {
			p, err := NewProver(t.Context(), key, system, &ProverOptions{Device: d, MemoryLimit: limit})
			require.NoError(t, err)
			m := p.Memory()
			require.Equal(t, d.Stats().LeasedBytes, m.LeasedBytes)
			if limit == n.LeastBytes {
				require.LessOrEqual(t, m.LeasedBytes, limit)
			} else {
				require.Equal(t, n.AmpleBytes, m.LeasedBytes)
			}
			require.Positive(t, m.ResidentBytes)
			require.Less(t, m.ResidentBytes, m.LeasedBytes)
			require.False(t, m.Streamed)
			if limit == n.LeastBytes && name == "cubic" {
				_, err = p.Prove(t.Context(), list(v.Circuit), nil)
				require.NoError(t, err)
			}
			require.NoError(t, p.Close())
			require.Zero(t, p.Memory())
		}
		_, err = NewProver(t.Context(), key, system, &ProverOptions{Device: d, MemoryLimit: n.LeastBytes - 1})
		require.ErrorIs(t, err, device.ErrMemory)
		var typed *device.Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, n.LeastBytes, typed.NeedBytes)
		require.Equal(t, n.LeastBytes-1, typed.FreeBytes)
		require.EqualValues(t, 2<<30, typed.TotalBytes)
		require.ErrorContains(t, err, "the smallest plan needs")
		require.ErrorContains(t, err, "the prover's limit is")
	}
	_, err := NewProver(t.Context(), openKey(t, enginetest.Small(t, "cubic").ParamsFile(t)), nil,
		&ProverOptions{Device: d, MemoryLimit: -1})
	require.ErrorContains(t, err, "option MemoryLimit: -1 bytes")
	require.ErrorContains(t, err, "no constraint system given")
	_, err = Estimate(new(pce.System), device.CPU(), nil)
	require.ErrorContains(t, err, "neither recorded nor opened")
}

func TestEstimateWithoutGPU(t *testing.T) {
	v, p := smallProver(t, "cubic", &ProverOptions{Backend: BackendCPU})
	require.Zero(t, p.Memory())
	_, devices := gputest.Cards(t, nil, fakedrv.Card{})
	onGPU, err := Estimate(v.System(t), devices[0], nil)
	require.NoError(t, err)
	direct, err := Estimate(v.System(t), devices[0], &EstimateOptions{DisablePCE: true})
	require.NoError(t, err)
	onCPU, err := Estimate(v.System(t), device.CPU(), nil)
	require.NoError(t, err)
	require.Zero(t, onCPU.LeastBytes+onCPU.AmpleBytes)
	require.Greater(t, onCPU.HostBytes, onGPU.HostBytes)
	require.Greater(t, direct.HostBytes, onGPU.HostBytes)
	require.Equal(t, onGPU.LeastBytes, direct.LeastBytes)
	_, err = Estimate(nil, device.CPU(), nil)
	require.ErrorContains(t, err, "no constraint system")
	_, err = Estimate(v.System(t), nil, nil)
	require.ErrorContains(t, err, "no device")
}

func TestLeasable(t *testing.T) {
	_, devices := gputest.Cards(t, nil, fakedrv.Card{MemoryBytes: 1 << 30})
	free, limit, err := Leasable(devices[0])
	require.NoError(t, err)
	require.EqualValues(t, 15<<26, free)
	require.Equal(t, free, limit)
	_, p := smallProver(t, "cubic", &ProverOptions{Device: devices[0]})
	now, same, err := Leasable(devices[0])
	require.NoError(t, err)
	require.Equal(t, free-p.Memory().LeasedBytes, now)
	require.Equal(t, limit, same)
	free, limit, err = Leasable(device.CPU())
	require.NoError(t, err)
	require.Zero(t, free+limit)
	_, _, err = Leasable(nil)
	require.ErrorContains(t, err, "no device")
	require.NoError(t, p.Close())
}

// peakHeap is how many bytes f holds at a time, and some garbage.
func peakHeap(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak, done, sampled := m.HeapAlloc, uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	f()
	close(done)
	<-sampled
	return int64(peak) - int64(before)
}

// What is promised of the host is kept: by witnesses, with and without rows, and by proofs on the processor.
func TestEstimateOfHostBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; runs without -short")
	}
	const garbage = 8 << 20
	partitions, blank := postCircuits(t, "winning-post")
	system := record(t, blank)
	n, err := Estimate(system, &onlyInfo{}, nil)
	require.NoError(t, err)
	got := peakHeap(func() {
		_, err := pce.MakeWitness(t.Context(), partitions[0].Synthesize, nil)
		require.NoError(t, err)
	})
	t.Logf("witness: %d of %d bytes", got, n.HostBytes)
	require.LessOrEqual(t, got, n.HostBytes+garbage)

	n, err = Estimate(system, &onlyInfo{}, &EstimateOptions{DisablePCE: true})
	require.NoError(t, err)
	got = peakHeap(func() {
		_, _, err := pce.Direct(t.Context(), partitions[0].Synthesize)
		require.NoError(t, err)
	})
	t.Logf("with rows: %d of %d bytes", got, n.HostBytes)
	require.LessOrEqual(t, got, n.HostBytes+garbage)

	for _, name := range enginetest.SmallNames() {
		v, p := smallProver(t, name, &ProverOptions{Backend: BackendCPU})
		n, err := Estimate(v.System(t), device.CPU(), nil)
		require.NoError(t, err)
		got := peakHeap(func() {
			_, err := p.Prove(t.Context(), list(v.Circuit), nil)
			require.NoError(t, err)
		})
		t.Logf("%s on the processor: %d of %d bytes", name, got, n.HostBytes)
		require.LessOrEqual(t, got, n.HostBytes+garbage)
	}
}

// onlyInfo is a GPU of which no more is known than what it is.
type onlyInfo struct{ device.Device }

func (*onlyInfo) Info() device.Info { return device.Info{Multiprocessors: 132} }
