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
// which row an altered witness breaks. w must have the circuit's layout.
func CheckWitness(ctx context.Context, synthesize func(Builder) error, w *Witness) error {
	c := newChecker(ctx)
	c.override = w
	c.onRow = c.requireProduct
	return c.run(synthesize)
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
	c := newChecker(ctx)
	var out Rows
	var used classDensities
	c.onRow = func(lcs [3][]term, v [3]fr.Element) {
		out.A, out.B, out.C = append(out.A, v[0]), append(out.B, v[1]), append(out.C, v[2])
		for m := range used.bits {
			for _, t := range lcs[m] {
				if !t.coeff.IsZero() {
					used.mark(m, t.ref.packed())
				}
			}
		}
	}
	if err := c.run(synthesize); err != nil {
		return nil, nil, err
	}
	for _, v := range c.inputs {
		out.A, out.B, out.C = append(out.A, v), append(out.B, fr.Element{}), append(out.C, fr.Element{})
	}
	w := c.witness()
	out.Layout = newLayout(Counts{
		Rows: c.rows, Inputs: len(c.inputs),
		Aux: c.bits.n + len(c.dense), Bits: c.bits.n, Dense: len(c.dense),
	}, c.layout.runs, &used)
	return w, &out, nil
}

// checker has structure and values, one frame, and no blocks.
type checker struct {
	expander
	ctx      context.Context
	override *Witness // values to take in place of the circuit's
	inputs   []fr.Element
	bits     bitWriter
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
		n = c.bits.n
		set := !v.IsZero()
		if w := c.override; w != nil && n < w.NumBits {
			set = w.Bit(n)
		}
		c.bits.append(uint64(bit(set)), 1)
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
			if c.bits.words[i>>6]>>(i&63)&1 == 1 {
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
		Inputs: c.inputs, Bits: c.bits.words, NumBits: c.bits.n, Dense: c.dense,
		Layout: layoutDigest(len(c.inputs), c.layout.runs),
	}
}
