package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/device"
)

// fleetCounts counts jobs that have ended and their partitions. Proved partitions are verified.
type fleetCounts struct {
	Jobs             int `json:"jobs"`
	FailedJobs       int `json:"failed_jobs"`
	Partitions       int `json:"partitions"`
	FailedPartitions int `json:"failed_partitions"`
	Retried          int `json:"retried"` // attempts after a fault of a device
}

// add counts a job and returns what its proofs took by the GPU's clock. result may be nil.
func (c *fleetCounts) add(result *cuzk.Result, err error) (onGPU time.Duration) {
	c.Jobs++
	if err != nil {
		c.FailedJobs++
	}
	if result == nil {
		return 0
	}
	for i := range result.Partitions {
		p := &result.Partitions[i]
		c.Retried += max(p.Attempts-1, 0)
		if p.Err != nil {
			c.FailedPartitions++
			continue
		}
		c.Partitions++
		onGPU += onDevice(p)
	}
	return onGPU
}

// onDevice is how long a proof took by its GPU's clock.
func onDevice(p *cuzk.PartitionReport) time.Duration {
	return p.Stats.Device.Assign + p.Stats.Device.Quotient + p.Stats.Device.Sums
}

// fleetLine is what fleet prints for each number of workers.
type fleetLine struct {
	Circuits []string `json:"circuits"`
	Engines  int      `json:"engines"`
	Workers  int      `json:"workers"` // of each device in each Engine
	fleetCounts
	Seconds      float64        `json:"seconds"` // from the first submission to the last proof, with warm keys
	PerSecond    float64        `json:"partitions_per_second"`
	GPUShare     float64        `json:"gpu_share,omitempty"` // phases by the GPU's clock, of all devices, in Seconds
	Urgent       *fleetUrgent   `json:"winning,omitempty"`
	WorkersBusy  []fleetWorker  `json:"workers_busy"`
	Devices      []*fleetDevice `json:"devices"`
	PeakRSSBytes int64          `json:"peak_rss_bytes"` // of the process so far
}

// fleetUrgent is how WinningPoSts fared that arrived meanwhile: times from submission to verified proof, in milliseconds.
type fleetUrgent struct {
	Circuit string `json:"circuit"`
	fleetCounts
	MedianMS float64 `json:"median_ms"`
	P99MS    float64 `json:"p99_ms"`
	MaxMS    float64 `json:"max_ms"`
}

// fleetWorker is which part of the time a worker was in a phase of a proof, by the host's clock.
type fleetWorker struct {
	Engine int     `json:"engine"`
	Device int     `json:"device"` // its ordinal
	Worker int     `json:"worker"`
	Share  float64 `json:"share"`
}

// fleetDevice is what was proved on a device, and the most that was in use there, keys being loaded included.
type fleetDevice struct {
	Name             string  `json:"name"`
	UUID             string  `json:"uuid,omitempty"`
	Driver           string  `json:"driver,omitempty"`
	Partitions       int     `json:"partitions"`            // proved
	GPUSeconds       float64 `json:"gpu_seconds,omitempty"` // their phases by its clock
	PeakLeasedBytes  int64   `json:"peak_leased_bytes"`
	PeakProcessBytes int64   `json:"peak_process_bytes"` // as the driver sees the process, context and kernels included
	LimitBytes       int64   `json:"limit_bytes,omitempty"`
	Samples          int     `json:"samples"` // of what the driver sees
	Lost             bool    `json:"lost,omitempty"`
}

// samplePeriod is how often devices are asked.
const samplePeriod = 200 * time.Millisecond

// sample asks all devices.
func (r *fleetRun) sample() {
	for _, e := range r.engines {
		s := e.Stats()
		for i := range s.Devices {
			r.observe(s.Devices[i].Info, &s.Devices[i].Stats)
		}
	}
}

// observe notes what a device is used for at one moment.
func (r *fleetRun) observe(info device.Info, s *device.Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.of(info)
	d.Samples++
	d.PeakLeasedBytes = max(d.PeakLeasedBytes, s.PeakLeasedBytes)
	d.PeakProcessBytes = max(d.PeakProcessBytes, s.ProcessBytes)
	d.Lost = d.Lost || s.Lost
}

// credit counts a partition for the device that has proved it. The caller holds the lock.
func (r *fleetRun) credit(p *cuzk.PartitionReport) {
	if p.Err == nil {
		d := r.of(p.Device)
		d.Partitions++
		d.GPUSeconds += onDevice(p).Seconds()
	}
}

// of is what is counted of a device. The caller holds the lock.
func (r *fleetRun) of(info device.Info) *fleetDevice {
	i := slices.IndexFunc(r.used, func(d *fleetDevice) bool { return d.UUID == info.UUID })
	if i < 0 {
		i = len(r.used)
		r.used = append(r.used, &fleetDevice{
			Name: info.Name, UUID: info.UUID, Driver: info.Driver, LimitBytes: r.job.memoryMiB << 20,
		})
	}
	return r.used[i]
}

// figures are those of a run that has ended.
func (r *fleetRun) figures(took time.Duration) *fleetLine {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.job
	l := &fleetLine{
		Engines: j.engines, Workers: r.workers, fleetCounts: r.counts, Seconds: float64(took.Milliseconds()) / 1e3,
		PerSecond: float64(r.counts.Partitions) / took.Seconds(), GPUShare: r.onGPU.Seconds() / took.Seconds(),
		Devices: r.used, PeakRSSBytes: peakRSS(),
	}
	for _, i := range j.items {
		l.Circuits = append(l.Circuits, i.name())
	}
	for e, b := range r.busy {
		l.WorkersBusy = append(l.WorkersBusy, b.shares(e, took)...)
	}
	if j.urgent != nil {
		l.Urgent = newFleetUrgent(j.urgent.name(), r.urgent, r.waits)
	}
	return l
}

func newFleetUrgent(circuit string, counts fleetCounts, waits []time.Duration) *fleetUrgent {
	u := &fleetUrgent{Circuit: circuit, fleetCounts: counts}
	if len(waits) > 0 {
		slices.Sort(waits)
		u.MedianMS, u.P99MS = milliseconds(quantile(waits, 50)), milliseconds(quantile(waits, 99))
		u.MaxMS = milliseconds(waits[len(waits)-1])
	}
	return u
}

// quantile is the least of the sorted values that percent of 100 do not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[max((len(sorted)*percent+99)/100-1, 0)]
}

// fault is what must not happen in a run: a job that failed, an arrival included, a device that was lost, though others may
// have done its work, or more of a device in use than was allowed.
func (l *fleetLine) fault() error {
	var errs []error
	failed := l.FailedJobs
	if l.Urgent != nil {
		failed += l.Urgent.FailedJobs
	}
	if failed > 0 {
		errs = append(errs, fmt.Errorf("%d jobs failed", failed))
	}
	for _, d := range l.Devices {
		if d.Lost {
			errs = append(errs, fmt.Errorf("%s %s was lost", d.Name, d.UUID))
		}
		if d.LimitBytes > 0 && d.PeakProcessBytes > d.LimitBytes {
			errs = append(errs, fmt.Errorf("%s: %d bytes in use, %d allowed", d.Name, d.PeakProcessBytes, d.LimitBytes))
		}
	}
	return errors.Join(errs...)
}

// busyWorkers adds up how long each worker of an Engine is in a phase of a proof. Waiting for a key is none.
type busyWorkers struct {
	mu    sync.Mutex
	begun map[workerID]time.Time
	spent map[workerID]time.Duration
}

type workerID struct{ device, worker int } // the device's ordinal

// start forgets all that was.
func (b *busyWorkers) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun, b.spent = map[workerID]time.Time{}, map[workerID]time.Duration{}
}

// hooks are those that tell of the Engine's workers.
func (b *busyWorkers) hooks() *cuzk.Hooks {
	return &cuzk.Hooks{
		PhaseStart: func(i cuzk.PhaseInfo) { b.phase(i, true) },
		PhaseEnd:   func(i cuzk.PhaseInfo, _ error) { b.phase(i, false) },
	}
}

// phase notes that a phase begins or ends. A worker is in one at a time.
func (b *busyWorkers) phase(i cuzk.PhaseInfo, begins bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := workerID{i.Device.Ordinal, i.Worker}
	switch begun, ok := b.begun[id]; {
	case b.begun == nil || i.Phase == cuzk.PhaseLoad:
	case begins:
		b.begun[id] = time.Now()
	case ok:
		b.spent[id] += time.Since(begun)
		delete(b.begun, id)
	}
}

// shares are the parts of a time that workers were busy.
func (b *busyWorkers) shares(engine int, of time.Duration) (list []fleetWorker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	order := func(x, y workerID) int { return cmp.Or(x.device-y.device, x.worker-y.worker) }
	for _, id := range slices.SortedFunc(maps.Keys(b.spent), order) {
		list = append(list, fleetWorker{engine, id.device, id.worker, b.spent[id].Seconds() / of.Seconds()})
	}
	return list
}
