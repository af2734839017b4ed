package pce

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// RecordOptions tunes [Record]. Nil means the defaults.
type RecordOptions struct {
	// VerifyBlocks compares every instance of every block with the recorded one, not just the second
	// and the last. It costs about as much as recording without blocks would.
	VerifyBlocks bool
}

// Record runs a circuit for its structure alone and returns the constraint system, named name.
// synthesize must describe the same rows whatever values it carries. PoRep-32GiB takes under two seconds.
//
// It returns the cause of ctx's end, a *BlockError when instances of a block differ or a body touches a variable that is
// not among its arguments, ErrTooLarge when a count leaves the format's range, and what the circuit
// itself gave to Fail.
func Record(ctx context.Context, name string, synthesize func(Builder) error, o *RecordOptions) (*System, error) {
	r := &recorder{ctx: ctx, dict: newDictionary(), blocks: make(map[string]*block)}
	r.expander.sink = r
	if o != nil {
		r.verifyAll = o.VerifyBlocks
	}
	r.templates = []*template{nil} // the root, put in its place at the end
	root := r.enter("", 0)
	r.alloc(kindInput, one()) // ONE
	err := guard(func() error {
		if err := synthesize(r); err != nil {
			return err
		}
		r.verifyLast()
		return r.verifyPending()
	})
	if err != nil {
		return nil, fmt.Errorf("pce: record %s: %w", name, err)
	}
	r.templates[0] = root.tpl
	s := newSystem(name, r.dict.values, r.templates)
	if err := s.checkExtent(); err != nil {
		return nil, fmt.Errorf("pce: record %s: %w", name, err)
	}
	return s, nil
}

// recorder keeps the structure of a circuit.
type recorder struct {
	expander
	ctx       context.Context
	dict      *dictionary
	templates []*template
	blocks    map[string]*block // by key
	order     []*block          // in order of first use
	frame     *frame
	frames    uint32 // number of frames ever opened
	verifyAll bool
	pending   []instanceCheck // with verifyAll, all instances but the first
	fork      bool            // only compares with what another recorder has
}

// frame is one execution of a block body, or of the circuit at the top.
type frame struct {
	id       uint32
	name     string
	instance int
	parent   *frame
	tpl      *template
}

// block is what the recorder knows of all blocks with one key.
type block struct {
	template  uint32
	name      string
	args      []Arg // as the body sees them; their refs belong to the frame with this id
	results   []Arg // as the body gave them, likewise
	frame     uint32
	instances int
	last      Body // of the newest instance
}

func (r *recorder) enter(name string, instance int) *frame {
	r.frames++
	r.frame = &frame{id: r.frames, name: name, instance: instance, parent: r.frame, tpl: &template{name: name}}
	return r.frame
}

func (r *recorder) leave() { r.frame = r.frame.parent }

func (r *recorder) fail(err error) { panic(newFailure(err)) }

func (r *recorder) alloc(k kind, _ fr.Element) ref {
	t := r.frame.tpl
	n := &t.dense
	switch k {
	case kindInput:
		n = &t.inputs
	case kindBit:
		n = &t.bits
	}
	if *n >= maxIndex {
		r.fail(fmt.Errorf("%w: more than %d variables of a kind", ErrTooLarge, maxIndex))
	}
	v := makeRef(r.frame.id, k, *n)
	*n++
	if k != kindInput {
		t.runs = r.appendOwnRun(t, k == kindBit)
	}
	return v
}

// appendOwnRun adds one variable to the runs, starting a new run after a nested block.
func (r *recorder) appendOwnRun(t *template, bit bool) []classRun {
	if n := len(t.calls); n > 0 && int(t.calls[n-1].runs) == len(t.runs) {
		return append(t.runs, makeRun(1, bit))
	}
	return appendRun(t.runs, 1, bit)
}

func (r *recorder) row(a, b, c []term) {
	t := r.frame.tpl
	for _, lc := range [3][]term{a, b, c} {
		for _, x := range lc {
			if !r.inFrame(x.ref) {
				r.fail(r.blockError(t.ownRows(), ErrForeignVariable))
			}
			t.terms = append(t.terms, Term{Var: x.ref.packed(), Coeff: r.code(x.coeff)})
		}
		t.ends = append(t.ends, uint32(len(t.terms)))
	}
	t.rows++
}

func (r *recorder) inFrame(x ref) bool {
	return x == refOne || x.frame() == r.frame.id
}

func (r *recorder) blockError(row int, err error) error {
	return &BlockError{Block: r.frame.name, Instance: r.frame.instance, Row: row, Err: err}
}

func (r *recorder) Within(_ string, f func()) { f() }

func (r *recorder) Block(name string, in []Arg, body Body) []Arg {
	if r.ctx.Err() != nil {
		r.fail(context.Cause(r.ctx))
	}
	slots := newSlotTable(r.frame.id)
	key, args := slots.describe(name, in, r.frames+1)
	if slots.foreign {
		r.fail(fmt.Errorf("argument of block %q: %w", name, r.blockError(r.frame.tpl.ownRows(), ErrForeignVariable)))
	}
	b := r.blocks[key]
	switch {
	case r.fork && b == nil: // the first instance of the block around had none like it
		r.fail(r.blockError(r.frame.tpl.ownRows(), ErrBlockDiffers))
	case r.fork:
		r.verify(b, r.frame.instance, body)
		return r.place(b, slots.refs)
	case b == nil:
		b = r.recordBlock(name, key, args, uint32(len(slots.refs)), body)
	case r.verifyAll:
		r.pending = append(r.pending, instanceCheck{b, b.instances, body})
	case b.instances == 1:
		r.verify(b, b.instances, body)
	}
	b.instances++
	b.last = body
	return r.place(b, slots.refs)
}

func (r *recorder) Blocks(name string, n int, args func(int) []Arg, body func(Builder, int, []Arg) []Arg) [][]Arg {
	out := make([][]Arg, n)
	for i := range out {
		out[i] = r.Block(name, args(i), func(b Builder, in []Arg) []Arg { return body(b, i, in) })
	}
	return out
}

// recordBlock runs the first instance of a block and makes its template.
func (r *recorder) recordBlock(name, key string, args []Arg, slots uint32, body Body) *block {
	f := r.enter(name, 0)
	f.tpl.slots = slots
	results := body(r, args)
	r.checkResults(results)
	r.leave()
	b := &block{template: uint32(len(r.templates)), name: name, args: args, results: results, frame: f.id}
	r.templates = append(r.templates, f.tpl)
	r.blocks[key] = b
	r.order = append(r.order, b)
	return b
}

// checkResults refuses results that are not the block's own.
func (r *recorder) checkResults(results []Arg) {
	for _, a := range results {
		eachRef(a, func(x ref) {
			if !r.inFrame(x) {
				r.fail(r.blockError(r.frame.tpl.ownRows(), ErrForeignVariable))
			}
		})
	}
}

// verify runs body as another instance of b and compares what it makes with b's template.
func (r *recorder) verify(b *block, instance int, body Body) {
	f := r.enter(b.name, instance)
	defer r.leave()
	want := r.templates[b.template]
	f.tpl.slots = want.slots
	args := rebase(b.args, b.frame, f.id)
	results := body(r, args)
	r.checkResults(results)
	if row, same := compare(want, f.tpl); !same {
		r.fail(r.blockError(row, ErrBlockDiffers))
		return
	}
	if !sameResults(b.results, rebase(results, f.id, b.frame)) {
		r.fail(r.blockError(f.tpl.ownRows(), fmt.Errorf("results: %w", ErrBlockDiffers)))
	}
}

// verifyLast compares the last instance of every block, unless it has been.
func (r *recorder) verifyLast() {
	for i := 0; i < len(r.order); i++ { // running a body may add blocks
		if b := r.order[i]; b.instances > 2 && !r.verifyAll {
			r.verify(b, b.instances-1, b.last)
		}
	}
}

// place adds a call of b to the current frame and returns b's results as the frame sees them.
func (r *recorder) place(b *block, slots []ref) []Arg {
	t, sub := r.frame.tpl, r.templates[b.template]
	c := call{
		template: b.template,
		ownRows:  uint32(t.ownRows()), runs: uint32(len(t.runs)),
		inputs: t.inputs, bits: t.bits, dense: t.dense,
		binds: uint32(len(t.binds)),
	}
	for _, s := range slots {
		t.binds = append(t.binds, s.packed())
	}
	t.calls = append(t.calls, c)
	for _, n := range []struct{ have, more *uint32 }{
		{&t.inputs, &sub.inputs}, {&t.bits, &sub.bits}, {&t.dense, &sub.dense}, {&t.rows, &sub.rows},
	} {
		if uint64(*n.have)+uint64(*n.more) > maxIndex {
			r.fail(fmt.Errorf("%w: more than %d rows or variables of a kind", ErrTooLarge, maxIndex))
		}
		*n.have += *n.more
	}
	outside := func(x ref) ref {
		switch x.kind() {
		case kindInput:
			return makeRef(r.frame.id, kindInput, c.inputs+x.index())
		case kindBit:
			return makeRef(r.frame.id, kindBit, c.bits+x.index())
		case kindDense:
			return makeRef(r.frame.id, kindDense, c.dense+x.index())
		case kindSlot:
			return slots[x.index()]
		}
		return x
	}
	out := make([]Arg, len(b.results))
	for i, a := range b.results {
		out[i] = mapRefs(a, outside)
	}
	return out
}

// rebase is args with the refs of frame from moved to frame to.
func rebase(args []Arg, from, to uint32) []Arg {
	out := make([]Arg, len(args))
	for i, a := range args {
		out[i] = mapRefs(a, func(x ref) ref {
			if x.frame() == from {
				return makeRef(to, x.kind(), x.index())
			}
			return x
		})
	}
	return out
}

// compare says whether two templates are equal, and if not, the first own row that differs.
func compare(want, got *template) (row int, same bool) {
	for i := range min(want.ownRows(), got.ownRows()) {
		for m := range 3 {
			if !slices.Equal(want.rowTerms(i, m), got.rowTerms(i, m)) {
				return i, false
			}
		}
	}
	same = want.ownRows() == got.ownRows() &&
		want.inputs == got.inputs && want.bits == got.bits && want.dense == got.dense && want.rows == got.rows &&
		slices.Equal(want.runs, got.runs) && slices.Equal(want.calls, got.calls) && slices.Equal(want.binds, got.binds)
	return min(want.ownRows(), got.ownRows()), same
}

// failure unwinds a circuit's run; guard catches it.
type failure struct{ err error }

// newFailure makes sure that a fault is one: a circuit that ends with Fail(nil) must not pass for a whole one.
func newFailure(err error) failure {
	if err == nil {
		err = errors.New("circuit failed without an error")
	}
	return failure{err}
}

// guard runs circuit code: a failure becomes the error it carries, any other panic an ErrPanic.
func guard(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			err = panicError(p)
		}
	}()
	return f()
}
