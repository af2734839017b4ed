package cuzk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/queue"
)

// enqueue lets a job wait for workers, or refuses it.
func (e *Engine) enqueue(j *Job) (*Job, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.admit(j)
	if err == nil {
		err = e.queue.Add(j.ticket())
		if errors.Is(err, queue.ErrFull) {
			err = fmt.Errorf("%w: %d jobs of class %v wait", ErrBusy, e.options.QueueLimit, j.class)
		}
	}
	if err != nil {
		j.cancel(nil)
		return nil, err
	}
	e.jobs[j.id] = j
	j.forget = context.AfterFunc(j.ctx, func() { e.drop(j) })
	e.wake.Broadcast()
	return j, nil
}

// ticket is the job for the queue.
func (j *Job) ticket() queue.Job {
	return queue.Job{ID: j.id, Class: j.class, Circuit: j.of.name, Partitions: len(j.parts), Not: j.not, Since: j.since}
}

// admit numbers a job that some device can do. The caller holds the lock.
func (e *Engine) admit(j *Job) error {
	if e.closing {
		return ErrClosed
	}
	var lost error
	fitting, workers := false, 0
	for i, c := range e.cards {
		need := &j.of.needs[i]
		fits := need.Fits() && need.HostBytes <= e.host.limit
		if !fits {
			j.not = j.not.With(i)
		}
		switch {
		case c.standby:
		case c.lost != nil:
			lost = errors.Join(lost, c.lost)
		case fits:
			fitting = true
			if c.place().Takes(j.class) {
				workers += c.workers
			}
		}
	}
	switch {
	case workers > 0:
	case lost != nil:
		return lost
	case fitting:
		return fmt.Errorf("%w: every device is reserved for WinningPoSt", ErrTask)
	default:
		return &MemoryError{Need: j.of.need(e.cards), HostLimitBytes: e.host.limit}
	}
	if err := j.late(workers); err != nil {
		return err
	}
	e.numbers++
	j.id = e.numbers
	return nil
}

// late is an error if the job asks for one when its deadline can't be met by so many workers.
func (j *Job) late(workers int) error {
	deadline, ok := j.ctx.Deadline()
	usual := j.of.times.median()
	if !j.opts.RefuseLate || !ok || usual == 0 {
		return nil
	}
	rounds := (len(j.parts) + workers - 1) / workers
	if left := time.Until(deadline); left < time.Duration(rounds)*usual {
		return fmt.Errorf("%w: %d partitions of %s take %v with %d workers, %v are left",
			ErrLate, len(j.parts), j.of.name, time.Duration(rounds)*usual, workers, left)
	}
	return nil
}

// place is a worker of the card for the queue.
func (c *card) place() queue.Worker {
	return queue.Worker{Card: c.index, OnlyWinning: c.onlyWinning, Busy: c.busy}
}

// places are the cards that work. The caller holds the lock.
func (e *Engine) places() (all []queue.Worker) {
	for _, c := range e.cards {
		if c.lost == nil && !c.standby {
			all = append(all, c.place())
		}
	}
	return all
}

// place is the worker for the queue.
func (w *worker) place() queue.Worker {
	p := w.card.place()
	p.Express = w.express
	p.Cost = func(circuit string) int {
		return w.card.shelf.cost(circuit, w.engine.kinds.get(circuit).needs[w.card.index])
	}
	return p
}

// next waits for a partition for w. It is nil when the worker has to go.
func (e *Engine) next(w *worker) *partition {
	e.mu.Lock()
	defer e.mu.Unlock()
	for !e.ended && w.card.lost == nil {
		var idle []queue.Worker
		for _, o := range e.idle {
			if o.card.lost == nil {
				idle = append(idle, o.place())
			}
		}
		item, ok := e.queue.Next(time.Now(), w.place(), idle)
		if ok {
			w.card.busy++
			if e.queue.Len() > 0 { // what others left to this worker is to be taken by them
				e.wake.Broadcast()
			}
			return &e.jobs[item.Job].parts[item.Partition]
		}
		e.idle = append(e.idle, w)
		e.wake.Wait()
		e.idle = slices.DeleteFunc(e.idle, func(o *worker) bool { return o == w })
	}
	return nil
}

// settle decides what becomes of a partition after an attempt.
func (e *Engine) settle(w *worker, p *partition, err error) {
	if err != nil && e.blamed(w.card, p, err) && e.retry(w.card, p, err) {
		w.card.log.Warn("partition is tried again", "job", p.job.id, "circuit", p.job.of.name, "partition", p.index, "err", err)
		return
	}
	e.finish(w.card, p, err)
}

// blamed tells whether it was the device's fault that an attempt failed. A device that is gone is taken out; one that was short
// of memory gives up what nobody uses. Errors that the caller can have made are not the device's: those of circuits, and causes
// of contexts.
func (e *Engine) blamed(c *card, p *partition, err error) bool {
	if e.loseIfGone(c) {
		return true
	}
	if p.job.ctx.Err() != nil || p.failed == groth16.PhaseWitness {
		return false
	}
	short := errors.Is(err, device.ErrMemory)
	if short {
		c.shelf.evictIdle()
	}
	return short || errors.Is(err, ErrUnsound)
}

// retry lets a partition wait once more after a fault of a card: for the others or, if it was short of memory and there
// is no other, for the same.
func (e *Engine) retry(c *card, p *partition, fault error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := p.job
	if p.faults > 0 || j.ctx.Err() != nil {
		return false
	}
	elsewhere := j.not.With(c.index)
	takes := func(not queue.Cards) bool {
		return slices.ContainsFunc(e.places(), func(w queue.Worker) bool { return w.Takes(j.class) && !not.Has(w.Card) })
	}
	if !takes(elsewhere) {
		if !errors.Is(fault, device.ErrMemory) || !takes(j.not) {
			return false
		}
		elsewhere = j.not
	}
	p.faults++
	p.report.Fault, p.waiting = fault, time.Now()
	e.tally.circuit(j.of.name).Retried++
	e.options.Trace.instant(span{
		Name: "retry", Category: traceHost, Device: c.device.Info(), Job: j.id, Circuit: j.of.name, Partition: p.index,
		Start: p.waiting, Err: fault,
	})
	e.queue.Return(j.ticket(), p.index, elsewhere)
	e.wake.Broadcast()
	return true
}

// loseIfGone takes a card out if its device can do nothing more, and tells whether it is out.
func (e *Engine) loseIfGone(c *card) bool {
	cause := c.gone()
	if cause != nil {
		e.lose(c, cause)
	}
	return cause != nil
}

// lose takes a card out. What only it could have done fails with the reason.
func (e *Engine) lose(c *card, cause error) {
	e.mu.Lock()
	if c.lost != nil {
		e.mu.Unlock()
		return
	}
	c.lost = cause
	e.options.Trace.instant(span{
		Name: "device lost", Category: traceHost, Device: c.device.Info(), Start: time.Now(), Err: cause,
	})
	c.shelf.fail(cause)
	e.running.Go(func() {
		c.running.Wait()
		c.shelf.evictIdle()
	})
	fallback := len(e.places()) == 0 && e.fallBack()
	orphans := e.parts(e.queue.Orphans(e.places()))
	e.wake.Broadcast()
	e.mu.Unlock()
	c.log.Warn("device lost", "err", cause)
	if fallback {
		e.log.Warn("no GPU is left, working on the processor")
	}
	for _, p := range orphans {
		e.finish(nil, p, cause)
	}
}

// fallBack puts the processor to work if it stands by, and tells whether it did. The caller holds the lock.
func (e *Engine) fallBack() (did bool) {
	for _, c := range e.cards {
		if c.standby {
			c.standby, did = false, true
			e.start(c)
		}
	}
	return did
}

// parts are the partitions of items. The caller holds the lock.
func (e *Engine) parts(items []queue.Item) (all []*partition) {
	for _, i := range items {
		all = append(all, &e.jobs[i.Job].parts[i.Partition])
	}
	return all
}

// drop ends what waits of a job whose context has ended.
func (e *Engine) drop(j *Job) {
	e.mu.Lock()
	waiting := e.queue.Remove(j.id)
	e.mu.Unlock()
	for _, k := range waiting {
		e.finish(nil, &j.parts[k], context.Cause(j.ctx))
	}
}

// finish ends a partition that a card, or none, has had. It is counted before anybody can see that it has ended.
func (e *Engine) finish(c *card, p *partition, err error) {
	j := p.job
	p.end(err)
	e.mu.Lock()
	e.tally.partition(j.of.name, p.report)
	if c != nil && err == nil {
		c.done++
	} else if c != nil {
		c.failed++
	}
	e.mu.Unlock()
	if !j.finish(p) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.jobs, j.id)
	j.end()
	e.tally.job(j)
	if e.closing && len(e.jobs) == 0 {
		close(e.quiet)
	}
}
