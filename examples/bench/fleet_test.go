package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gputest"
	"github.com/gocuzk/cuzk/pce"
)

func TestFleetUsageErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"", "one of --types and --log is needed"},
		{"--types porep,PoRep", `--types has "PoRep", want some of porep, winning-post`},
		{"--types porep,", `--types has ""`},
		{"--types porep:3KiB", `no porep of size "3KiB", only 2KiB, 8MiB`},
		{"--types window-post --c1 x", "--c1 is for a porep without a size"},
		{"--types porep:2KiB --c1 x", "--c1 is for a porep without a size"},
		{"--log 15", `"15" is not from 16 to 27`},
		{"--types porep --jobs 0", "--jobs is 0, want 1 or more"},
		{"--types porep --jobs 3 --minutes 1", "--jobs is not used with --minutes"},
		{"--types porep --minutes -1", "--minutes is -1"},
		{"--types porep --minutes NaN", "--minutes is NaN"},
		{"--types porep --workers 0", `"0" is not from 1 to 64`},
		{"--types porep --engines 17", "--engines is 17, want 1 to 16"},
		{"--types porep --winning 2KiB", "--winning is not used with no --winning-every"},
		{"--types porep --winning-every -1s", "--winning-every is -1s"},
		{"--types porep --winning-every 1s --winning 3KiB", `no winning-post of size "3KiB"`},
		{"--types porep --memory-mib 100", "--memory-mib is 100, want 1 to 8796093022207, and --device"},
		{"--types porep --device 0 --backend cpu", "--device is not used with --backend cpu"},
		{"--types porep --each-device --backend cpu", "--each-device is not used with --backend cpu"},
		{"--types porep --device 0,0", `--device has "0,0", want different GPUs`},
		{"--types porep --device 0,", `--device has "0,", want different GPUs`},
		{"--types porep --backend tpu", `--backend is "tpu"`},
		{"--types porep more", `unexpected argument "more"`},
	} {
		requireError(t, exitUsage, append([]string{"fleet"}, strings.Fields(c[0])...), c[1])
	}
}

// A trace that can't be written is refused before keys are made, which may take minutes.
func TestFleetTraceThatCannotBeWritten(t *testing.T) {
	cache := t.TempDir()
	requireError(t, exitFailed, []string{"fleet", "--types", "porep", "--backend", "cpu", "--cache", cache,
		"--trace", filepath.Join(t.TempDir(), "none", "trace.json")}, "none: no such file")
	require.Empty(t, fileNames(t, cache))
}

// An empty --device, which a variable of the shell that is not set gives, would mean another GPU than was meant.
func TestEmptyDevice(t *testing.T) {
	for _, command := range []string{"single --type porep --c1 x", "setup --type porep --size 2KiB", "fleet --types porep", "gpu mul"} {
		requireError(t, exitUsage, append(strings.Fields(command), "--device", ""), "-device", "names no GPU")
	}
}

// TestFleet makes a key and keeps the processor busy, once with one worker and once with two.
func TestFleet(t *testing.T) {
	skipIfShort(t)
	trace := filepath.Join(t.TempDir(), "trace.json")
	code, stdout, stderr := bench(t, "fleet", "--types", "window-post", "--synthetic", "2KiB", "--cache", t.TempDir(),
		"--backend", "cpu", "--jobs", "1", "--workers", "1,2", "--trace", trace)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "INSECURE")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 3)
	for i, workers := range []int{1, 2} {
		var l fleetLine
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &l))
		require.Equal(t, []string{"window-post-2KiB"}, l.Circuits)
		require.Equal(t, workers, l.Workers)
		require.Equal(t, fleetCounts{Jobs: 1, Partitions: 1}, l.fleetCounts)
		require.InDelta(t, 1, l.PerSecond*l.Seconds, 0.1)
		require.Len(t, l.Devices, 1)
		require.Equal(t, "cpu", l.Devices[0].Name)
		require.Len(t, l.WorkersBusy, 1)
		require.Positive(t, l.WorkersBusy[0].Share)
		require.LessOrEqual(t, l.WorkersBusy[0].Share, 1.0)
	}
	var ratio fleetComparison
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &ratio))
	require.Equal(t, []int{1, 2}, ratio.Workers)
	require.Equal(t, []int{1, 1}, ratio.Devices)
	require.Equal(t, 1.0, ratio.Ratios[0])
	require.Positive(t, ratio.Ratios[1])
	timeline, err := os.ReadFile(trace)
	require.NoError(t, err)
	var events []map[string]any
	require.NoError(t, json.Unmarshal(timeline, &events))
	require.NotEmpty(t, events)
}

// tinyCircuit is the statement "I know the square root of this".
type tinyCircuit struct{ root fr.Element }

func (c *tinyCircuit) Name() string { return "tiny" }

func (c *tinyCircuit) Synthesize(b pce.Builder) error {
	x := b.Alloc(c.root)
	b.Inputize(b.Mul(x, x))
	return nil
}

func (c *tinyCircuit) PublicInputs() ([]fr.Element, error) {
	var square fr.Element
	square.Square(&c.root)
	return []fr.Element{square}, nil
}

// tinyFleet is a job of tiny circuits, whose key is there.
func tinyFleet(t *testing.T, args ...string) (*fleetJob, *strings.Builder) {
	t.Helper()
	var stderr strings.Builder
	j := newFleet(&env{io.Discard, &stderr})
	require.NoError(t, j.parse(append(args, "--log", "16", "--backend", "cpu", "--cache", t.TempDir()), 0))
	require.NoError(t, j.check())
	j.items = []*fleetItem{{
		blank: &tinyCircuit{}, maxRows: maxTestRows,
		task: func(n uint64) cuzk.Task { return cuzk.Statements(&tinyCircuit{fr.NewElement(n)}) },
	}}
	require.NoError(t, j.makeKeys(t.Context()))
	return j, &stderr
}

// Two Engines share the jobs, and another one arrives meanwhile.
func TestFleetOfEngines(t *testing.T) {
	j, stderr := tinyFleet(t, "--jobs", "30", "--engines", "2")
	j.urgent, j.every = j.items[0], time.Minute
	l, err := j.measure(t.Context(), fleetCase{workers: 2})
	require.NoError(t, err)
	require.NoError(t, l.fault())
	require.NotContains(t, stderr.String(), "failed")
	require.Equal(t, fleetCounts{Jobs: 30, Partitions: 30}, l.fleetCounts)
	require.Equal(t, fleetCounts{Jobs: 1, Partitions: 1}, l.Urgent.fleetCounts, "the first comes at once")
	require.Positive(t, l.Urgent.MedianMS)
	require.Equal(t, l.Urgent.MedianMS, l.Urgent.MaxMS)
	engines := map[int]bool{}
	for _, w := range l.WorkersBusy {
		engines[w.Engine] = true
	}
	require.Len(t, engines, 2)
}

// Each of two cards is measured alone, then both together; every proof is credited to the card that made it.
func TestFleetOfDevices(t *testing.T) {
	j, stderr := tinyFleet(t, "--jobs", "12", "--workers", "2")
	_, devices := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
	var stdout strings.Builder
	j.e, j.backend, j.each = &env{&stdout, stderr}, groth16.BackendGPU, true
	for _, d := range devices {
		j.devices = append(j.devices, cuzk.DeviceOptions{Device: d})
	}
	require.NoError(t, j.run(t.Context()))
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	require.Len(t, lines, 4)
	for i, want := range [][]int{{0}, {1}, {0, 1}} {
		var l fleetLine
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &l))
		require.Equal(t, fleetCounts{Jobs: 12, Partitions: 12}, l.fleetCounts)
		made := map[string]int{}
		for _, d := range l.Devices {
			made[d.UUID] = d.Partitions
			require.Equal(t, d.Partitions > 0, d.GPUSeconds > 0)
			require.Positive(t, d.PeakLeasedBytes)
		}
		require.Len(t, made, len(want))
		total := 0
		for _, card := range want {
			total += made[devices[card].Info().UUID]
		}
		require.Equal(t, 12, total)
	}
	var c fleetComparison
	require.NoError(t, json.Unmarshal([]byte(lines[3]), &c))
	require.Equal(t, []int{1, 1, 2}, c.Devices)
	require.Equal(t, []int{2, 2, 2}, c.Workers)
	require.Len(t, c.Ratios, 3)

	j.devices = j.devices[:1]
	require.ErrorContains(t, j.run(t.Context()), "--each-device is to compare GPUs, and there is one")
}

// Jobs without a statement are refused: that is counted, and ends the run before the time is over.
func TestFleetFailures(t *testing.T) {
	j, stderr := tinyFleet(t, "--minutes", "60")
	task := j.items[0].task
	j.items[0].task = func(n uint64) cuzk.Task {
		if n == 0 {
			return task(n) // with which the key is loaded
		}
		return cuzk.Seal(nil)
	}
	l, err := j.measure(t.Context(), fleetCase{workers: 1})
	require.NoError(t, err)
	require.GreaterOrEqual(t, l.FailedJobs, maxFailures)
	require.Equal(t, l.Jobs, l.FailedJobs+l.Partitions)
	require.ErrorContains(t, l.fault(), "jobs failed")
	require.Contains(t, stderr.String(), "no phase-1 output")
}

func TestFleetCancelled(t *testing.T) {
	j, _ := tinyFleet(t, "--minutes", "60")
	cause := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	require.ErrorIs(t, j.run(ctx), cause)
}

func TestFleetCounts(t *testing.T) {
	var c fleetCounts
	good := cuzk.PartitionReport{PartitionReport: groth16.PartitionReport{Attempts: 2}}
	good.Stats.Device = groth16.DeviceTimes{Assign: 1, Quotient: 20, Sums: 300}
	bad := cuzk.PartitionReport{PartitionReport: groth16.PartitionReport{Attempts: 1, Err: device.ErrLost}}
	require.Equal(t, time.Duration(321), c.add(&cuzk.Result{Partitions: []cuzk.PartitionReport{good, bad}}, device.ErrLost))
	require.Zero(t, c.add(nil, cuzk.ErrBusy))
	require.Equal(t, fleetCounts{Jobs: 2, FailedJobs: 2, Partitions: 1, FailedPartitions: 1, Retried: 1}, c)
}

func TestFleetQuantiles(t *testing.T) {
	var waits []time.Duration
	for i := range 200 {
		waits = append(waits, time.Duration(200-i)*time.Millisecond)
	}
	u := newFleetUrgent("winning-post-2KiB", fleetCounts{Jobs: 200}, waits)
	require.Equal(t, [3]float64{100, 198, 200}, [3]float64{u.MedianMS, u.P99MS, u.MaxMS})
	u = newFleetUrgent("winning-post-2KiB", fleetCounts{Jobs: 1}, []time.Duration{time.Second})
	require.Equal(t, [3]float64{1000, 1000, 1000}, [3]float64{u.MedianMS, u.P99MS, u.MaxMS})
	require.Zero(t, newFleetUrgent("winning-post-2KiB", fleetCounts{}, nil).MaxMS)
}

// The most of each device counts, and more than was allowed is a fault.
func TestFleetObserves(t *testing.T) {
	r := &fleetRun{job: &fleetJob{memoryMiB: 1}}
	a, b := device.Info{Name: "a", UUID: "GPU-a"}, device.Info{Name: "b", UUID: "GPU-b"}
	r.observe(a, &device.Stats{ProcessBytes: 1 << 20, PeakLeasedBytes: 7})
	r.observe(b, &device.Stats{ProcessBytes: 5})
	r.observe(a, &device.Stats{ProcessBytes: 10, PeakLeasedBytes: 9, Lost: true})
	require.Equal(t, []*fleetDevice{
		{
			Name: "a", UUID: "GPU-a", PeakLeasedBytes: 9, PeakProcessBytes: 1 << 20, LimitBytes: 1 << 20, Samples: 2, Lost: true,
		},
		{Name: "b", UUID: "GPU-b", PeakProcessBytes: 5, LimitBytes: 1 << 20, Samples: 1},
	}, r.used)
	l := &fleetLine{Devices: r.used}
	require.EqualError(t, l.fault(), "a GPU-a was lost")
	r.observe(b, &device.Stats{ProcessBytes: 1<<20 + 1})
	require.ErrorContains(t, l.fault(), "b: 1048577 bytes in use, 1048576 allowed")
	l = &fleetLine{Urgent: &fleetUrgent{fleetCounts: fleetCounts{FailedJobs: 1}}}
	require.ErrorContains(t, l.fault(), "1 jobs failed")
}

// Several devices are compared with the mean of single ones; where nothing was proved there is no ratio.
func TestFleetComparison(t *testing.T) {
	line := func(workers, devices int, perSecond float64) *fleetLine {
		return &fleetLine{Workers: workers, PerSecond: perSecond, Devices: make([]*fleetDevice, devices)}
	}
	c := compareFleets([]*fleetLine{line(1, 1, 2), line(1, 1, 4), line(1, 2, 6), line(2, 2, 8)})
	require.Equal(t, []float64{1, 2, 2, 4}, c.Ratios)
	require.Equal(t, []float64{0, 0}, compareFleets([]*fleetLine{line(1, 1, 0), line(2, 1, 3)}).Ratios)
}

// Loading counts for nothing, and what began before the start neither.
func TestBusyWorkers(t *testing.T) {
	var b busyWorkers
	h := b.hooks()
	phase := func(worker int, p groth16.Phase) cuzk.PhaseInfo {
		return cuzk.PhaseInfo{Phase: p, Worker: worker, Device: device.Info{Ordinal: 3}}
	}
	h.PhaseStart(phase(0, groth16.PhaseSums))
	b.start()
	h.PhaseEnd(phase(0, groth16.PhaseSums), nil)
	h.PhaseStart(phase(1, cuzk.PhaseLoad))
	h.PhaseEnd(phase(1, cuzk.PhaseLoad), nil)
	require.Empty(t, b.shares(0, time.Second))
	for _, worker := range []int{1, 0} {
		h.PhaseStart(phase(worker, groth16.PhaseWitness))
		h.PhaseEnd(phase(worker, groth16.PhaseWitness), nil)
	}
	shares := b.shares(2, time.Second)
	require.Len(t, shares, 2)
	for i, s := range shares {
		require.Equal(t, fleetWorker{Engine: 2, Device: 3, Worker: i, Share: b.spent[workerID{3, i}].Seconds()}, s)
	}
}

// A made-up circuit is satisfied by its values, fills its domain, and different jobs are about different statements.
func TestMadeCircuit(t *testing.T) {
	blank := &madeCircuit{log: leastMadeLog}
	system, err := pce.Record(t.Context(), blank.Name(), blank.Synthesize, nil)
	require.NoError(t, err)
	require.Equal(t, madeRows*blank.blocks()+1, system.Counts().Rows)
	for log := leastMadeLog; log <= 27; log++ {
		rows := madeRows * (&madeCircuit{log: log}).blocks()
		require.Greater(t, rows, 1<<(log-1))
		require.Less(t, rows, 1<<log-3)
	}
	seen := map[string]bool{}
	for number := range uint64(2) {
		c := &madeCircuit{log: leastMadeLog, seed: 1, number: number}
		inputs, err := c.PublicInputs()
		require.NoError(t, err)
		require.NoError(t, pce.Check(t.Context(), c.Synthesize))
		w, err := pce.MakeWitness(t.Context(), c.Synthesize, nil)
		require.NoError(t, err)
		require.Equal(t, inputs, w.Inputs[1:])
		seen[inputs[0].String()] = true
	}
	require.Len(t, seen, 2)
}
