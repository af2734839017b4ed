package cuzk

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gputest"
	"github.com/gocuzk/cuzk/internal/queue"
)

// script stands in for what provers do, so that thousands of jobs take no time.
type script struct {
	proof groth16.Proof
	// prove is called in place of every proof. A device.ErrLost of its own means that the card is lost.
	prove func(ctx context.Context, c *card, k *kind, o *groth16.ProveOptions) error

	mu   sync.Mutex
	lost map[*card]error
}

// gone stands in for what a card says of itself.
func (s *script) gone(c *card) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost[c]
}

func (s *script) lose(c *card, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost[c] = err
}

// scriptedProver makes the same proof again and again.
type scriptedProver struct {
	*script
	card *card
	kind *kind
}

func (p *scriptedProver) Device() device.Device { return p.card.device }

func (p *scriptedProver) Memory() groth16.Memory { return groth16.Memory{} }

func (p *scriptedProver) Close() error { return nil }

func (p *scriptedProver) Prove(ctx context.Context, c []circuits.Circuit, o *groth16.ProveOptions) (*groth16.Result, error) {
	err := p.prove(ctx, p.card, p.kind, o)
	if errors.Is(err, device.ErrLost) && ctx.Err() == nil {
		p.lose(p.card, err)
	}
	r := &groth16.Result{
		Proofs:     []groth16.Proof{p.proof},
		Partitions: []groth16.PartitionReport{{Device: p.card.device.Info(), Backend: p.card.backend, Err: err}},
	}
	return r, err
}

// vectorFolder is a folder with the keys of the reference's small circuits.
func vectorFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range enginetest.SmallNames() {
		v := enginetest.Small(t, name)
		require.NoError(t, os.WriteFile(groth16.TestKeyFiles(dir, name).Params, v.Params, 0o600))
	}
	return dir
}

// openEngine opens an Engine with the small circuits' keys. What it leaves behind fails the test.
func openEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Params == nil {
		o.Params = TestParamsFolder(vectorFolder(t))
	}
	if o.Cache == "" {
		o.Cache = t.TempDir()
	}
	before := runtime.NumGoroutine()
	e, err := Open(t.Context(), &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close(context.Background()))
		requireQuiet(t, e)
		eventually(t, func() bool { return runtime.NumGoroutine() <= before })
	})
	return e
}

// eventually waits for what happens soon after what was waited for.
func eventually(t testing.TB, happened func() bool) {
	t.Helper()
	for start := time.Now(); !happened(); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(start), 30*time.Second, "it did not happen")
	}
}

// requireQuiet requires that nothing is promised or waits.
func requireQuiet(t testing.TB, e *Engine) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	require.Zero(t, e.queue.Len())
	require.Empty(t, e.jobs)
	taken, _ := e.host.books()
	require.Zero(t, taken)
	require.Empty(t, e.host.queue)
	for _, c := range e.cards {
		require.Zero(t, c.busy)
		c.shelf.mu.Lock()
		require.Empty(t, c.shelf.claims)
		for _, b := range c.shelf.books {
			require.Zero(t, b.users)
		}
		c.shelf.mu.Unlock()
	}
}

// cardsOf are made-up cards for the options.
func cardsOf(t testing.TB, n int) []DeviceOptions {
	t.Helper()
	_, devices := gputest.Cards(t, nil, make([]fakedrv.Card, n)...)
	out := make([]DeviceOptions, n)
	for i, d := range devices {
		out[i] = DeviceOptions{Device: d}
	}
	return out
}

// scripted opens an Engine that follows a script.
func scripted(t testing.TB, o Options, prove func(context.Context, *card, *kind, *groth16.ProveOptions) error) *Engine {
	t.Helper()
	e := openEngine(t, o)
	proof, err := groth16.ParseProof(enginetest.Small(t, "cubic").Proof)
	require.NoError(t, err)
	s := &script{proof: proof, prove: prove, lost: map[*card]error{}}
	for _, c := range e.cards {
		c.gone = func() error { return s.gone(c) }
		c.shelf.load = func(_ context.Context, k *kind, _ int64) (groth16.Prover, error) {
			return &scriptedProver{script: s, card: c, kind: k}, nil
		}
	}
	return e
}

// small is one of the reference's small circuits.
func small(t testing.TB, name string) circuits.Circuit { return enginetest.Small(t, name).Circuit }

// taskOf is a task of a class of n times the same circuit.
func taskOf(class queue.Class, c circuits.Circuit, n int) Task {
	list := make([]circuits.Circuit, n)
	for i := range list {
		list[i] = c
	}
	t := Statements(list...)
	t.class = class
	t.kind = [...]string{kindWinningPoSt, kindWindowPoSt, kindPoRep}[class]
	return t
}

func submit(t testing.TB, e *Engine, task Task, o *JobOptions) *Job {
	t.Helper()
	j, err := e.Submit(t.Context(), task, o)
	require.NoError(t, err)
	return j
}

func wait(t testing.TB, j *Job) (*Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	r, err := j.Wait(ctx)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the test has waited too long")
	return r, err
}
