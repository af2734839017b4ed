package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/groth16"
)

// fleetJob is one run of fleet.
type fleetJob struct {
	e *env
	*flags
	types, c1, synthetic, winning string
	seed                          *uint64
	logs, workers                 logList
	jobs, engines                 int
	minutes                       float64
	every                         time.Duration // between WinningPoSts that arrive; 0 is none
	backendName, deviceNames      string
	backend                       groth16.Backend
	memoryMiB                     int64
	each                          bool // measure each device alone too
	params, cache, tracePath      string

	devices []cuzk.DeviceOptions // of --device
	kinds   []fleetType
	items   []*fleetItem // proved by turns
	urgent  *fleetItem   // what arrives meanwhile; may be nil
	trace   *cuzk.Trace  // may be nil
}

// fleet implements "fleet": it keeps Engines busy and measures them.
func fleet(ctx context.Context, e *env, args []string) error {
	j := newFleet(e)
	if err := j.parse(args, 0); err != nil {
		return err
	}
	if err := j.check(); err != nil {
		return err
	}
	if err := j.read(ctx); err != nil {
		return err
	}
	return j.run(ctx)
}

// newFleet declares the flags of fleet.
func newFleet(e *env) *fleetJob {
	f := newFlags(e, "fleet")
	j := &fleetJob{
		e: e, flags: f,
		logs: logList{least: leastMadeLog, most: 27}, workers: logList{least: 1, most: 64, logs: []int{2}},
	}
	f.StringVar(&j.types, "types", "", "what to prove by turns: kinds of proofs, each with a size if it is not that of --synthetic, like porep,update:512MiB")
	f.StringVar(&j.c1, "c1", "", "of a porep: phase-1 output to prove again and again")
	f.StringVar(&j.synthetic, "synthetic", "2KiB", "size of sectors that are made up, where --types says none")
	j.seed = f.Uint64("seed", 1, "what sectors that are made up are drawn from")
	f.Var(&j.logs, "log", "also prove made-up circuits of such domains, as powers of two: a number, a list or a range like 22..24")
	f.IntVar(&j.jobs, "jobs", 10, "how many jobs to prove")
	f.Float64Var(&j.minutes, "minutes", 0, "in place of --jobs: submit jobs for so many minutes")
	f.Var(&j.workers, "workers", "workers of a device; several numbers are measured one after the other and compared")
	f.IntVar(&j.engines, "engines", 1, "how many Engines share the devices, in one process")
	f.DurationVar(&j.every, "winning-every", 0, "submit a WinningPoSt that often meanwhile, for instance 2s, and measure how long each takes")
	f.StringVar(&j.winning, "winning", "", "size of the sectors of these; by default that of --synthetic")
	f.StringVar(&j.backendName, "backend", "auto", "where to prove: auto, cpu, gpu")
	f.addDevice(&j.deviceNames, "the GPUs to use, with commas between: ordinals, UUIDs or bus addresses; by default all")
	f.BoolVar(&j.each, "each-device", false, "also measure each of the GPUs alone, before all of them, and compare")
	f.Int64Var(&j.memoryMiB, "memory-mib", 0, "the most memory of each GPU to take, context and kernels included, in MiB; needs --device")
	f.StringVar(&j.params, "params", "", "folder with the parameters; by default test parameters in the cache folder, made if missing")
	f.StringVar(&j.cache, "cache", "", "folder for constraint systems and test parameters; by default cuzk in the user's cache folder")
	f.StringVar(&j.tracePath, "trace", "", "file for a timeline in Chrome's trace event format")
	return j
}

// check refuses flags that make no sense, alone or together, and sets what follows from them.
func (j *fleetJob) check() (err error) {
	if j.backend, err = parseBackend(j.flags, j.backendName); err != nil {
		return err
	}
	onCPU := j.backend == groth16.BackendCPU
	err = j.refuseUnused(
		rule{"device", !onCPU, "--backend cpu"}, rule{"memory-mib", !onCPU, "--backend cpu"},
		rule{"each-device", !onCPU, "--backend cpu"},
		rule{"jobs", j.minutes == 0, "--minutes"}, rule{"winning", j.every > 0, "no --winning-every"},
	)
	if err != nil {
		return err
	}
	switch {
	case j.types == "" && len(j.logs.logs) == 0:
		return usagef("%s: one of --types and --log is needed", j.Name())
	case j.jobs < 1:
		return usagef("%s: --jobs is %d, want 1 or more", j.Name(), j.jobs)
	case j.minutes < 0 || math.IsNaN(j.minutes) || j.minutes > maxMinutes:
		return usagef("%s: --minutes is %v, want at most %d", j.Name(), j.minutes, maxMinutes)
	case j.engines < 1 || j.engines > maxEngines:
		return usagef("%s: --engines is %d, want 1 to %d", j.Name(), j.engines, maxEngines)
	case j.every < 0:
		return usagef("%s: --winning-every is %v", j.Name(), j.every)
	case j.given("memory-mib") && (j.deviceNames == "" || j.memoryMiB < 1 || j.memoryMiB > maxMemoryMiB):
		return usagef("%s: --memory-mib is %d, want 1 to %d, and --device", j.Name(), j.memoryMiB, maxMemoryMiB)
	}
	if err = j.parseDevices(); err != nil {
		return err
	}
	if j.kinds, err = j.parseTypes(); err != nil {
		return err
	}
	j.cache, err = cacheFolder(j.cache)
	return err
}

const (
	maxMinutes = 7 * 24 * 60
	maxEngines = 16
)

// run makes what keys are missing and measures each case.
func (j *fleetJob) run(ctx context.Context) (err error) {
	cases, err := j.cases()
	if err != nil {
		return err
	}
	if j.tracePath != "" { // before the keys, which may take minutes
		if err := checkOut(j.tracePath); err != nil {
			return err
		}
		f, err := os.Create(j.tracePath)
		if err != nil {
			return err
		}
		j.trace = cuzk.NewTrace(f)
		defer func() { err = errors.Join(err, j.trace.Close(), f.Close()) }()
	}
	if err := j.makeKeys(ctx); err != nil {
		return err
	}
	var lines []*fleetLine
	for _, c := range cases {
		l, err := j.measure(ctx, c)
		if err != nil {
			return err
		}
		lines = append(lines, l)
		if err := j.e.jsonLine(l); err != nil {
			return err
		}
	}
	if len(lines) > 1 {
		if err := j.e.jsonLine(compareFleets(lines)); err != nil {
			return err
		}
	}
	for _, l := range lines {
		if err := l.fault(); err != nil {
			return fmt.Errorf("fleet: %d workers on each of %d devices: %w", l.Workers, len(l.Devices), err)
		}
	}
	return nil
}
