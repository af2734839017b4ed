package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// gpuOp is one thing that can be measured on a GPU.
type gpuOp struct {
	name  string
	flags func(o *gpuFlags) // adds those that only some have; may be nil
	run   func(b *gpuBench, ctx context.Context) error
}

func gpuOps() []gpuOp {
	return []gpuOp{
		{"mul", (*gpuFlags).addRounds, (*gpuBench).mul},
		{"ntt", func(o *gpuFlags) { o.addLogs(0, 28) }, (*gpuBench).ntt},
		{"msm", func(o *gpuFlags) { o.addLogs(0, 27); o.addGroup(); o.addScalars(); o.addWindow() }, (*gpuBench).msm},
		{"bits", func(o *gpuFlags) { o.addLogs(5, 28); o.addGroup() }, (*gpuBench).bits},
		{"quotient", func(o *gpuFlags) { o.addLogs(1, 28) }, (*gpuBench).quotient},
		{"spmv", func(o *gpuFlags) { o.source = o.addSource(nil) }, (*gpuBench).spmv},
		{"decode", func(o *gpuFlags) { o.addLogs(0, 27); o.addGroup() }, (*gpuBench).decode},
		{"fixed", func(o *gpuFlags) { o.addLogs(1, 24); o.addGroup(); o.addWindow() }, (*gpuBench).fixed},
		{"key", func(o *gpuFlags) { o.addLogs(10, 27); o.addWindow() }, (*gpuBench).key},
		{"prove", func(o *gpuFlags) { o.addLogs(10, 27); o.addMemory(); o.addPlaces() }, (*gpuBench).prove},
	}
}

func gpuOpNames() []string {
	var names []string
	for _, op := range gpuOps() {
		names = append(names, op.name)
	}
	return names
}

// gpuFlags are the flags of a gpuOp. Those that the operation does not have are nil.
type gpuFlags struct {
	*flags
	device                     string
	group, scalars, folder     *string
	key, rows                  *string
	runs, warm, window, rounds *int
	memory                     *uint64
	logs                       *logList
	source                     source
}

func (o *gpuFlags) addCommon() {
	o.device = "0"
	o.addDevice(&o.device, "the GPU, by ordinal, UUID or bus address")
	o.runs = o.Int("runs", 7, "timed runs")
	o.warm = o.Int("warm", 2, "runs before them that are not timed")
}

func (o *gpuFlags) addLogs(least, most int) {
	o.logs = &logList{least: least, most: most}
	o.Var(o.logs, "log", "sizes as powers of two: a number, a list like 16,18,20 or a range like 16..20")
}

func (o *gpuFlags) addGroup() { o.group = o.String("group", "g1", "group of the points: g1, g2") }

func (o *gpuFlags) addScalars() {
	o.scalars = o.String("scalars", "uniform", "uniform, or filecoin: 70 % zeros, 28.5 % ones, 1.5 % uniform")
}

func (o *gpuFlags) addWindow() {
	o.window = o.Int("window", 0, "bits of a window; 0 chooses by size")
}

func (o *gpuFlags) addRounds() {
	o.rounds = o.Int("rounds", 2000, "operations of a thread, each of which needs the one before")
}

func (o *gpuFlags) addMemory() {
	o.memory = o.Uint64("memory", 0, "bytes of the GPU to do with; a key that does not fit is streamed. 0 is all there is")
	o.folder = o.String("folder", "", "where to write the key, which is removed again; by default where temporary files are")
}

// Places of what prove reads.
const (
	inMemory = "ordinary" // rows in memory of Go, or a key that is mapped; it stays on the GPU as far as it fits
	inLocked = "locked"   // in page-locked memory; nothing of such a key stays on the GPU
	inFile   = "streamed" // a key that is mapped, nothing of which stays on the GPU
)

func (o *gpuFlags) addPlaces() {
	o.key = o.String("key", inMemory, "where the key is in each proof: ordinary (on the GPU as far as it fits), locked (streamed from\n"+
		"page-locked memory) or streamed (from the mapped file)")
	o.rows = o.String("rows", inMemory, "where the rows are: ordinary or locked memory")
}

// check refuses values that are out of range.
func (o *gpuFlags) check() error {
	if *o.runs < 1 || *o.warm < 0 {
		return usagef("gpu: --runs is %d and --warm %d, want at least 1 and 0", *o.runs, *o.warm)
	}
	if o.logs != nil {
		if err := o.require("log"); err != nil {
			return err
		}
	}
	if o.group != nil {
		if err := o.oneOf("group", "g1", "g2"); err != nil {
			return err
		}
	}
	if o.scalars != nil {
		if err := o.oneOf("scalars", "uniform", "filecoin"); err != nil {
			return err
		}
	}
	if o.key != nil {
		if err := errors.Join(o.oneOf("key", inMemory, inLocked, inFile), o.oneOf("rows", inMemory, inLocked)); err != nil {
			return err
		}
	}
	if o.window != nil && (*o.window < 0 || *o.window > 22) {
		return usagef("gpu: --window is %d, want at most 22", *o.window)
	}
	if o.rounds != nil && (*o.rounds < 1 || *o.rounds > 1<<20) {
		return usagef("gpu: --rounds is %d, want 1 to %d", *o.rounds, 1<<20)
	}
	if o.source.flags != nil {
		return o.source.check()
	}
	return nil
}

// logList is a flag with sizes in powers of two.
type logList struct {
	least, most int
	logs        []int
}

func (l *logList) String() string {
	var s []string
	for _, n := range l.logs {
		s = append(s, strconv.Itoa(n))
	}
	return strings.Join(s, ",")
}

// Set implements flag.Value.
func (l *logList) Set(text string) error {
	l.logs = nil
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "..")
		if !isRange {
			last = first
		}
		lo, errLo := strconv.Atoi(first)
		hi, errHi := strconv.Atoi(last)
		if errLo != nil || errHi != nil {
			return fmt.Errorf("%q is neither a number nor a range", part)
		}
		if lo < l.least || hi > l.most || lo > hi {
			return fmt.Errorf("%q is not from %d to %d", part, l.least, l.most)
		}
		for n := lo; n <= hi; n++ {
			l.logs = append(l.logs, n)
		}
	}
	return nil
}

// gpuMeasure measures on a GPU of this machine.
func gpuMeasure(ctx context.Context, e *env, args []string) error {
	return gpuMeasureOn(ctx, e, args, gpu.OpenSystem)
}

// gpuMeasureOn measures one operation on a GPU of the system that open opens.
func gpuMeasureOn(ctx context.Context, e *env, args []string, open func() (*gpu.System, error)) (err error) {
	o := &gpuFlags{flags: newFlags(e, "gpu")}
	o.addCommon()
	var op gpuOp
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(gpuOps(), func(x gpuOp) bool { return x.name == args[0] })
		if i < 0 {
			return usagef("gpu: nothing to measure is called %q, want %s", args[0], strings.Join(gpuOpNames(), ", "))
		}
		op, args = gpuOps()[i], args[1:]
		if op.flags != nil {
			op.flags(o)
		}
	}
	if err := o.parse(args, 0); err != nil {
		return err
	}
	if op.run == nil {
		return usagef("gpu: what to measure is missing, one of %s", strings.Join(gpuOpNames(), ", "))
	}
	if err := o.check(); err != nil {
		return err
	}
	system, err := open()
	if err != nil {
		return err
	}
	b := &gpuBench{e: e, flags: o, op: op.name}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx, system); err != nil {
		return err
	}
	if err := op.run(b, ctx); err != nil {
		return err
	}
	if b.wrong > 0 {
		return fmt.Errorf("gpu: %s: %d results are wrong", op.name, b.wrong)
	}
	return nil
}
