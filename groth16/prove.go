package groth16

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/nilvalue"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/urgency"
	"github.com/gocuzk/cuzk/pce"
)

// Prove implements Prover.
func (p *prover) Prove(ctx context.Context, c []circuits.Circuit, o *ProveOptions) (*Result, error) {
	if o == nil {
		o = &ProveOptions{}
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return nil, fmt.Errorf("groth16: prove: %w", device.ErrClosed)
	}
	if o.Priority != 0 {
		ctx = urgency.With(ctx, o.Priority)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.running, func() { cancel(context.Cause(p.running)) })()

	var names []string
	err := parallel.Guard(func() (err error) { // circuits are the caller's code
		names, err = namesOf(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	j := newJob(p, c, names, o)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		j.run(ctx)
	}()
	defer func() {
		// Only after a hook has panicked there is something to wait for.
		cancel(nil)
		j.observer.discard(finished)
	}()
	j.observer.serve(finished)
	return j.result, j.err()
}

// namesOf are the names of circuits, which are asked once. It refuses a list without circuits, or with one that is nil or a
// nil pointer.
func namesOf(c []circuits.Circuit) ([]string, error) {
	if len(c) == 0 {
		return nil, ErrEmpty
	}
	names := make([]string, len(c))
	for i := range c {
		if nilvalue.Is(c[i]) {
			return nil, fmt.Errorf("groth16: prove: circuit %d is nil", i)
		}
		names[i] = c[i].Name()
	}
	return names, nil
}

// job is one call of Prove.
type job struct {
	*prover
	check    bool
	parts    []part
	result   *Result
	observer *observer
}

// part is one statement on its way to a proof. Steps that come later see nothing of one that has failed.
type part struct {
	circuit circuits.Circuit
	name    string // of the circuit
	index   int
	inputs  []fr.Element // public inputs without ONE, from the statement
	witness *pce.Witness
	rows    *pce.Rows // nil if the engine evaluates them
	proof   *Proof
	report  *PartitionReport
}

func newJob(p *prover, c []circuits.Circuit, names []string, o *ProveOptions) *job {
	j := &job{
		prover: p, check: o.Check, parts: make([]part, len(c)),
		result:   &Result{Proofs: make([]Proof, len(c)), Partitions: make([]PartitionReport, len(c))},
		observer: newObserver(o, p.loaded.Work()*uint64(len(c))),
	}
	for i := range c {
		report := &j.result.Partitions[i]
		*report = PartitionReport{Device: p.backend.device.Info(), Backend: p.backend.kind}
		j.parts[i] = part{circuit: c[i], name: names[i], index: i, proof: &j.result.Proofs[i], report: report}
	}
	return j
}

// run proves the partitions one after another. While one is proved the witness of the next is made.
func (j *job) run(ctx context.Context) {
	ready := make(chan *part)
	go func() {
		defer close(ready)
		for i := range j.parts {
			j.attempt(&j.parts[i], func(x *part) error { return j.synthesize(ctx, x) })
			ready <- &j.parts[i]
		}
	}()
	for x := range ready {
		j.attempt(x, func(x *part) error { return j.prove(ctx, x) })
		x.witness, x.rows = nil, nil
	}
	j.verify(ctx)
	for i := range j.parts {
		if x := &j.parts[i]; x.report.Err != nil {
			*x.proof = Proof{}
		}
	}
}

// attempt does a step of a partition that has not failed yet and keeps its error.
func (j *job) attempt(x *part, step func(*part) error) {
	if x.report.Err == nil {
		x.report.Err = device.Err(parallel.Apart(func() error { return step(x) }))
	}
}

// synthesize makes the witness and compares what it says with the statement.
func (j *job) synthesize(ctx context.Context, x *part) error {
	x.report.Attempts = 1
	return j.phase(x, PhaseWitness, &x.report.Stats.Witness, func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if j.system != nil && x.name != j.system.Name() {
			return fmt.Errorf("%w: circuit %s, prover of %s", ErrLayout, x.name, j.system.Name())
		}
		var err error
		if x.inputs, err = x.circuit.PublicInputs(); err != nil {
			return fmt.Errorf("public inputs: %w", err)
		}
		if j.check {
			if err := pce.Check(ctx, x.circuit.Synthesize); err != nil {
				return err
			}
		}
		if err := j.makeWitness(ctx, x); err != nil {
			return err
		}
		return sameStatement(x.inputs, x.witness.Inputs[1:])
	})
}

func (j *job) makeWitness(ctx context.Context, x *part) (err error) {
	if !j.options.DisablePCE {
		x.witness, err = pce.MakeWitness(ctx, x.circuit.Synthesize, nil)
		return err
	}
	if x.witness, x.rows, err = pce.Direct(ctx, x.circuit.Synthesize); err != nil {
		return err
	}
	return match(j.key.key, x.name, x.rows.Layout)
}

// sameStatement returns a *StatementError for the first public input that differs.
func sameStatement(want, got []fr.Element) error {
	for i := range max(len(want), len(got)) {
		e := &StatementError{Index: i}
		if i < len(want) {
			e.Want = &want[i]
		}
		if i < len(got) {
			e.Got = &got[i]
		}
		if e.Want == nil || e.Got == nil || !e.Want.Equal(e.Got) {
			return e
		}
	}
	return nil
}

// prove goes from the witness to the proof.
func (j *job) prove(ctx context.Context, x *part) (err error) {
	var a engine.Assignment
	err = j.phase(x, PhaseAssign, &x.report.Stats.Assign, func() error {
		if x.rows != nil {
			a, err = j.loaded.AssignRows(ctx, x.witness, x.rows)
		} else {
			a, err = j.loaded.Assign(ctx, x.witness)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer a.Release()
	defer func() { x.report.Stats.Device = DeviceTimes(a.Times()) }()

	var h engine.Scalars
	err = j.phase(x, PhaseQuotient, &x.report.Stats.Quotient, func() error {
		h, err = j.loaded.Quotient(ctx, a, j.observer.add)
		return err
	})
	if err != nil {
		return err
	}
	defer h.Release()

	var sums *engine.PartialSums
	err = j.phase(x, PhaseSums, &x.report.Stats.Sums, func() error {
		sums, err = j.loaded.Sums(ctx, a, h, j.observer.add)
		return paramsError(err)
	})
	if err != nil {
		return err
	}
	return j.phase(x, PhaseAssemble, &x.report.Stats.Assemble, func() error {
		factors, err := draw(ctx, x.index)
		if err != nil {
			return err
		}
		*x.proof, err = assemble(j.key.key.VerifyingKey(), sums, factors)
		return err
	})
}

// verify checks all proofs against what the statements say, together, and one by one if that fails.
func (j *job) verify(ctx context.Context) {
	var made []*part
	var proofs []Proof
	var inputs [][]fr.Element
	for i := range j.parts {
		if x := &j.parts[i]; x.report.Err == nil {
			made, proofs, inputs = append(made, x), append(proofs, *x.proof), append(inputs, x.inputs)
		}
	}
	if len(made) == 0 {
		return
	}
	var took time.Duration
	info := PhaseInfo{Phase: PhaseVerify, Circuit: made[0].name, Partition: -1, Partitions: len(j.parts)}
	err := j.observer.phase(info, &took, func() error {
		return parallel.Guard(func() error { return VerifyBatch(ctx, j.key.vk, proofs, inputs, nil) })
	})
	for i, x := range made {
		x.report.Stats.Verify = took
		if err != nil {
			j.attempt(x, func(*part) error { return verifyAlone(ctx, j.key.vk, proofs[i], inputs[i]) })
		}
	}
}

func verifyAlone(ctx context.Context, vk *VerifyingKey, proof Proof, inputs []fr.Element) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return Verify(vk, proof, inputs)
}

func (j *job) phase(x *part, phase Phase, took *time.Duration, f func() error) error {
	info := PhaseInfo{Phase: phase, Circuit: x.name, Partition: x.index, Partitions: len(j.parts)}
	err := j.observer.phase(info, took, f)
	j.log.Debug("phase done", "phase", phase, "circuit", info.Circuit, "partition", x.index, "dur", *took, "err", err)
	return err
}

// err joins the errors of the partitions.
func (j *job) err() error {
	var errs []error
	for i := range j.parts {
		if x := &j.parts[i]; x.report.Err != nil {
			errs = append(errs, &PartitionError{Circuit: x.name, Partition: i, Err: x.report.Err})
		}
	}
	return errors.Join(errs...)
}
