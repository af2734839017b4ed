package cuzk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/queue"
)

// worker has one partition of a card in work at a time.
type worker struct {
	engine  *Engine
	card    *card
	number  int
	express bool // takes only WinningPoSt and WindowPoSt, so that these begin at once on a busy card
}

// start starts the workers of a card. The caller holds Engine.mu, or nobody else has the Engine yet.
func (e *Engine) start(c *card) {
	for i := range c.workers + 1 {
		w := &worker{engine: e, card: c, number: i, express: i == c.workers}
		e.running.Add(1)
		c.running.Go(func() {
			defer e.running.Done()
			w.run()
		})
	}
}

func (w *worker) run() {
	for p := w.engine.next(w); p != nil; p = w.engine.next(w) {
		p.job.begin()
		start := time.Now()
		p.report.Queued += start.Sub(p.waiting)
		w.engine.options.Trace.span(w.span(p, PhaseQueue, traceQueue, p.waiting, start))
		loaded := p.report.Loaded
		err := parallel.Apart(func() error { return w.attempt(p) }) // hooks are the caller's code
		took := time.Since(start)
		p.report.Took += took
		if err == nil {
			p.job.of.times.add(took - (p.report.Loaded - loaded))
		}
		w.leave()
		w.engine.settle(w, p, err)
	}
}

// leave notes that the worker has no partition.
func (w *worker) leave() {
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	w.card.busy--
}

// attempt makes the proof of a partition. Everything that it takes is promised before: first the prover, then the host's
// memory, so that those who have the latter wait for nobody.
func (w *worker) attempt(p *partition) error {
	j, e := p.job, w.engine
	*p.report = PartitionReport{
		PartitionReport: groth16.PartitionReport{Attempts: p.faults + 1, Device: w.card.device.Info(), Backend: w.card.backend},
		Queued:          p.report.Queued, Loaded: p.report.Loaded, Took: p.report.Took, Fault: p.report.Fault,
	}
	p.failed = ""
	if j.ctx.Err() != nil {
		return context.Cause(j.ctx)
	}
	need := j.of.needs[w.card.index]
	o := w.observe(p)
	o.start(PhaseLoad)
	b, err := w.card.shelf.acquire(j.ctx, j.of, j.class, need)
	if err == nil {
		defer w.card.shelf.release(b)
	}
	o.end(PhaseLoad, err)
	p.report.Loaded += o.ended[PhaseLoad].Sub(o.begun)
	if err != nil {
		return err
	}
	if err := e.host.take(j.ctx, need.HostBytes, j.class); err != nil {
		return err
	}
	defer e.options.Trace.memory(w.card.device)
	defer e.host.giveBack(need.HostBytes)
	e.options.Trace.memory(w.card.device)
	if j.opts.Check {
		if err := j.work.check(j.ctx, p.index); err != nil {
			return err
		}
	}
	return w.explain(p, w.prove(p, b.prover, o))
}

// prove makes and verifies the proof.
func (w *worker) prove(p *partition, prover groth16.Prover, o *observation) error {
	r, err := prover.Prove(p.job.ctx, []circuits.Circuit{p.circuit}, &groth16.ProveOptions{
		Check: p.job.opts.Check, Priority: priority(p.job.class), Hooks: o.hooks(),
	})
	if r == nil {
		return err
	}
	made := &r.Partitions[0]
	p.report.Device, p.report.Backend, p.report.Stats = made.Device, made.Backend, made.Stats
	*p.proof = r.Proofs[0]
	o.gpuSpans()
	return made.Err
}

// explain finds out why there is no valid proof: what is wrong with the statement by the native check or, if nothing is,
// that the device is at fault.
func (w *worker) explain(p *partition, err error) error {
	wrong := errors.Is(err, groth16.ErrInvalidProof)
	if !wrong && !errors.Is(err, groth16.ErrUnsatisfied) && !errors.Is(err, groth16.ErrStatement) {
		return err
	}
	check, checked := p.job.work.check(p.job.ctx, p.index), p.job.work.native
	switch {
	case check != nil && p.job.ctx.Err() == nil:
		return fmt.Errorf("%w: %w", check, err)
	case check == nil && wrong && checked:
		return fmt.Errorf("%w: %w", ErrUnsound, err)
	}
	return err
}

// priority is what groth16 calls the class.
func priority(c queue.Class) int { return int(queue.Rest - c) }
