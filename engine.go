package cuzk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/queue"
)

// Engine makes proofs on all devices it was given, for many jobs at a time. Its methods may be called from several
// goroutines.
//
// A job is cut into partitions, which go to whichever device can start them first; each is proved, verified, and retried
// once elsewhere if a device was at fault. Nothing that was not verified leaves the Engine.
type Engine struct {
	options Options
	log     *slog.Logger
	cards   []*card
	kinds   *library
	host    *ledger
	opened  time.Time
	taking  context.Context // ends when Close is called
	refuse  context.CancelCauseFunc
	running sync.WaitGroup // what Close waits for: workers, cards on their way out, and calls

	mu      sync.Mutex
	wake    *sync.Cond // of mu: there may be something to do for workers
	queue   *queue.Queue
	jobs    map[uint64]*Job
	numbers uint64
	idle    []*worker // that wait for wake
	tally   tally
	closing bool          // no more jobs
	ended   bool          // workers go
	quiet   chan struct{} // closed when closing and without jobs
	closed  chan struct{} // closed when Close is done
	fault   error         // of what Close gave back; valid when closed is
}

// patience is how often a job at the head of the queue may be passed over for jobs whose keys are loaded.
const patience = 16

// Open opens the devices and starts the Engine, which must be closed. It loads no key. All problems with the options are
// reported at once; a GPU that is there but can't be used is an error of package device.
func Open(ctx context.Context, o *Options) (*Engine, error) {
	options := o.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	options.Devices = slices.Clone(options.Devices)
	cards, err := openCards(&options)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		options: options, log: options.Logger, cards: cards, opened: time.Now(),
		host:  &ledger{limit: options.HostMemory},
		queue: queue.New(queue.Options{Limit: options.QueueLimit, Aging: options.Aging, Patience: patience}),
		jobs:  map[uint64]*Job{}, quiet: make(chan struct{}), closed: make(chan struct{}),
	}
	if e.host.limit == 0 {
		e.host.limit = hostMemory()
	}
	e.wake = sync.NewCond(&e.mu)
	e.taking, e.refuse = context.WithCancelCause(context.Background())
	var systems *Systems
	if !options.DisablePCE {
		systems = NewSystems(options.Cache, options.Logger)
	}
	e.kinds = newLibrary(options.Params, systems, cards)
	if options.SelfTest {
		if _, err := e.SelfTest(ctx); err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
	}
	for _, c := range cards {
		if !c.standby {
			e.start(c)
		}
	}
	return e, nil
}

// SealCommit2 proves the replication of a phase-1 output. It is [Engine.Submit] and [Job.Wait]; the job ends with ctx.
func (e *Engine) SealCommit2(ctx context.Context, c1 *porep.C1, o *JobOptions) (*Result, error) {
	return e.prove(ctx, Seal(c1), o)
}

// WinningPoSt proves a won ticket, before everything else. See [Engine.SealCommit2].
func (e *Engine) WinningPoSt(
	ctx context.Context, s *post.Statement, vanilla []*post.Vanilla, o *JobOptions,
) (*Result, error) {
	return e.prove(ctx, WinningPoSt(s, vanilla), o)
}

// WindowPoSt proves all partitions that s is about. See [Engine.SealCommit2].
func (e *Engine) WindowPoSt(
	ctx context.Context, s *post.Statement, vanilla []*post.Vanilla, o *JobOptions,
) (*Result, error) {
	return e.prove(ctx, WindowPoSt(s, vanilla), o)
}

// WindowPoStPartition proves one partition, whose sectors s has alone. See [Engine.SealCommit2].
func (e *Engine) WindowPoStPartition(
	ctx context.Context, s *post.Statement, vanilla []*post.Vanilla, partition int, o *JobOptions,
) (*Result, error) {
	return e.prove(ctx, WindowPoStPartition(s, vanilla, partition), o)
}

// SnapUpdate proves an empty sector update. See [Engine.SealCommit2].
func (e *Engine) SnapUpdate(
	ctx context.Context, s *update.Statement, vanilla []*update.Vanilla, o *JobOptions,
) (*Result, error) {
	return e.prove(ctx, Update(s, vanilla), o)
}

func (e *Engine) prove(ctx context.Context, t Task, o *JobOptions) (*Result, error) {
	j, err := e.Submit(ctx, t, o)
	if err != nil {
		return nil, err
	}
	return j.Wait(context.WithoutCancel(ctx)) // the job ends with ctx, and has good proofs even then
}

// Submit takes a task in and returns at once, but for the first task of a circuit, whose key is opened and whose constraint
// system is recorded if it is not in the cache. The job ends with ctx: its open partitions fail with context.Cause(ctx).
//
// # Errors
//
// What is wrong with the input, as the packages below circuits say it; errors that wrap [ErrTask], [ErrBusy], [ErrLate] or
// [ErrClosed]; those of Options.Params; a *[MemoryError] if the task can't fit on any device; a device.ErrLost if no
// device is left, or a device.ErrClosed if somebody has closed them.
func (e *Engine) Submit(ctx context.Context, t Task, o *JobOptions) (*Job, error) {
	j, err := e.submit(ctx, t, o)
	if err != nil && t.open != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.ended { // the last Stats stay
			e.tally.kind(t.kind).Refused++
		}
	}
	return j, err
}

func (e *Engine) submit(ctx context.Context, t Task, o *JobOptions) (*Job, error) {
	call, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if t.open == nil {
		return nil, fmt.Errorf("%w: made without its function", ErrTask)
	}
	var w *work
	err = parallel.Guard(func() (err error) { // circuits are the caller's code
		w, err = t.open()
		return err
	})
	if err != nil {
		return nil, err
	}
	k, err := e.kinds.open(call, w.name, w.circuits[0])
	if err != nil {
		return nil, err
	}
	return e.enqueue(newJob(ctx, e, t, w, k, o))
}

// enter begins a call that Close waits for. Its context ends with Close too.
func (e *Engine) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return nil, nil, ErrClosed
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	e.running.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.taking, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		e.running.Done()
	}, nil
}
