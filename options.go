package cuzk

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/nilvalue"
)

// Options tunes an Engine. The zero value of every field but Params means the default. Open copies it.
type Options struct {
	// Params is where proving keys come from, for instance [ParamsFolder]. It must be given.
	Params Params
	// Cache is the folder of constraint systems, which are recorded once for all processes. Empty is "cuzk" in the user's
	// cache folder.
	Cache string

	// Backend picks where proofs are made. The zero value is the GPUs, and the processor, with one warning, only where there
	// is no driver or no card.
	Backend groth16.Backend
	// Devices are the GPUs to use. None means all. It must be empty for the processor.
	Devices []DeviceOptions
	// CPUFallback lets work go on on the processor, with a warning, after the last GPU is lost. Without it such work fails with
	// device.ErrLost.
	CPUFallback bool
	// SelfTest proves and verifies a tiny circuit on every device before Open returns, and fails if one can't.
	SelfTest bool

	// Workers is how many partitions a device has in work at a time: one is proved while the witness of the next is made. 0 is
	// 2 for a GPU and 1 for the processor. Every device has one more worker, which takes WinningPoSt and WindowPoSt only.
	Workers int
	// HostMemory is the most memory in bytes that all partitions in work may take of the host. 0 is three quarters of what the
	// system has available at Open, or no limit where it does not say.
	HostMemory int64
	// QueueLimit is how many jobs of a class (WinningPoSt, WindowPoSt, the rest) may wait: Submit answers ErrBusy then. 0 is
	// no limit.
	QueueLimit int
	// Aging is how long a job waits before it counts as one of the next class, so that none waits for ever. 0 is five minutes.
	Aging time.Duration
	// DisablePCE evaluates rows while the circuit is run, without its constraint system. It is slower, takes more memory, and
	// what a job needs of a GPU is not known before it is loaded.
	DisablePCE bool

	// Trace records a timeline of all that is done. Nil means none.
	Trace *Trace
	// Hooks observes all jobs. Nil means none.
	Hooks *Hooks
	// Logger receives warnings, loads and evictions, and debug records of phases. Nil means none.
	Logger *slog.Logger
}

// DeviceOptions names one GPU and tunes its use. Exactly one of Name and Device is given.
type DeviceOptions struct {
	// Name is what device.Open takes: an ordinal, a UUID or a bus address. The Engine opens and closes the device.
	Name string
	// Device is an open device, which the Engine does not close.
	Device device.Device
	// MemoryLimit is the most memory in bytes that the process may take of a named GPU, context and kernels included. 0 is what
	// is free at the first use.
	MemoryLimit int64
	// Watchdog is how long a named GPU may take for 50 ms of work before it counts as lost. 0 is 30 s, the least 1 s.
	Watchdog time.Duration
	// Workers is as in [Options]. 0 is what is said there.
	Workers int
	// OnlyWinning reserves the device for WinningPoSt.
	OnlyWinning bool
}

// JobOptions tunes one job. The zero value, and nil, mean the defaults. A deadline is that of the job's context.
type JobOptions struct {
	// RefuseLate answers ErrLate at once if the context's deadline can't be met: if it is closer than the partitions
	// would take by the median of earlier ones of the same circuit, with all devices to themselves.
	RefuseLate bool
	// Check runs the native checks, and every circuit bit by bit, before a proof is made. It is slow and meant for finding
	// faults; without it the native checks run only when a witness or a proof turns out wrong, to name what is wrong.
	Check bool
	// Progress is called, one call at a time, when the job advances, a partition at most every 100 ms, and never after
	// [Job.Wait] has returned the result. It must be quick, since the worker that has the partition waits for it, and it must
	// not wait for the job.
	Progress func(Progress)
	// Hooks observes the job. Nil means none.
	Hooks *Hooks
}

// PhaseInfo says what a hook is called for.
type PhaseInfo struct {
	Phase      groth16.Phase // or PhaseLoad
	Job        uint64        // as Job.ID
	Circuit    string
	Partition  int
	Partitions int
	Attempt    int // 1, or 2 after a fault of a device
	Device     device.Info
	Worker     int // of the device
}

// Hooks observes phases of partitions. Any field may be nil. Functions are called by the worker that has the partition,
// so calls for different partitions may come at the same time; a slow one slows the proof.
type Hooks struct {
	PhaseStart func(PhaseInfo)
	PhaseEnd   func(PhaseInfo, error)
}

const (
	defaultAging = 5 * time.Minute
	maxDevices   = 63 // and the processor: as many as a queue.Cards can hold
	maxWorkers   = 64
)

// withDefaults is a copy of o, which may be nil, without zero values that mean something else.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Aging == 0 {
		c.Aging = defaultAging
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate returns all problems.
func (o *Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("cuzk: option "+format, args...))
	}
	if nilvalue.Is(o.Params) {
		bad("Params: none given")
	}
	if o.Trace != nil && o.Trace.wake == nil {
		bad("Trace: not made by NewTrace")
	}
	if o.Backend < groth16.BackendAuto || o.Backend > groth16.BackendCPU {
		bad("Backend: %d is not one of 0 to %d", int(o.Backend), int(groth16.BackendCPU))
	}
	if o.Backend == groth16.BackendCPU && len(o.Devices) > 0 {
		bad("Devices: %d given for backend %v", len(o.Devices), o.Backend)
	}
	if len(o.Devices) > maxDevices {
		bad("Devices: %d given, want at most %d", len(o.Devices), maxDevices)
	}
	checkWorkers := func(field string, n int) {
		if n < 0 || n > maxWorkers {
			bad("%s: %d is not one of 0 to %d", field, n, maxWorkers)
		}
	}
	checkWorkers("Workers", o.Workers)
	if o.HostMemory < 0 {
		bad("HostMemory: %d bytes", o.HostMemory)
	}
	if o.QueueLimit < 0 {
		bad("QueueLimit: %d", o.QueueLimit)
	}
	if o.Aging < 0 {
		bad("Aging: %v", o.Aging)
	}
	for i, d := range o.Devices {
		field := func(name string) string { return fmt.Sprintf("Devices[%d].%s", i, name) }
		checkWorkers(field("Workers"), d.Workers)
		errs = append(errs, d.validate(field))
	}
	return errors.Join(errs...)
}

// validate returns all problems of one device's options but that of Workers.
func (d *DeviceOptions) validate(field func(name string) string) error {
	var errs []error
	bad := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("cuzk: option "+field(name)+": "+format, args...))
	}
	given := d.Device != nil
	if (d.Name == "") == !given {
		bad("Name", "%q, and Device is given: %t; want one of them", d.Name, given)
	}
	switch {
	case !given:
	case nilvalue.Is(d.Device):
		bad("Device", "a nil %T", d.Device)
	case d.Device.Info().IsCPU():
		bad("Device", "the processor is asked for by Backend")
	}
	if given && (d.MemoryLimit != 0 || d.Watchdog != 0) {
		bad("Device", "MemoryLimit %d and Watchdog %v are for a device that is named", d.MemoryLimit, d.Watchdog)
	}
	if d.MemoryLimit < 0 {
		bad("MemoryLimit", "%d bytes", d.MemoryLimit)
	}
	if d.Watchdog < 0 {
		bad("Watchdog", "%v", d.Watchdog)
	}
	return errors.Join(errs...)
}
