package pce

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"
)

// parts are the blocks of a list that are made side by side.
//
// Blocks of one shape have as many numbers and bits as each other. So whichever part is made first tells where all others
// go, and each of them writes straight into the outer witness. A part of another size, and all after it, are appended.
type parts struct {
	outer   *tracer
	tracers []tracer
	workers int
	body    func(b Builder, i int)

	next     atomic.Int64
	makeRoom sync.Once // by the worker that is the first to have made a part
	room     room
	placed   []bool // which parts are where they belong
}

func (t *tracer) Blocks(_ string, n int, args func(int) []Arg, body func(Builder, int, []Arg) []Arg) [][]Arg {
	out := make([][]Arg, n)
	p := parts{
		outer: t, tracers: make([]tracer, n), placed: make([]bool, n), workers: min(t.workers, n),
		body: func(b Builder, i int) { out[i] = body(b, i, args(i)) },
	}
	var g errgroup.Group
	for range p.workers {
		g.Go(p.work)
	}
	if err := g.Wait(); err != nil {
		t.Fail(err)
	}
	p.merge()
	return out
}

// work makes parts until there are no more. The first one is made in memory of its own.
func (p *parts) work() error {
	for first := true; ; first = false {
		i := int(p.next.Add(1)) - 1
		if i >= len(p.tracers) {
			return nil
		}
		t := &p.tracers[i]
		if !first {
			p.room.furnish(t, i)
		}
		if err := p.part(t, i); err != nil {
			p.next.Store(int64(len(p.tracers))) // the others need not start
			return err
		}
		if first {
			p.makeRoom.Do(func() { p.room = p.outer.reserve(t, len(p.tracers)) })
			p.room.move(t, i)
		}
		p.placed[i] = p.room.holds(t, i)
	}
}

func (p *parts) part(t *tracer, i int) error {
	// The outer blocks use the cores already; inner ones get what is left.
	t.ctx, t.workers = p.outer.ctx, p.outer.workers/p.workers
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return guard(func() error {
		p.body(t, i)
		t.closeRun()
		return nil
	})
}

// merge appends what all parts have made. Those that are in their places, up to the first that is not, cost nothing.
func (p *parts) merge() {
	p.outer.closeRun()
	inPlace := true
	for i := range p.tracers {
		if inPlace && !p.placed[i] {
			inPlace = false
			p.outer.bits.words = slices.Clip(p.outer.bits.words) // parts to come are in the memory behind
			p.outer.dense.close()
		}
		p.outer.merge(&p.tracers[i], inPlace)
	}
}

// merge appends what a part has made. In place says that it is right behind what t has already.
func (t *tracer) merge(p *tracer, inPlace bool) {
	t.layout.append(p.layout)
	t.inputs = append(t.inputs, p.inputs...)
	if inPlace {
		t.bits.adopt(&p.bits)
		t.dense.extend(p.dense.n)
	} else {
		t.bits.appendAll(&p.bits)
		t.dense.appendAll(&p.dense)
	}
	*p = tracer{}
}

// room is the memory behind what the outer witness has, for parts of one size.
type room struct {
	dense        []fr.Element
	words        []uint64
	dense0, bit0 int // where part 0 begins, in elements and in bits
	numbers      int // of a part
	bits         int // of a part
	inputs, runs int // of the part that told the size
}

// reserve makes room for n parts of the size of p.
func (t *tracer) reserve(p *tracer, n int) room {
	r := room{numbers: p.dense.n, bits: p.bits.count(), inputs: len(p.inputs), runs: len(p.layout)}
	t.dense.reserve(n * r.numbers)
	t.bits.reserve(n * r.bits)
	t.layout, t.inputs = slices.Grow(t.layout, n*r.runs), slices.Grow(t.inputs, n*r.inputs)
	r.dense, r.dense0 = t.dense.open[:cap(t.dense.open)], len(t.dense.open)
	r.words, r.bit0 = t.bits.words[:cap(t.bits.words)], t.bits.n
	return r
}

// place is where part i belongs.
func (r *room) place(i int) (chunks, bitWriter) {
	at := r.dense0 + i*r.numbers
	from := r.bit0 + i*r.bits
	to := from + r.bits
	return chunks{open: r.dense[at : at : at+r.numbers]},
		bitWriter{words: r.words[from/64 : from/64 : to/64], from: from % 64, n: from % 64}
}

// furnish lets part i write into its place.
func (r *room) furnish(t *tracer, i int) {
	t.dense, t.bits = r.place(i)
	t.inputs = make([]fr.Element, 0, r.inputs)
	t.layout = make(runCounts, 0, r.runs)
}

// fits tells whether a part has the size of the others.
func (r *room) fits(t *tracer) bool { return t.dense.n == r.numbers && t.bits.count() == r.bits }

// move copies part i, which was made in memory of its own, to its place if it fits.
func (r *room) move(t *tracer, i int) {
	if !r.fits(t) {
		return
	}
	dense, bits := r.place(i)
	dense.copyAll(&t.dense)
	bits.appendAll(&t.bits)
	t.dense, t.bits = dense, bits
}

// holds tells whether part i fits and is in its place. It is not if a list within it did not get along with the place and
// went elsewhere.
func (r *room) holds(t *tracer, i int) bool {
	dense, bits := r.place(i)
	return r.fits(t) && len(t.dense.open) == r.numbers &&
		unsafe.SliceData(t.dense.open) == unsafe.SliceData(dense.open) &&
		unsafe.SliceData(t.bits.words) == unsafe.SliceData(bits.words)
}
