package pce

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"
)

// Eval writes the value of A, B and C in every row for the given witness; each slice has
// [System.FullRows] elements, the appended input rows last. It works on all cores, block by block,
// straight from the packed witness, and needs little memory beyond the results.
//
// It returns a *LayoutError if the witness was made for other rows, and the cause of ctx's end.
func (s *System) Eval(ctx context.Context, w *Witness, a, b, c []fr.Element) error {
	for m, o := range [3][]fr.Element{a, b, c} {
		if len(o) != s.FullRows() {
			return fmt.Errorf("pce: evaluate %s: %d values for %c, want %d", s.name, len(o), "abc"[m], s.FullRows())
		}
	}
	err := s.evaluate(ctx, w, func(int) func(x *stretch) error {
		return func(x *stretch) error {
			from, to := int(x.first), int(x.first)+x.to-x.from
			s.evalStretch(x, w, a[from:to], b[from:to], c[from:to])
			return nil
		}
	})
	if err != nil {
		return err
	}
	rows := s.Counts().Rows
	for i, v := range w.Inputs {
		a[rows+i], b[rows+i], c[rows+i] = v, fr.Element{}, fr.Element{}
	}
	return nil
}

// EvalTiles is Eval for those who do not keep the results: it calls emit with the values of rows first,
// first+1, … for tiles of at most 8192 rows that together cover the circuit's rows, the appended input rows
// left out. Tiles come in no order and from several goroutines at once; the slices are reused after emit
// returns. An error of emit ends the evaluation and is returned.
func (s *System) EvalTiles(ctx context.Context, w *Witness, emit func(first int, a, b, c []fr.Element) error) error {
	return s.evaluate(ctx, w, func(int) func(x *stretch) error {
		var buf [3][]fr.Element
		for m := range buf {
			buf[m] = make([]fr.Element, stretchRows)
		}
		return func(x *stretch) error {
			n := x.to - x.from
			s.evalStretch(x, w, buf[0][:n], buf[1][:n], buf[2][:n])
			return emit(int(x.first), buf[0][:n], buf[1][:n], buf[2][:n])
		}
	})
}

// evaluate shares all stretches of rows among the cores for a witness that must be of this system.
func (s *System) evaluate(ctx context.Context, w *Witness, worker func(i int) func(x *stretch) error) error {
	if err := s.Layout().Match(w); err != nil {
		return err
	}
	if err := s.eachStretch(ctx, runtime.GOMAXPROCS(0), worker); err != nil {
		return fmt.Errorf("pce: evaluate %s: %w", s.name, err)
	}
	return nil
}

// eachStretch shares all stretches of rows among n goroutines, each of which does its part with a function of
// its own.
func (s *System) eachStretch(ctx context.Context, n int, worker func(i int) func(x *stretch) error) error {
	work := s.stretches()
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error {
			do := worker(i)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(work) {
					return nil
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := do(&work[i]); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// stretch is a number of own rows of one block.
type stretch struct {
	in       *instance
	from, to int
	first    uint32 // the row in the whole circuit
}

// stretchRows bounds a stretch, so that cores share the work of a block that has no nested ones.
const stretchRows = 1 << 13

func (s *System) stretches() []stretch {
	var out []stretch
	s.walk(func(in *instance, from, to int, first uint32) {
		for ; from < to; from += stretchRows {
			end := min(from+stretchRows, to)
			out = append(out, stretch{in, from, end, first})
			first += uint32(end - from)
		}
	})
	return out
}

func (s *System) evalStretch(x *stretch, w *Witness, a, b, c []fr.Element) {
	for i := range a {
		for m, out := range [3]*fr.Element{&a[i], &b[i], &c[i]} {
			s.evalTerms(x.in.t.rowTerms(x.from+i, m), x.in, w, out)
		}
	}
}

// evalTerms sets sum to Σ coeff·value.
func (s *System) evalTerms(terms []Term, in *instance, w *Witness, sum *fr.Element) {
	*sum = fr.Element{}
	for _, t := range terms {
		v := in.resolve(t.Var)
		i := int(v & maxIndex)
		var value *fr.Element
		switch kind(v >> kindShift) {
		case kindBit:
			if w.Bit(i) {
				addCoeff(sum, s.dict, t.Coeff)
			}
			continue
		case kindOne:
			addCoeff(sum, s.dict, t.Coeff)
			continue
		case kindDense:
			value = &w.Dense[i]
		case kindInput:
			value = &w.Inputs[i]
		}
		switch t.Coeff {
		case codeOne:
			sum.Add(sum, value)
		case codeMinusOne:
			sum.Sub(sum, value)
		default:
			var p fr.Element
			p.Mul(&s.dict[t.Coeff], value)
			sum.Add(sum, &p)
		}
	}
}

func addCoeff(sum *fr.Element, dict []fr.Element, code uint32) {
	sum.Add(sum, &dict[code])
}
