package cuzk

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/gputest"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/pce"
)

// selfTestIn runs the self-test with an empty folder for temporary files, in which nothing may be left.
func selfTestIn(t *testing.T, ctx context.Context, d device.Device, b groth16.Backend) DeviceReport {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	r := selfTest(ctx, d, b, slog.New(slog.DiscardHandler))
	require.Empty(t, fileNames(t, dir))
	require.Equal(t, d.Info(), r.Info)
	require.Equal(t, b, r.Backend)
	return r
}

func TestSelfTest(t *testing.T) {
	r := selfTestIn(t, t.Context(), device.CPU(), groth16.BackendCPU)
	require.NoError(t, r.Err)
	require.Positive(t, r.Took)
	require.Contains(t, r.Capability, "processor, ")

	_, cards := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{MemoryBytes: 8 << 30, Major: 9, SMs: 132})
	r = selfTestIn(t, t.Context(), cards[1], groth16.BackendGPU)
	require.NoError(t, r.Err)
	require.Contains(t, r.Capability, "compute capability 9.0, 132 multiprocessors")
	require.Contains(t, r.Capability, "8.0 GiB of memory")
	require.Contains(t, r.Capability, "for keys and proofs")
	require.Zero(t, cards[0].Stats().Launches)
	require.Zero(t, cards[1].Stats().LeasedBytes)
}

// The circuit has everything that a prover has work with, and is satisfied by its own values only.
func TestSelfTestCircuit(t *testing.T) {
	c := newTestCircuit()
	system, err := pce.Record(t.Context(), c.Name(), c.Synthesize, nil)
	require.NoError(t, err)
	n := system.Counts()
	require.Greater(t, n.Bits, 64)
	require.Greater(t, n.Dense, 10)
	require.Equal(t, 3, n.Inputs)
	require.LessOrEqual(t, system.FullRows(), 128)
	require.Greater(t, system.Stats().Templates, 1)
	require.NoError(t, pce.Check(t.Context(), c.Synthesize))
	w, err := pce.MakeWitness(t.Context(), c.Synthesize, nil)
	require.NoError(t, err)
	inputs, err := c.PublicInputs()
	require.NoError(t, err)
	require.Equal(t, inputs, w.Inputs[1:])
}

// A card on which one kernel does nothing is found out, whichever it is: all but the few that have nothing to do in so
// short sums.
func TestSelfTestFindsBadKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	drv, cards := gputest.Cards(t, nil, fakedrv.Card{})
	require.NoError(t, selfTestIn(t, t.Context(), cards[0], groth16.BackendGPU).Err)
	launched := map[string]bool{}
	for _, c := range drv.Log() {
		if c.Op == "LaunchKernel" {
			launched[c.Kernel] = true
		}
	}
	require.Greater(t, len(launched), 15)
	var missed []string
	for name := range launched {
		d := cardWithout(t, name)
		if selfTestIn(t, t.Context(), d, groth16.BackendGPU).Err == nil {
			missed = append(missed, name)
		}
		d.Close() // whatever is left there
	}
	require.Less(t, len(missed), len(launched)/4, missed)
}

// cardWithout is a card on which a kernel leaves everything as it was.
func cardWithout(t *testing.T, kernel string) device.Device {
	t.Helper()
	drv := fakedrv.New(fakedrv.Config{})
	for name, twin := range kernels.Twins() {
		drv.Register(name, func(m *fakedrv.Memory, l cudrv.Launch, params []byte) {
			if name != kernel {
				twin(m, gpu.Grid{Blocks: int(l.Grid[0]), BlocksY: int(l.Grid[1]), Threads: int(l.Block[0])}, params)
			}
		})
	}
	card, err := gpu.NewSystem(drv).Open(0)
	require.NoError(t, err)
	return device.Wrap(card)
}

func TestSelfTestOfFailingCards(t *testing.T) {
	drv, cards := gputest.Cards(t, nil, fakedrv.Card{})
	drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Result: cudrv.LaunchFailed, Sticky: true})
	r := selfTestIn(t, t.Context(), cards[0], groth16.BackendGPU)
	require.ErrorIs(t, r.Err, device.ErrLost)
	require.ErrorContains(t, r.Err, "self-test of "+r.Info.Name+" "+r.Info.UUID)
	require.NotEmpty(t, r.Capability)

	_, cards = gputest.Cards(t, nil, fakedrv.Card{NoImage: true}, fakedrv.Card{MemoryBytes: 4 << 20})
	require.ErrorIs(t, selfTestIn(t, t.Context(), cards[0], groth16.BackendGPU).Err, device.ErrUnsupported)
	require.ErrorIs(t, selfTestIn(t, t.Context(), cards[1], groth16.BackendGPU).Err, device.ErrMemory)
}

// A proof that was made elsewhere than asked for is no success.
func TestSelfTestLooksWhereTheProofIsFrom(t *testing.T) {
	r := DeviceReport{Info: device.Info{Ordinal: device.CPUOrdinal, Name: "another processor"}, Backend: groth16.BackendCPU}
	require.ErrorIs(t, r.run(t.Context(), device.CPU(), nil), errSelfTest)
	r = DeviceReport{Info: device.CPU().Info(), Backend: groth16.BackendAuto}
	require.ErrorIs(t, r.run(t.Context(), device.CPU(), nil), errSelfTest)
}

func TestSelfTestHeedsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	require.ErrorIs(t, selfTestIn(t, ctx, device.CPU(), groth16.BackendCPU).Err, cause)
}

func BenchmarkSelfTest(b *testing.B) {
	for b.Loop() {
		require.NoError(b, selfTest(b.Context(), device.CPU(), groth16.BackendCPU, nil).Err)
	}
}
