package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gocuzk/cuzk"
)

// fleetRun is one measurement of a fleetJob. Its fields are filled by several goroutines.
type fleetRun struct {
	job *fleetJob
	fleetCase
	engines []*cuzk.Engine
	busy    []*busyWorkers // by engine

	mu       sync.Mutex
	numbers  uint64 // of jobs that were begun
	arrivals uint64 // of urgent jobs
	counts   fleetCounts
	urgent   fleetCounts
	waits    []time.Duration // of urgent jobs, from submission to verified proof
	onGPU    time.Duration   // all phases by the GPU's clock
	used     []*fleetDevice
}

// measure proves all jobs. Failed ones are in the line; the error is about something else.
func (j *fleetJob) measure(ctx context.Context, c fleetCase) (_ *fleetLine, err error) {
	r := &fleetRun{job: j, fleetCase: c}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	stopSampling := background(samplePeriod, r.sample)
	defer stopSampling()
	if err := r.warm(ctx); err != nil {
		return nil, err
	}
	for _, b := range r.busy {
		b.start()
	}
	start := time.Now()
	stopArrivals := func() {}
	if j.urgent != nil {
		stopArrivals = background(j.every, func() { r.proveUrgent(ctx) })
	}
	r.proveAll(ctx, start)
	took := time.Since(start)
	stopArrivals()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	stopSampling()
	return r.figures(took), nil
}

// open opens the Engines.
func (r *fleetRun) open(ctx context.Context) error {
	j := r.job
	o := cuzk.Options{
		Params: cuzk.TestParamsFolder(j.paramsDir()), Cache: j.cache, Backend: j.backend, Workers: r.workers, Trace: j.trace,
		Devices: r.devices,
	}
	for range j.engines {
		b := new(busyWorkers)
		o.Hooks = b.hooks()
		e, err := cuzk.Open(ctx, &o)
		if err != nil {
			return err
		}
		r.engines, r.busy = append(r.engines, e), append(r.busy, b)
	}
	return nil
}

// close closes the Engines; jobs that are left end with ctx.
func (r *fleetRun) close(ctx context.Context) error {
	var errs []error
	for _, e := range r.engines {
		errs = append(errs, e.Close(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// warm loads all keys on all devices, the urgent one's first. A circuit that only jobs can name is proved once before.
func (r *fleetRun) warm(ctx context.Context) error {
	for _, e := range r.engines {
		for _, i := range r.job.all() {
			err := e.Preload(ctx, "", i.name())
			if errors.Is(err, cuzk.ErrCircuit) {
				if _, err = prove(ctx, e, i.task(0)); err == nil {
					err = e.Preload(ctx, "", i.name())
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func prove(ctx context.Context, e *cuzk.Engine, t cuzk.Task) (*cuzk.Result, error) {
	j, err := e.Submit(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	return j.Wait(ctx)
}

// background calls f at once and then in every period, without waiting for it, until stop is called, which waits for all
// calls and may be called twice.
func background(period time.Duration, f func()) (stop func()) {
	var calls sync.WaitGroup
	end := make(chan struct{})
	calls.Go(func() {
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			calls.Go(f)
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		calls.Wait()
	})
}

// clients are how many jobs for a device are in work or wait beside those that its workers have.
const clients = 2

// proveAll proves the jobs, on all Engines at a time.
func (r *fleetRun) proveAll(ctx context.Context, start time.Time) {
	var wg sync.WaitGroup
	for _, e := range r.engines {
		for range (r.workers + clients) * len(e.Stats().Devices) {
			wg.Go(func() {
				for {
					n, ok := r.next(ctx, start)
					if !ok {
						return
					}
					items := r.job.items
					result, err := prove(ctx, e, items[n%uint64(len(items))].task(n))
					r.note(&r.counts, result, err)
				}
			})
		}
	}
	wg.Wait()
}

// next numbers the next job if there is one: there is none when all are begun, the time is over or too many have failed.
func (r *fleetRun) next(ctx context.Context, start time.Time) (n uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	over := r.numbers >= uint64(r.job.jobs)
	if r.job.minutes > 0 {
		over = time.Since(start).Minutes() >= r.job.minutes
	}
	if over || ctx.Err() != nil || r.counts.FailedJobs >= maxFailures {
		return 0, false
	}
	r.numbers++
	return r.numbers - 1, true
}

// maxFailures is how many failed jobs end a run.
const maxFailures = 10

// note counts a job that has ended.
func (r *fleetRun) note(c *fleetCounts, result *cuzk.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onGPU += c.add(result, err)
	if result != nil {
		for i := range result.Partitions {
			r.credit(&result.Partitions[i])
		}
	}
	if err != nil {
		r.job.e.notef("failed: %v", err)
	}
}

// proveUrgent proves one urgent job, on the Engines by turns.
func (r *fleetRun) proveUrgent(ctx context.Context) {
	r.mu.Lock()
	n := r.arrivals
	r.arrivals++
	r.mu.Unlock()
	submitted := time.Now()
	result, err := prove(ctx, r.engines[n%uint64(len(r.engines))], r.job.urgent.task(n))
	waited := time.Since(submitted)
	r.note(&r.urgent, result, err)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waits = append(r.waits, waited)
	}
}
