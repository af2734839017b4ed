package main

import (
	"context"
	"errors"
	"log"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gocuzk/cuzk"
)

// concurrentJobs are decoded and not yet done: enough to keep GPUs busy, and a bound for memory.
const concurrentJobs = 4

// job is what other parts of a node send to be proved.
type job struct {
	name string
	task cuzk.Task
	err  error // there is no task
}

// node proves jobs.
type node struct {
	engine          *cuzk.Engine
	proofs, remarks *log.Logger
	failed          atomic.Int64 // jobs
}

// run opens the Engine, proves jobs until there are no more or ctx ends, and gives everything back.
func (n *node) run(ctx context.Context, o *cuzk.Options, jobs <-chan job) (err error) {
	if n.engine, err = cuzk.Open(ctx, o); err != nil {
		return err
	}
	n.serve(ctx, jobs)
	return errors.Join(context.Cause(ctx), n.engine.Close(context.Background()))
}

// serve proves jobs, and when it ends waits for those it has begun, which end with ctx too.
func (n *node) serve(ctx context.Context, jobs <-chan job) {
	var running errgroup.Group
	running.SetLimit(concurrentJobs)
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case j, ok := <-jobs:
			if !ok {
				return
			}
			running.Go(func() error {
				if err := n.prove(ctx, j); err != nil {
					n.failed.Add(1)
					n.remarks.Printf("%s: %v", j.name, err)
				}
				return nil
			})
		}
	}
}

// prove submits a job, prints how far it is, and prints the proof.
func (n *node) prove(ctx context.Context, j job) error {
	if j.err != nil {
		return j.err
	}
	last := uint64(0)
	submitted, err := n.engine.Submit(ctx, j.task, &cuzk.JobOptions{Progress: func(p cuzk.Progress) {
		if tenths := 10 * p.Done / p.Total; tenths > last {
			n.remarks.Printf("%s: %d %%, %d of %d partitions", j.name, 10*tenths, p.Finished, p.Partitions)
			last = tenths
		}
	}})
	if err != nil {
		return err
	}
	result, err := submitted.Wait(context.Background()) // the job ends with ctx
	if err == nil {
		n.proofs.Printf("%s %x", j.name, result.Bytes())
	}
	return err
}
