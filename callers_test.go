package cuzk

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gputest"
	"github.com/gocuzk/cuzk/internal/queue"
	"github.com/gocuzk/cuzk/pce"
)

// brittle is a circuit whose methods panic from a call on.
type brittle struct {
	circuits.Circuit
	names, inputs, syntheses atomic.Int64 // calls that go well
}

// brittleAfter lets so many calls of each method go well.
func brittleAfter(c circuits.Circuit, names, inputs, syntheses int64) *brittle {
	b := &brittle{Circuit: c}
	b.names.Store(names)
	b.inputs.Store(inputs)
	b.syntheses.Store(syntheses)
	return b
}

func spend(calls *atomic.Int64) {
	if calls.Add(-1) < 0 {
		panic("the caller's fault")
	}
}

func (b *brittle) Name() string {
	spend(&b.names)
	return b.Circuit.Name()
}

func (b *brittle) PublicInputs() ([]fr.Element, error) {
	spend(&b.inputs)
	return b.Circuit.PublicInputs()
}

func (b *brittle) Synthesize(builder pce.Builder) error {
	spend(&b.syntheses)
	return b.Circuit.Synthesize(builder)
}

// A circuit that panics fails its own job, whichever call it is, and nothing else.
func TestCircuitsThatPanic(t *testing.T) {
	const often = 1000
	for _, direct := range []bool{false, true} {
		e := openEngine(t, Options{Devices: cardsOf(t, 1), DisablePCE: direct})
		good := small(t, "cubic")
		for n := range int64(4) {
			for _, c := range []*brittle{
				brittleAfter(good, n, often, often), brittleAfter(good, often, n, often), brittleAfter(good, often, often, n),
			} {
				j, err := e.Submit(t.Context(), Statements(good, c, good), nil)
				if err == nil {
					var r *Result
					r, err = wait(t, j)
					require.NoError(t, r.Partitions[0].Err)
					require.NoError(t, r.Partitions[2].Err)
				}
				if err != nil {
					require.ErrorContains(t, err, "the caller's fault")
				}
				if c.names.Load() < 0 || c.inputs.Load() < 0 || c.syntheses.Load() < 0 {
					require.Error(t, err, "a panic is not swallowed")
				}
			}
		}
		var none *brittle
		_, err := e.Submit(t.Context(), Statements(none), nil)
		require.ErrorIs(t, err, ErrTask)
		r, err := wait(t, submit(t, e, Statements(good), nil))
		require.NoError(t, err)
		require.NotNil(t, r.Bytes())
	}
}

// Names of circuits become names of files, so they can't lead out of the cache's folder.
func TestNamesThatAreNoFiles(t *testing.T) {
	e := openEngine(t, Options{Backend: groth16.BackendCPU})
	for _, name := range []string{"", ".", "..", "../cubic", "/cubic", `a\b`, "a\x00b", "C:cubic", strings.Repeat("x", 201)} {
		c := &renamed{countedCircuit: counted(t), name: name}
		_, err := e.Submit(t.Context(), Statements(c), nil)
		require.ErrorIs(t, err, ErrTask)
		require.ErrorContains(t, err, "circuit ")
	}
	require.Empty(t, fileNames(t, e.options.Cache))
}

// paramsFunc are Params that are one function.
type paramsFunc func(ctx context.Context, circuit string) (*groth16.ProvingKey, error)

func (f paramsFunc) OpenKey(ctx context.Context, circuit string) (*groth16.ProvingKey, error) {
	return f(ctx, circuit)
}

// Params that panic, open nothing or the wrong key refuse the jobs of that time, and are asked anew.
func TestParamsThatAreWrong(t *testing.T) {
	folder := TestParamsFolder(vectorFolder(t))
	var open paramsFunc
	e := openEngine(t, Options{
		Backend: groth16.BackendCPU,
		Params:  paramsFunc(func(ctx context.Context, c string) (*groth16.ProvingKey, error) { return open(ctx, c) }),
	})
	for _, x := range []struct {
		open paramsFunc
		is   error
		text string
	}{
		{func(context.Context, string) (*groth16.ProvingKey, error) { panic("no folder today") }, nil, "no folder today"},
		{func(context.Context, string) (*groth16.ProvingKey, error) { return nil, nil }, ErrParams, "cubic"},
		{func(ctx context.Context, _ string) (*groth16.ProvingKey, error) {
			return folder.OpenKey(ctx, "feistel")
		},
			groth16.ErrKeyMismatch, "cubic"},
	} {
		open = x.open
		_, err := e.Submit(t.Context(), Statements(small(t, "cubic")), nil)
		require.ErrorContains(t, err, x.text)
		if x.is != nil {
			require.ErrorIs(t, err, x.is)
		}
	}
	open = func(ctx context.Context, circuit string) (*groth16.ProvingKey, error) {
		return folder.OpenKey(ctx, circuit)
	}
	_, err := wait(t, submit(t, e, Statements(small(t, "cubic")), nil))
	require.NoError(t, err)
}

// Hooks that panic fail their partition, in whatever phase, and leave no key in use.
func TestHooksThatPanic(t *testing.T) {
	e := openEngine(t, Options{Devices: cardsOf(t, 1)})
	for _, phase := range phaseOrder()[1:] {
		for _, h := range []*Hooks{
			{PhaseStart: func(i PhaseInfo) {
				if i.Phase == phase {
					panic("hook")
				}
			}},
			{PhaseEnd: func(i PhaseInfo, _ error) {
				if i.Phase == phase {
					panic("hook")
				}
			}},
		} {
			r, err := wait(t, submit(t, e, Statements(small(t, "cubic")), &JobOptions{Hooks: h}))
			require.ErrorContains(t, err, "hook", "%s", phase)
			require.Nil(t, r.Bytes())
			require.NoError(t, e.Evict(t.Context(), "", "cubic"), "nobody uses it after %s", phase)
		}
	}
	_, err := wait(t, submit(t, e, Statements(small(t, "cubic")), nil))
	require.NoError(t, err)
}

// A progress function may ask the Engine and the job, and one that hangs holds up its own job alone.
func TestProgressFunctions(t *testing.T) {
	h := newHeld()
	close(h.end)
	e := scripted(t, Options{Devices: cardsOf(t, 1)}, h.prove)
	var last Progress
	var ask *Job
	known := make(chan struct{})
	asking := &JobOptions{Progress: func(p Progress) {
		<-known
		last = p
		now := ask.Progress()
		require.GreaterOrEqual(t, now.Finished, p.Finished)
		require.Len(t, e.Stats().Devices, 1)
		if p.Finished == 2 {
			panic("is logged")
		}
	}}
	ask = submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 9), asking)
	close(known)
	_, err := wait(t, ask)
	require.NoError(t, err)
	last.Waited = 0
	done := Progress{State: JobDone, Partitions: 9, Finished: 9, Done: 9000, Total: 9000}
	require.Equal(t, done, last, "and no call after it")

	reached, release := make(chan struct{}), make(chan struct{})
	hanging := submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 1), &JobOptions{Progress: func(p Progress) {
		if p.State == JobRunning {
			close(reached)
			<-release
		}
	}})
	<-reached
	_, err = wait(t, submit(t, e, taskOf(queue.Winning, small(t, "cubic"), 1), nil))
	require.NoError(t, err)
	require.Equal(t, 1, e.Stats().Jobs[0].Running, "snapshots do not wait for it")
	close(release)
	_, err = wait(t, hanging)
	require.NoError(t, err)
}

// A Close that waits is cut short by another whose context ends.
func TestCloseAgainCancels(t *testing.T) {
	h := newHeld()
	e := scripted(t, Options{Devices: cardsOf(t, 1)}, h.prove)
	j := submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 5), nil)
	<-h.begun
	first := make(chan error)
	go func() { first <- e.Close(context.Background()) }()
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	require.ErrorIs(t, e.Close(ctx), enough)
	require.NoError(t, <-first)
	_, err := wait(t, j)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, e.Close(ctx), "there was nothing to cancel")
}

// Keys of others do not go to a card that is reserved, unless it is named.
func TestPreloadSparesReservedCards(t *testing.T) {
	d := cardsOf(t, 2)
	d[0].OnlyWinning = true
	e := openEngine(t, Options{Devices: d})
	_, err := wait(t, submit(t, e, Statements(small(t, "cubic")), nil)) // makes it known
	require.NoError(t, err)
	keys := func() (n [2]int) {
		for i, s := range e.Stats().Devices {
			n[i] = len(s.Keys)
		}
		return n
	}
	require.NoError(t, e.Preload(t.Context(), "", "cubic"))
	require.Equal(t, [2]int{0, 1}, keys())
	require.NoError(t, e.Preload(t.Context(), d[0].Device.Info().UUID, "cubic"))
	require.Equal(t, [2]int{1, 1}, keys())
}

// A card that a self-test finds lost gets no more work.
func TestSelfTestTakesLostCardsOut(t *testing.T) {
	drv, devices := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
	e := openEngine(t, Options{Devices: []DeviceOptions{{Device: devices[0]}, {Device: devices[1]}}})
	drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: 0, Result: cudrv.LaunchFailed, Sticky: true})
	r, err := e.SelfTest(t.Context())
	require.ErrorIs(t, err, device.ErrLost)
	require.NoError(t, r.Devices[1].Err)
	require.True(t, e.Stats().Devices[0].Stats.Lost)
	result, err := wait(t, submit(t, e, Statements(small(t, "cubic"), small(t, "cubic")), nil))
	require.NoError(t, err)
	for _, p := range result.Partitions {
		require.Equal(t, devices[1].Info(), p.Device)
		require.Equal(t, 1, p.Attempts)
	}
}

// panickyWriter is a writer with a fault of its own.
type panickyWriter struct{}

func (panickyWriter) Write([]byte) (int, error) { panic("no disk") }

func TestTraceOfPanickingWriter(t *testing.T) {
	trace := NewTrace(panickyWriter{})
	e := openEngine(t, Options{Backend: groth16.BackendCPU, Trace: trace})
	_, err := wait(t, submit(t, e, Statements(small(t, "cubic")), nil))
	require.NoError(t, err)
	require.ErrorContains(t, trace.Close(), "no disk")
	require.ErrorContains(t, NewTrace(nil).Close(), "nil pointer")
}
