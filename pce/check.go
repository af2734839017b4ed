package pce

import (
	"context"
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Rows are a circuit's rows evaluated while it was run, without a System.
type Rows struct {
	Layout  *Layout
	A, B, C []fr.Element // one value a row, the appended input rows last
}

// Check runs a circuit for rows and values at once, bit by bit, and returns a *RowError for the
// first row that its values do not satisfy.
func Check(ctx context.Context, synthesize func(Builder) error) error {
	c := newChecker(ctx)
	c.onRow = c.requireProduct
	return c.run(synthesize)
}

// CheckWitness is Check with the values of w in place of those that the circuit computes: it answers
// which row an altered witness breaks. If no row breaks, but w has another layout than the circuit, the error is a
// *LayoutError.
func CheckWitness(ctx context.Context, synthesize func(Builder) error, w *Witness) error {
	c := newChecker(ctx)
	c.override = w
	if w == nil || len(w.Bits) != bitWords(w.NumBits) {
		c.override = &Witness{} // the layout will differ
	}
	c.onRow = c.requireProduct
	if err := c.run(synthesize); err != nil {
		return err
	}
	l := Layout{Counts: c.counts(), Digest: layoutDigest(len(c.inputs), countsOf(c.layout.runs))}
	return l.Match(w)
}

func (c *checker) counts() Counts {
	return Counts{
		Rows: c.rows, Inputs: len(c.inputs),
		Aux: c.numBits + len(c.dense), Bits: c.numBits, Dense: len(c.dense),
	}
}

func (c *checker) requireProduct(_ [3][]term, v [3]fr.Element) {
	var p fr.Element
	if p.Mul(&v[0], &v[1]); !p.Equal(&v[2]) {
		c.fail(&RowError{Row: c.rows, Path: c.pathString()})
	}
}

// Direct is the path without a System: it evaluates rows during synthesis and returns them with the
// witness. It is slower than MakeWitness with System.Eval and needs no recording.
func Direct(ctx context.Context, synthesize func(Builder) error) (*Witness, *Rows, error) {
	var out Rows
	w, layout, err := DirectTiles(ctx, synthesize, func(_ int, a, b, c []fr.Element) error {
		out.A, out.B, out.C = append(out.A, a...), append(out.B, b...), append(out.C, c...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, v := range w.Inputs {
		out.A, out.B, out.C = append(out.A, v), append(out.B, fr.Element{}), append(out.C, fr.Element{})
	}
	out.Layout = layout
	return w, &out, nil
}

// DirectTiles is Direct for those who do not keep the rows: emit is called with the values of rows first, first+1, …, tile
// after tile, the appended input rows left out. The slices are reused after it returns. An error of emit ends the synthesis
// and is returned.
func DirectTiles(
	ctx context.Context, synthesize func(Builder) error, emit func(first int, a, b, c []fr.Element) error,
) (*Witness, *Layout, error) {
	c := newChecker(ctx)
	var used classDensities
	tile := rowTile{emit: emit}
	c.onRow = func(lcs [3][]term, v [3]fr.Element) {
		if err := tile.add(v); err != nil {
			c.fail(err)
		}
		for m := range used.bits {
			for _, t := range lcs[m] {
				if !t.coeff.IsZero() {
					used.mark(m, t.ref.packed())
				}
			}
		}
	}
	err := c.run(func(b Builder) error {
		if err := synthesize(b); err != nil {
			return err
		}
		return tile.flush()
	})
	if err != nil {
		return nil, nil, err
	}
	return c.witness(), newLayout(c.counts(), c.layout.runs, &used), nil
}

// rowTile gathers rows for DirectTiles.
type rowTile struct {
	first   int
	a, b, c []fr.Element
	emit    func(first int, a, b, c []fr.Element) error
}

// add takes one more row.
func (t *rowTile) add(v [3]fr.Element) error {
	t.a, t.b, t.c = append(t.a, v[0]), append(t.b, v[1]), append(t.c, v[2])
	if len(t.a) < rowsPerPoll {
		return nil
	}
	return t.flush()
}

// flush emits what is gathered.
func (t *rowTile) flush() error {
	if len(t.a) == 0 {
		return nil
	}
	err := t.emit(t.first, t.a, t.b, t.c)
	t.first += len(t.a)
	t.a, t.b, t.c = t.a[:0], t.b[:0], t.c[:0]
	return err
}

// checker has structure and values, one frame, and no blocks.
type checker struct {
	expander
	ctx      context.Context
	override *Witness // values to take in place of the circuit's
	inputs   []fr.Element
	bits     Bitset
	numBits  int
	dense    []fr.Element
	layout   runList
	rows     int
	path     []string
	onRow    func(lcs [3][]term, values [3]fr.Element)
}

// checkFrame is the only frame of a checker.
const checkFrame = 1

// rowsPerPoll says how often long runs look whether their context has ended.
const rowsPerPoll = 1 << 12

func newChecker(ctx context.Context) *checker {
	c := &checker{ctx: ctx}
	c.expander.sink = c
	c.inputs = append(c.inputs, one())
	return c
}

func (c *checker) run(synthesize func(Builder) error) error {
	if err := guard(func() error { return synthesize(c) }); err != nil {
		return fmt.Errorf("pce: check: %w", err)
	}
	return nil
}

func (c *checker) fail(err error) { panic(newFailure(err)) }

func (c *checker) alloc(k kind, v fr.Element) ref {
	var n int
	switch k {
	case kindInput:
		n = len(c.inputs)
		if w := c.override; w != nil && n < len(w.Inputs) {
			v = w.Inputs[n]
		}
		c.inputs = append(c.inputs, v)
	case kindBit:
		n = c.numBits
		set := !v.IsZero()
		if w := c.override; w != nil && n < w.NumBits {
			set = w.Bit(n)
		}
		if n%64 == 0 {
			c.bits = append(c.bits, 0)
		}
		if set {
			c.bits.Set(n)
		}
		c.numBits++
		c.layout.add(1, true)
	default:
		n = len(c.dense)
		if w := c.override; w != nil && n < len(w.Dense) {
			v = w.Dense[n]
		}
		c.dense = append(c.dense, v)
		c.layout.add(1, false)
	}
	return makeRef(checkFrame, k, uint32(n))
}

func (c *checker) row(a, b, cc []term) {
	if c.rows%rowsPerPoll == 0 && c.ctx.Err() != nil {
		c.fail(context.Cause(c.ctx))
	}
	c.onRow([3][]term{a, b, cc}, [3]fr.Element{c.eval(a), c.eval(b), c.eval(cc)})
	c.rows++
}

func (c *checker) eval(terms []term) fr.Element {
	var sum, p fr.Element
	for _, t := range terms {
		i := int(t.ref.index())
		switch t.ref.kind() {
		case kindOne:
			sum.Add(&sum, &t.coeff)
		case kindBit:
			if c.bits.Get(i) {
				sum.Add(&sum, &t.coeff)
			}
		case kindInput:
			sum.Add(&sum, p.Mul(&t.coeff, &c.inputs[i]))
		case kindDense:
			sum.Add(&sum, p.Mul(&t.coeff, &c.dense[i]))
		}
	}
	return sum
}

func (c *checker) Within(name string, f func()) {
	c.path = append(c.path, name)
	f()
	c.path = c.path[:len(c.path)-1]
}

func (c *checker) Block(name string, in []Arg, body Body) (out []Arg) {
	c.Within(name, func() { out = body(c, in) })
	return out
}

func (c *checker) Blocks(name string, n int, args func(int) []Arg, body func(Builder, int, []Arg) []Arg) [][]Arg {
	out := make([][]Arg, n)
	for i := range out {
		c.Within(fmt.Sprintf("%s[%d]", name, i), func() { out[i] = body(c, i, args(i)) })
	}
	return out
}

func (c *checker) pathString() string {
	return strings.Join(append([]string{"circuit"}, c.path...), "/")
}

func (c *checker) witness() *Witness {
	return &Witness{
		Inputs: c.inputs, Bits: c.bits, NumBits: c.numBits, Dense: c.dense,
		Layout: layoutDigest(len(c.inputs), countsOf(c.layout.runs)),
	}
}
