package pce

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"
)

// chunks is an append-only list of field elements that never moves what it has.
type chunks struct {
	full [][]fr.Element
	open []fr.Element
	n    int
}

// Chunks grow with what there is, within these bounds.
const (
	minChunk = 1 << 8
	maxChunk = 1 << 13
)

func (c *chunks) append(v fr.Element) {
	if len(c.open) == cap(c.open) {
		c.extend(1)[0] = v
		return
	}
	c.open = append(c.open, v)
	c.n++
}

// extend makes room for n more elements in one piece, which the caller fills.
func (c *chunks) extend(n int) []fr.Element {
	at := len(c.open)
	if cap(c.open)-at < n {
		c.close()
		c.open, at = make([]fr.Element, 0, max(n, min(max(c.n, minChunk), maxChunk))), 0
	}
	c.open = c.open[:at+n]
	c.n += n
	return c.open[at:]
}

func (c *chunks) close() {
	if len(c.open) > 0 {
		c.full = append(c.full, c.open)
	}
	c.open = nil
}

// appendAll takes over what o has.
func (c *chunks) appendAll(o *chunks) {
	c.close()
	o.close()
	c.full = append(c.full, o.full...)
	c.n += o.n
}

// flat is all elements in one slice; c is empty afterwards.
func (c *chunks) flat() []fr.Element {
	c.close()
	full := c.full
	c.full = nil
	switch len(full) {
	case 0:
		return nil
	case 1:
		return slices.Clip(full[0])
	}
	out := make([]fr.Element, 0, c.n)
	for i, part := range full {
		out = append(out, part...)
		full[i] = nil
	}
	return out
}

// parts are the blocks of a list that are made side by side.
type parts struct {
	outer   *tracer
	tracers []tracer
	workers int
	body    func(b Builder, i int)

	// room is where all parts put their field elements if each has as many as the first, which is what
	// blocks of one shape have. Nil: each has chunks of its own.
	room []fr.Element
}

// A list of blocks gets room in one piece if it is that long for each worker: the first part, from which the size is
// known, is made before the others start.
const partsForRoom = 16

func (t *tracer) Blocks(_ string, n int, args func(int) []Arg, body func(Builder, int, []Arg) []Arg) [][]Arg {
	out := make([][]Arg, n)
	p := parts{
		outer: t, tracers: make([]tracer, n), workers: min(t.workers, n),
		body: func(b Builder, i int) { out[i] = body(b, i, args(i)) },
	}
	first := 0
	if n >= partsForRoom*p.workers && n > 0 {
		if err := p.makeFirst(); err != nil {
			t.Fail(err)
		}
		first = 1
	}
	if err := p.makeFrom(first); err != nil {
		t.Fail(err)
	}
	p.merge()
	return out
}

// makeFirst makes part 0 and room for all.
func (p *parts) makeFirst() error {
	if err := p.part(0, p.outer.workers); err != nil {
		return err
	}
	first := &p.tracers[0].dense
	size := first.n
	if size == 0 {
		return nil
	}
	p.room = make([]fr.Element, size*len(p.tracers))
	adviseLarge(p.room)
	copy(p.room, first.flat())
	*first = chunks{open: p.room[:size:size], n: size}
	for i := range p.tracers[1:] {
		at := (i + 1) * size
		p.tracers[i+1].dense.open = p.room[at : at : at+size]
	}
	return nil
}

// makeFrom makes the parts from number first on.
func (p *parts) makeFrom(first int) error {
	var next atomic.Int64
	next.Store(int64(first))
	var g errgroup.Group
	for range p.workers {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(p.tracers) {
					return nil
				}
				// The outer blocks use the cores already; inner ones get what is left.
				if err := p.part(i, p.outer.workers/p.workers); err != nil {
					next.Store(int64(len(p.tracers))) // the others need not start
					return err
				}
			}
		})
	}
	return g.Wait()
}

func (p *parts) part(i, workers int) error {
	t := &p.tracers[i]
	t.ctx, t.workers = p.outer.ctx, workers
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return guard(func() error {
		p.body(t, i)
		return nil
	})
}

// merge appends what all parts have made.
func (p *parts) merge() {
	whole := p.room != nil
	for i := range p.tracers {
		d := &p.tracers[i].dense
		whole = whole && len(d.full) == 0 && len(d.open) == len(p.room)/len(p.tracers)
	}
	if whole {
		for i := range p.tracers {
			p.tracers[i].dense = chunks{}
		}
		p.outer.dense.appendAll(&chunks{full: [][]fr.Element{p.room}, n: len(p.room)})
	}
	for i := range p.tracers {
		p.outer.merge(&p.tracers[i])
	}
}

// merge appends what a part has made.
func (t *tracer) merge(p *tracer) {
	p.closeRun()
	t.closeRun()
	t.layout.append(&p.layout)
	t.inputs = append(t.inputs, p.inputs...)
	t.bits.appendAll(&p.bits)
	t.dense.appendAll(&p.dense)
	*p = tracer{}
}
