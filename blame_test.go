package cuzk

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/queue"
	"github.com/gocuzk/cuzk/pce"
)

// odd is a circuit that does something of its own.
type odd struct {
	circuits.Circuit
	name       string       // or that of the circuit
	synthesize func() error // before the circuit; nil: nothing
	calls      atomic.Int64 // of Synthesize
}

func (o *odd) Name() string {
	if o.name != "" {
		return o.name
	}
	return o.Circuit.Name()
}

func (o *odd) Synthesize(b pce.Builder) error {
	o.calls.Add(1)
	if o.synthesize != nil {
		if err := o.synthesize(); err != nil {
			return err
		}
	}
	return o.Circuit.Synthesize(b)
}

// requireAllThere requires that no card was taken out.
func requireAllThere(t *testing.T, e *Engine) {
	t.Helper()
	for _, d := range e.Stats().Devices {
		require.False(t, d.Stats.Lost, "%v", d.Stats.Cause)
	}
}

// Errors of the caller that look like a device's take no card out and are no reason to try again.
func TestErrorsOfCallersBlameNoDevice(t *testing.T) {
	for _, fault := range []error{
		fmt.Errorf("of another engine: %w", device.ErrLost), fmt.Errorf("of another engine: %w", device.ErrMemory),
	} {
		t.Run("context "+fault.Error(), func(t *testing.T) {
			h := newHeld()
			e := scripted(t, Options{Devices: cardsOf(t, 3)}, h.prove)
			ctx, cancel := context.WithCancelCause(t.Context())
			j, err := e.Submit(ctx, taskOf(queue.Rest, small(t, "cubic"), 6), nil)
			require.NoError(t, err)
			<-h.begun
			cancel(fault)
			r, err := wait(t, j)
			require.ErrorIs(t, err, fault)
			for _, p := range r.Partitions {
				require.LessOrEqual(t, p.Attempts, 1)
			}
			requireAllThere(t, e)
		})
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprintf("circuit %v, without its system: %t", fault, direct), func(t *testing.T) {
				e := openEngine(t, Options{Devices: cardsOf(t, 2), DisablePCE: direct})
				good := small(t, "cubic")
				_, err := wait(t, submit(t, e, Statements(good), nil))
				require.NoError(t, err)
				bad := &odd{Circuit: good, synthesize: func() error { return fault }}
				r, err := wait(t, submit(t, e, Statements(good, bad), nil))
				require.ErrorIs(t, err, fault)
				require.NoError(t, r.Partitions[0].Err)
				require.Equal(t, 1, r.Partitions[1].Attempts)
				requireAllThere(t, e)
			})
		}
		t.Run("calls "+fault.Error(), func(t *testing.T) {
			e := openEngine(t, Options{Devices: cardsOf(t, 2)})
			ctx, cancel := context.WithCancelCause(t.Context())
			e.cards[0].shelf.load = func(ctx context.Context, _ *kind, _ int64) (groth16.Prover, error) {
				cancel(fault) // that of the call's parent
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			_, err := e.kinds.open(t.Context(), "cubic", small(t, "cubic"))
			require.NoError(t, err)
			require.ErrorIs(t, e.Preload(ctx, e.cards[0].device.Info().UUID, "cubic"), fault)
			_, err = e.SelfTest(ctx)
			require.ErrorIs(t, err, fault)
			requireAllThere(t, e)
		})
	}
}

// A device that its owner closes is out, and what it had to do goes to the others.
func TestDevicesThatAreClosed(t *testing.T) {
	d := cardsOf(t, 2)
	e := openEngine(t, Options{Devices: d})
	require.NoError(t, d[0].Device.Close())
	list := make([]circuits.Circuit, 12)
	for i := range list {
		list[i] = small(t, "cubic")
	}
	for range 2 {
		r, err := wait(t, submit(t, e, Statements(list...), nil))
		require.NoError(t, err)
		for _, p := range r.Partitions {
			require.Equal(t, d[1].Device.Info(), p.Device)
		}
	}
	require.NoError(t, e.Evict(t.Context(), "", "cubic"))
	require.NoError(t, d[1].Device.Close())
	_, err := wait(t, submit(t, e, Statements(list...), nil))
	require.ErrorIs(t, err, device.ErrClosed)
	_, err = e.Submit(t.Context(), Statements(list...), nil)
	require.ErrorIs(t, err, device.ErrClosed)
}

// Code of the caller that ends its goroutine fails its own partition.
func TestCallersThatExit(t *testing.T) {
	e := openEngine(t, Options{Devices: cardsOf(t, 1)})
	good := small(t, "cubic")
	_, err := wait(t, submit(t, e, Statements(good), nil))
	require.NoError(t, err)
	exit := func() error { runtime.Goexit(); return nil }
	for name, x := range map[string]struct {
		c circuits.Circuit
		o *JobOptions
	}{
		"hook":    {good, &JobOptions{Hooks: &Hooks{PhaseStart: func(PhaseInfo) { runtime.Goexit() }}}},
		"circuit": {&odd{Circuit: good, synthesize: exit}, nil},
	} {
		r, err := wait(t, submit(t, e, Statements(x.c), x.o))
		require.ErrorContains(t, err, "runtime.Goexit", name)
		require.Nil(t, r.Bytes())
	}
	r, err := wait(t, submit(t, e, Statements(good), &JobOptions{Progress: func(Progress) { runtime.Goexit() }}))
	require.NoError(t, err)
	require.NotNil(t, r.Bytes())
	_, err = e.Submit(t.Context(), Statements(&odd{Circuit: good, name: "other", synthesize: exit}), nil)
	require.ErrorIs(t, err, ErrParams, "there is no key of that name, and nothing was recorded")
	_, err = NewSystems(t.TempDir(), nil).Open(t.Context(), &odd{Circuit: good, synthesize: exit})
	require.ErrorContains(t, err, "runtime.Goexit")
}

// A circuit under the name of another spoils nothing for the other, now or after a restart.
func TestCircuitUnderAnothersName(t *testing.T) {
	cache, params := t.TempDir(), TestParamsFolder(vectorFolder(t))
	open := func() *Engine {
		return openEngine(t, Options{Backend: groth16.BackendCPU, Cache: cache, Params: params})
	}
	bad := &odd{Circuit: small(t, "feistel"), name: "cubic"}
	for range 2 {
		e := open()
		_, err := e.Submit(t.Context(), Statements(bad), nil)
		require.ErrorIs(t, err, groth16.ErrKeyMismatch)
		require.NotContains(t, fileNames(t, cache), fileName("cubic"))
	}
	e := open()
	_, err := wait(t, submit(t, e, Statements(small(t, "cubic")), nil))
	require.NoError(t, err)

	// A file that was spoilt in another way is replaced, but not by what does not fit either.
	system, err := pce.Record(t.Context(), "cubic", bad.Synthesize, nil)
	require.NoError(t, err)
	require.NoError(t, system.WriteFile(cache+"/"+fileName("cubic")))
	e = open()
	_, err = e.Submit(t.Context(), Statements(bad), nil)
	require.ErrorIs(t, err, groth16.ErrKeyMismatch)
	_, err = wait(t, submit(t, e, Statements(small(t, "cubic")), nil))
	require.NoError(t, err)
	e = open()
	before := bad.calls.Load()
	_, err = wait(t, submit(t, e, Statements(small(t, "cubic")), nil))
	require.NoError(t, err)
	require.Equal(t, before, bad.calls.Load())
}

// What belongs to a key is not looked for in vain: a missing one is said before anything is recorded, and one that is not
// loaded is not opened to be evicted.
func TestKeysThatAreNotThere(t *testing.T) {
	opened := 0
	folder := TestParamsFolder(t.TempDir())
	e := openEngine(t, Options{
		Backend: groth16.BackendCPU,
		Params: paramsFunc(func(ctx context.Context, c string) (*groth16.ProvingKey, error) {
			opened++
			return folder.OpenKey(ctx, c)
		}),
	})
	c := &odd{Circuit: small(t, "cubic")}
	_, err := e.Submit(t.Context(), Statements(c), nil)
	require.ErrorIs(t, err, ErrParams)
	require.Zero(t, c.calls.Load())
	require.Equal(t, 1, opened)
	require.NoError(t, e.Evict(t.Context(), "", "winning-post-2KiB"))
	require.ErrorIs(t, e.Evict(t.Context(), "", "winning-post-2KiB", "nobody's"), ErrCircuit)
	require.Equal(t, 1, opened)
	require.Empty(t, fileNames(t, e.options.Cache))
}

// Nothing given for something is refused, or is nothing.
func TestNilValues(t *testing.T) {
	var o Options
	o.Params, o.Trace = (*Folder)(nil), new(Trace)
	var none *handle
	o.Devices = []DeviceOptions{{Device: none}}
	_, err := Open(t.Context(), &o)
	for _, field := range []string{"Params: none given", "Trace: not made by NewTrace", "Devices[0].Device: a nil"} {
		require.ErrorContains(t, err, field)
	}
	require.Nil(t, (*Result)(nil).Bytes())
	require.Nil(t, new(Result).Bytes())
	for _, c := range []circuits.Circuit{nil, (*odd)(nil)} {
		_, err = NewSystems(t.TempDir(), nil).Open(t.Context(), c)
		require.ErrorIs(t, err, ErrTask)
	}
}

// handle is a device of nobody.
type handle struct{ device.Device }

// After Close the counters stay as they were.
func TestStatsAfterClose(t *testing.T) {
	e := openEngine(t, Options{Backend: groth16.BackendCPU})
	_, err := e.Submit(t.Context(), Statements(), nil)
	require.ErrorIs(t, err, ErrTask)
	require.NoError(t, e.Close(t.Context()))
	before := e.Stats().Jobs
	require.EqualValues(t, 1, before[0].Refused)
	_, err = e.Submit(t.Context(), Statements(small(t, "cubic")), nil)
	require.ErrorIs(t, err, ErrClosed)
	require.Equal(t, before, e.Stats().Jobs)
}

// askingLog is a log that asks the Engine for its Stats with every record.
type askingLog struct {
	slog.Handler
	engine atomic.Pointer[Engine]
	asked  atomic.Int64
}

func (h *askingLog) Handle(context.Context, slog.Record) error {
	if e := h.engine.Load(); e != nil {
		e.Stats()
		h.asked.Add(1)
	}
	return nil
}

func (h *askingLog) Enabled(context.Context, slog.Level) bool { return true }
func (h *askingLog) WithAttrs([]slog.Attr) slog.Handler       { return h }

// A log may ask the Engine, whatever it is told: of keys that come and go, of lost cards and of what is tried again.
func TestLogThatAsksTheEngine(t *testing.T) {
	h := &askingLog{Handler: slog.DiscardHandler}
	f := &faulty{faults: map[string]error{}}
	e := scripted(t, Options{Devices: cardsOf(t, 1), CPUFallback: true, Logger: slog.New(h)}, f.prove)
	h.engine.Store(e)
	task := func() Task { return taskOf(queue.Rest, small(t, "cubic"), 3) }
	_, err := wait(t, submit(t, e, task(), nil))
	require.NoError(t, err)
	require.NoError(t, e.Evict(t.Context(), "", "cubic"))
	f.set("card 0", device.ErrLost)
	_, err = wait(t, submit(t, e, task(), nil))
	require.NoError(t, err)
	require.Greater(t, h.asked.Load(), int64(5))
}

// Whoever has waited for a job finds all of it in Stats.
func TestStatsAreCompleteAfterWait(t *testing.T) {
	prove := func(context.Context, *card, *kind, *groth16.ProveOptions) error { return nil }
	e := scripted(t, Options{Devices: cardsOf(t, 4)}, prove)
	for n := range uint64(300) {
		_, err := wait(t, submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 4), nil))
		require.NoError(t, err)
		s := e.Stats()
		require.Equal(t, 4*(n+1), s.Partitions[0].Done)
		require.Equal(t, n+1, s.Jobs[0].Done)
	}
}
