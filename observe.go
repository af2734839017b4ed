package cuzk

import (
	"time"

	"github.com/gocuzk/cuzk/groth16"
)

// span is a span of a partition.
func (w *worker) span(p *partition, name groth16.Phase, category string, start, end time.Time) span {
	s := span{
		Name: string(name), Category: category, Worker: w.number, Job: p.job.id, Circuit: p.job.of.name, Partition: p.index,
		Start: start, Dur: end.Sub(start),
	}
	if category != traceQueue {
		s.Device = w.card.device.Info()
	}
	return s
}

// observation tells hooks, log and trace about an attempt. It is used by one goroutine.
type observation struct {
	w     *worker
	p     *partition
	begun time.Time
	ended map[groth16.Phase]time.Time
}

func (w *worker) observe(p *partition) *observation {
	return &observation{w: w, p: p, ended: map[groth16.Phase]time.Time{}}
}

func (o *observation) info(phase groth16.Phase) PhaseInfo {
	j := o.p.job
	return PhaseInfo{
		Phase: phase, Job: j.id, Circuit: j.of.name, Partition: o.p.index, Partitions: len(j.parts), Attempt: o.p.faults + 1,
		Device: o.w.card.device.Info(), Worker: o.w.number,
	}
}

// observers are the hooks of the Engine and of the job.
func (o *observation) observers() []*Hooks {
	return []*Hooks{o.w.engine.options.Hooks, o.p.job.opts.Hooks}
}

func (o *observation) start(phase groth16.Phase) {
	o.begun = time.Now()
	for _, h := range o.observers() {
		if h != nil && h.PhaseStart != nil {
			h.PhaseStart(o.info(phase))
		}
	}
}

func (o *observation) end(phase groth16.Phase, err error) {
	now := time.Now()
	o.ended[phase] = now
	if err != nil {
		o.p.failed = phase
	}
	s := o.w.span(o.p, phase, traceHost, o.begun, now)
	s.Err = err
	o.w.engine.options.Trace.span(s)
	o.w.card.log.Debug("phase done", "phase", phase, "job", o.p.job.id, "circuit", o.p.job.of.name, "partition", o.p.index,
		"dur", s.Dur, "err", err)
	for _, h := range o.observers() {
		if h != nil && h.PhaseEnd != nil {
			h.PhaseEnd(o.info(phase), err)
		}
	}
}

// hooks are those for the prover.
func (o *observation) hooks() *groth16.Hooks {
	return &groth16.Hooks{
		PhaseStart: func(i groth16.PhaseInfo) { o.start(i.Phase) },
		PhaseEnd:   func(i groth16.PhaseInfo, err error) { o.end(i.Phase, err) },
		Progress:   func(done, total uint64) { o.p.job.advance(o.p, done, total) },
	}
}

// gpuSpans adds what the GPU's own clock says to the trace: each phase ends on the GPU when it ends on the host.
func (o *observation) gpuSpans() {
	t := &o.p.report.Stats.Device
	for _, x := range []struct {
		phase groth16.Phase
		took  time.Duration
	}{{groth16.PhaseAssign, t.Assign}, {groth16.PhaseQuotient, t.Quotient}, {groth16.PhaseSums, t.Sums}} {
		if end := o.ended[x.phase]; x.took > 0 && !end.IsZero() {
			o.w.engine.options.Trace.span(o.w.span(o.p, x.phase, traceGPU, end.Add(-x.took), end))
		}
	}
}
