package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
)

// gpuBench is an opened GPU on which one operation is measured.
type gpuBench struct {
	e     *env
	flags *gpuFlags
	op    string
	wrong int // results so far

	device      *gpu.Device
	lib         *kernels.Library
	stream      *gpu.Stream
	arena       *gpu.Arena // all memory that can be had; nil while an engine has it
	start, stop *gpu.Event
}

// gpuLine is one measured quantity. Times are in milliseconds; median, least and most are by the GPU's clock.
type gpuLine struct {
	Op        string  `json:"op"`
	What      string  `json:"what,omitempty"` // which of several of an operation
	Group     string  `json:"group,omitempty"`
	Scalars   string  `json:"scalars,omitempty"`
	Circuit   string  `json:"circuit,omitempty"`
	Log       *int    `json:"log,omitempty"`
	Window    int     `json:"window,omitempty"`
	Median    float64 `json:"median_ms"`
	Min       float64 `json:"min_ms"`
	Max       float64 `json:"max_ms"`
	Wall      float64 `json:"wall_median_ms"`
	Runs      int     `json:"runs"`
	Warm      int     `json:"warm"`
	GigaRate  float64 `json:"giga_per_second,omitempty"`
	*proveRun         // of prove
	Check     string  `json:"check,omitempty"` // what another program must get from the same inputs
	CheckOK   bool    `json:"check_ok"`
	GPU       string  `json:"gpu"`
	UUID      string  `json:"uuid"`
	CUDA      string  `json:"cuda"`
	Driver    string  `json:"driver"`
}

// sample is what one run took: by the GPU's clock, from its first command to its last, with what the host does in between,
// and by the wall's.
type sample struct{ card, wall time.Duration }

// open opens the GPU that the flags name. What it has opened close closes, also after an error.
func (b *gpuBench) open(ctx context.Context, system *gpu.System) error {
	ordinal, err := system.Find(b.flags.device)
	if err != nil {
		return err
	}
	options := new(gpu.Options)
	if b.flags.memory != nil {
		options.MemoryLimit = *b.flags.memory
	}
	if b.device, err = system.OpenWith(ordinal, options); err != nil {
		return err
	}
	if b.lib, err = kernels.Load(b.device); err != nil {
		return err
	}
	if b.stream, err = b.device.NewStream(); err != nil {
		return err
	}
	b.stream.Bind(ctx)
	if b.start, err = b.device.NewEvent(); err != nil {
		return err
	}
	if b.stop, err = b.device.NewEvent(); err != nil {
		return err
	}
	return b.reserve()
}

// reserve takes all memory that can be had. None at all is gpu.ErrMemory.
func (b *gpuBench) reserve() error {
	n, err := b.device.Leasable()
	if err == nil {
		b.arena, err = b.device.Reserve(max(n, 1))
	}
	return err
}

// release gives the memory back.
func (b *gpuBench) release() error {
	if b.arena == nil {
		return nil
	}
	err := b.arena.Close()
	b.arena = nil
	return err
}

func (b *gpuBench) close() error {
	var err error
	if b.stream != nil {
		if e := b.stream.Wait(); !errors.Is(e, gpu.ErrLost) { // what was lost has been reported
			err = e
		}
		err = errors.Join(err, b.stream.Close())
	}
	err = errors.Join(err, b.release())
	for _, event := range []*gpu.Event{b.start, b.stop} {
		if event != nil {
			err = errors.Join(err, event.Close())
		}
	}
	if b.lib != nil {
		err = errors.Join(err, b.lib.Close())
	}
	if b.device != nil {
		err = errors.Join(err, b.device.Close())
	}
	return err
}

// eachLog calls f for all sizes. What it takes of the arena is given back.
func (b *gpuBench) eachLog(f func(log int) error) error {
	for _, log := range b.flags.logs.logs {
		if err := b.scoped(func() error { return f(log) }); err != nil {
			return err
		}
	}
	return nil
}

// scoped calls f and gives back what it has taken of the arena.
func (b *gpuBench) scoped(f func() error) error {
	mark := b.arena.Mark()
	err := f()
	err = errors.Join(err, b.stream.Wait())
	b.arena.Rewind(mark)
	return err
}

// measure times f, which enqueues work or also waits for it, and prints the line. units are what a run does, for a rate; 0
// is none.
func (b *gpuBench) measure(l gpuLine, units float64, f func() error) error {
	var samples []sample
	for i := range *b.flags.warm + *b.flags.runs {
		s, err := b.timed(f)
		if err != nil {
			return err
		}
		if i >= *b.flags.warm {
			samples = append(samples, s)
		}
	}
	return b.print(l, units, samples)
}

// timed runs f once and waits for what it has enqueued.
func (b *gpuBench) timed(f func() error) (s sample, err error) {
	begin := time.Now()
	if err := b.start.Record(b.stream); err != nil {
		return s, err
	}
	if err := f(); err != nil {
		return s, err
	}
	if err := b.stop.Record(b.stream); err != nil {
		return s, err
	}
	if err := b.stop.Wait(); err != nil {
		return s, err
	}
	s.wall = time.Since(begin)
	s.card, err = b.stop.Since(b.start)
	return s, err
}

// print prints a line with the statistics of samples.
func (b *gpuBench) print(l gpuLine, units float64, samples []sample) error {
	var card, wall []float64
	for _, s := range samples {
		card = append(card, s.card.Seconds()*1e3)
		wall = append(wall, s.wall.Seconds()*1e3)
	}
	slices.Sort(card)
	slices.Sort(wall)
	l.Median, l.Min, l.Max, l.Wall = card[len(card)/2], card[0], card[len(card)-1], wall[len(wall)/2]
	l.Runs, l.Warm = len(samples), *b.flags.warm
	if units > 0 && l.Median > 0 {
		l.GigaRate = units / l.Median / 1e6
	}
	info := b.device.Info()
	l.Op, l.GPU, l.UUID, l.CUDA, l.Driver = b.op, info.Name, info.UUID, info.CUDA, info.Driver
	if !l.CheckOK {
		b.wrong++
	}
	return b.e.jsonLine(l)
}

// room cuts n elements off the arena.
func room[T any](b *gpuBench, n int) (gpu.View[T], error) { return gpu.Alloc[T](b.arena, n) }

// upload brings a slice to the GPU.
func upload[T any](b *gpuBench, from []T) (gpu.View[T], error) {
	v, err := room[T](b, len(from))
	if err != nil {
		return v, err
	}
	return v, gpu.UploadSlice(b.stream, v, from)
}

// download brings a view from the GPU.
func download[T any](b *gpuBench, v gpu.View[T]) ([]T, error) {
	to := make([]T, v.Len())
	return to, gpu.DownloadSlice(b.stream, to, v)
}
