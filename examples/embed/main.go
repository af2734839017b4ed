// Command embed is a node in small: an Engine for the whole life of the process, and jobs that come over a channel.
//
//	embed --params DIR [--test-keys] [--backend auto|cpu|gpu] [--cache DIR]
//
// It reads names of files with phase-1 outputs (C1) from standard input, one a line, proves them on all GPUs, and prints
// each file's name with its proof, verified, as hexadecimal digits; remarks and progress go to standard error. At the end
// of the input it ends when all proofs are made. An interrupt ends it within about a second: open jobs are cancelled. It
// exits with 0 if every line had its proof, with 1 if not, and with 2 on wrong arguments.
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/gocuzk/cuzk"
)

// concurrentJobs are decoded and not yet done: enough to keep GPUs busy, and a bound for memory.
const concurrentJobs = 4

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

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

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	options, code := parse(args, stderr)
	if options == nil {
		return code
	}
	n := &node{proofs: log.New(stdout, "", 0), remarks: log.New(stderr, "embed: ", 0)}
	var err error
	if n.engine, err = cuzk.Open(ctx, options); err != nil {
		n.remarks.Print(err)
		return exitFailed
	}
	jobs := make(chan job)
	go read(ctx, stdin, jobs)
	n.serve(ctx, jobs)
	if err = errors.Join(context.Cause(ctx), n.engine.Close(context.Background())); err != nil {
		n.remarks.Print("ended early: ", err)
	}
	if failed := n.failed.Load(); err != nil || failed > 0 {
		n.remarks.Printf("jobs without proof: %d", failed)
		return exitFailed
	}
	return exitOK
}

// serve proves jobs until there are no more or ctx ends, and waits for those it has begun, which end with ctx too.
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
				n.report(j.name, n.prove(ctx, j))
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

// report counts and prints a failure.
func (n *node) report(name string, err error) {
	if err != nil {
		n.failed.Add(1)
		n.remarks.Printf("%s: %v", name, err)
	}
}
