package cuzk

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/queue"
)

// tally is what an Engine has done so far. It is under Engine.mu.
type tally struct {
	kinds    map[string]*JobStats
	circuits map[string]*PartitionStats
	phases   map[string]map[groth16.Phase]*PhaseStats // by circuit
}

func entry[K comparable, V any](m *map[K]*V, key K, zero V) *V {
	if *m == nil {
		*m = map[K]*V{}
	}
	if (*m)[key] == nil {
		(*m)[key] = &zero
	}
	return (*m)[key]
}

func (t *tally) kind(kind string) *JobStats { return entry(&t.kinds, kind, JobStats{Kind: kind}) }

func (t *tally) circuit(name string) *PartitionStats {
	return entry(&t.circuits, name, PartitionStats{Circuit: name})
}

// job counts a job that has ended.
func (t *tally) job(j *Job) {
	k := t.kind(j.kind)
	switch {
	case j.err == nil:
		k.Done++
	case j.cut:
		k.Cancelled++
	default:
		k.Failed++
	}
}

// phaseOrder is the order in which a partition goes through the phases.
func phaseOrder() []groth16.Phase {
	return []groth16.Phase{PhaseQueue, PhaseLoad, groth16.PhaseWitness, groth16.PhaseAssign, groth16.PhaseQuotient,
		groth16.PhaseSums, groth16.PhaseAssemble, groth16.PhaseVerify}
}

// partition counts a partition that has ended, and its phases if there is a proof.
func (t *tally) partition(name string, r *PartitionReport) {
	c := t.circuit(name)
	if r.Err != nil {
		c.Failed++
		return
	}
	c.Done++
	s := &r.Stats
	wall := map[groth16.Phase]time.Duration{
		PhaseQueue: r.Queued, PhaseLoad: r.Loaded, groth16.PhaseWitness: s.Witness,
		groth16.PhaseAssign: s.Assign, groth16.PhaseQuotient: s.Quotient, groth16.PhaseSums: s.Sums,
		groth16.PhaseAssemble: s.Assemble, groth16.PhaseVerify: s.Verify,
	}
	gpu := map[groth16.Phase]time.Duration{
		groth16.PhaseAssign: s.Device.Assign, groth16.PhaseQuotient: s.Device.Quotient, groth16.PhaseSums: s.Device.Sums,
	}
	if t.phases == nil {
		t.phases = map[string]map[groth16.Phase]*PhaseStats{}
	}
	phases := t.phases[name]
	for phase, d := range wall {
		p := entry(&phases, phase, PhaseStats{Circuit: name, Phase: phase})
		p.Count++
		p.Sum += d
		p.DeviceSum += gpu[phase]
	}
	t.phases[name] = phases
}

// Stats is a snapshot of what the Engine does and has done. After Close it is the last one.
func (e *Engine) Stats() Stats {
	s := Stats{Time: time.Now(), Opened: e.opened, HostLimitBytes: e.host.limit}
	s.HostPromisedBytes, s.HostPeakBytes = e.host.books()
	devices := make([]device.Stats, len(e.cards))
	for i, c := range e.cards { // asks drivers, which may take its time
		devices[i] = c.device.Stats()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.countJobs(&s)
	for c := range queue.Classes {
		q := QueueStats{Class: c.String(), Jobs: e.queue.Jobs(c)}
		var oldest time.Time
		if q.Partitions, oldest = e.queue.Partitions(c); q.Partitions > 0 {
			q.OldestWait = s.Time.Sub(oldest)
		}
		s.Queues = append(s.Queues, q)
	}
	for _, name := range slices.Sorted(maps.Keys(e.tally.circuits)) {
		s.Partitions = append(s.Partitions, *e.tally.circuits[name])
		for _, phase := range phaseOrder() {
			if p := e.tally.phases[name][phase]; p != nil {
				s.Phases = append(s.Phases, *p)
			}
		}
	}
	for i, c := range e.cards {
		if !c.standby {
			s.Devices = append(s.Devices, c.stats(devices[i]))
		}
	}
	return s
}

// countJobs adds those that are at it to those that have ended. The caller holds the lock.
func (e *Engine) countJobs(s *Stats) {
	now := map[string]*JobStats{}
	for kind, k := range e.tally.kinds {
		now[kind] = entry(&now, kind, *k)
	}
	for _, j := range e.jobs {
		k := entry(&now, j.kind, JobStats{Kind: j.kind})
		if j.Progress().State == JobQueued {
			k.Queued++
		} else {
			k.Running++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(now)) {
		s.Jobs = append(s.Jobs, *now[kind])
	}
}

// stats is the card's part of a snapshot. The caller holds Engine.mu.
func (c *card) stats(now device.Stats) DeviceStats {
	d := DeviceStats{
		Info: c.device.Info(), Stats: now, OnlyWinning: c.onlyWinning, Workers: c.workers + 1, Busy: c.busy,
		Done: c.done, Failed: c.failed, Keys: c.shelf.keys(),
	}
	if c.lost != nil && d.Stats.Cause == nil {
		d.Stats.Lost, d.Stats.Cause = true, c.lost
	}
	return d
}

// keys are the provers on the shelf, by circuit.
func (s *shelf) keys() (all []KeyStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.books {
		if b.state != bookReady {
			continue
		}
		k := KeyStats{Circuit: b.kind.name, Bytes: b.bytes, Users: b.users, LastUse: b.used}
		if s.limit == 0 {
			k.Bytes = b.kind.key.Bytes()
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b KeyStats) int { return cmp.Compare(a.Circuit, b.Circuit) })
	return all
}
