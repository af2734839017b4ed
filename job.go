package cuzk

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/queue"
)

// Job is a task that an Engine has taken. Its methods may be called from several goroutines.
type Job struct {
	id     uint64
	engine *Engine
	kind   string
	class  queue.Class
	of     *kind
	work   *work       // nil when all is done
	not    queue.Cards // cards that can never take it
	opts   JobOptions
	ctx    context.Context
	cancel context.CancelCauseFunc
	forget func() bool // stops what waits for the end of ctx
	since  time.Time
	parts  []partition
	result *Result
	err    error // valid when done is closed
	cut    bool  // the context has ended before all was done
	done   chan struct{}

	mu      sync.Mutex // of what follows
	left    int        // partitions
	reached []uint64
	shown   Progress

	telling sync.Mutex // held while the caller's Progress is called; never with mu
	told    Progress   // under telling
}

// partition is one unit of work. It belongs to the queue or to one worker at a time.
type partition struct {
	job     *Job
	index   int
	circuit circuits.Circuit // nil when it is done
	waiting time.Time        // since when
	faults  int              // of devices
	failed  groth16.Phase    // in which the last attempt failed; empty if it was in none
	report  *PartitionReport
	proof   *groth16.Proof
}

// end sets the outcome: err is nil if there is a proof.
func (p *partition) end(err error) {
	p.report.Err, p.circuit = err, nil
	if err != nil {
		*p.proof = groth16.Proof{}
	}
}

// JobState says how far a job is.
type JobState string

// The states.
const (
	JobQueued  JobState = "queued"  // no partition has begun
	JobRunning JobState = "running" // one has
	JobDone    JobState = "done"    // proved, failed or cancelled
)

// Progress is how far a job is. Numbers never fall.
type Progress struct {
	State                JobState
	Partitions, Finished int
	// Done of Total units of work are done. Total is the same from the start.
	Done, Total uint64
	// Waited is how long the job has waited, or did, for its first partition to begin.
	Waited time.Duration
}

// partitionUnits are the units of work of a partition in Progress.
const partitionUnits = 1000

func newJob(ctx context.Context, e *Engine, t Task, w *work, k *kind, o *JobOptions) *Job {
	n := len(w.circuits)
	j := &Job{
		engine: e, kind: t.kind, class: t.class, of: k, work: w, since: time.Now(), parts: make([]partition, n),
		left: n, reached: make([]uint64, n), done: make(chan struct{}),
		result: &Result{Proofs: make([]groth16.Proof, n), Partitions: make([]PartitionReport, n)},
		shown:  Progress{State: JobQueued, Partitions: n, Total: uint64(n) * partitionUnits},
	}
	if o != nil {
		j.opts = *o
	}
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	for i := range j.parts {
		j.parts[i] = partition{
			job: j, index: i, circuit: w.circuits[i], waiting: j.since,
			report: &j.result.Partitions[i], proof: &j.result.Proofs[i],
		}
	}
	return j
}

// ID is the job's number in its Engine, from 1 on.
func (j *Job) ID() uint64 { return j.id }

// Wait returns the result when the job is done. If partitions failed, the result is not nil and holds the good proofs,
// and the error joins a *[PartitionError] for each bad one. If ctx ends first, the result is nil, the error
// context.Cause(ctx), and the job goes on.
func (j *Job) Wait(ctx context.Context) (*Result, error) {
	select {
	case <-j.done:
	case <-ctx.Done():
		select {
		case <-j.done:
		default:
			return nil, context.Cause(ctx)
		}
	}
	return j.result, j.err
}

// Done is closed when the job is done.
func (j *Job) Done() <-chan struct{} { return j.done }

// Cancel ends the job within a second; its open partitions fail with ErrCancelled. It does not wait and may be called at
// any time.
func (j *Job) Cancel() { j.cancel(ErrCancelled) }

// Progress is how far the job is now.
func (j *Job) Progress() Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.shown
	if p.State == JobQueued {
		p.Waited = time.Since(j.since)
	}
	return p
}

// begin notes that a partition has begun.
func (j *Job) begin() {
	j.change(func() {
		if j.shown.State == JobQueued {
			j.shown.State, j.shown.Waited = JobRunning, time.Since(j.since)
		}
	})
}

// advance sets how much of a partition is done. An attempt that begins anew takes nothing back.
func (j *Job) advance(p *partition, done, total uint64) {
	if total == 0 {
		return
	}
	units := uint64(float64(partitionUnits) * float64(done) / float64(total))
	j.change(func() { j.reach(p, units) })
}

// reach counts what a partition has done. The caller holds the lock.
func (j *Job) reach(p *partition, units uint64) {
	if units > j.reached[p.index] {
		j.shown.Done += units - j.reached[p.index]
		j.reached[p.index] = units
	}
}

// change does something to the progress, and tells the caller's function if that has made it another. When it returns, the
// function has heard of the change and, after the last one, is not called again.
func (j *Job) change(do func()) {
	j.mu.Lock()
	do()
	j.mu.Unlock()
	if j.opts.Progress == nil {
		return
	}
	j.telling.Lock()
	defer j.telling.Unlock()
	j.mu.Lock()
	now := j.shown
	j.mu.Unlock()
	if now == j.told { // somebody has told it with a change of his own
		return
	}
	j.told = now
	err := parallel.Apart(func() error {
		j.opts.Progress(now)
		return nil
	})
	if err != nil {
		j.engine.log.Error("progress function", "job", j.id, "err", err)
	}
}

// finish counts a partition that has ended, and tells whether it was the last one.
func (j *Job) finish(p *partition) (last bool) {
	j.change(func() {
		j.left--
		j.shown.Finished++
		j.reach(p, partitionUnits)
		if last = j.left == 0; !last {
			return
		}
		if j.shown.State == JobQueued {
			j.shown.Waited = time.Since(j.since)
		}
		j.shown.State = JobDone
	})
	return last
}

// end makes the job's error of its partitions' and lets those who wait go. It is called once, after the last finish.
func (j *Job) end() {
	var errs []error
	for i := range j.result.Partitions {
		if r := &j.result.Partitions[i]; r.Err != nil {
			errs = append(errs, &PartitionError{
				Circuit: j.of.name, Partition: i, Partitions: len(j.parts), Attempts: r.Attempts, Err: r.Err,
			})
		}
	}
	j.err = errors.Join(errs...)
	j.cut = j.ctx.Err() != nil
	j.work = nil
	close(j.done)
	j.forget()
	j.cancel(nil)
}
