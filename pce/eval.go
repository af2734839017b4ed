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
	err := s.eachStretch(ctx, w, func() func(x *stretch) error {
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
	return s.eachStretch(ctx, w, func() func(x *stretch) error {
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

// eachStretch shares all stretches of rows among the cores, each of which does its part with a function of
// its own.
func (s *System) eachStretch(ctx context.Context, w *Witness, worker func() func(x *stretch) error) error {
	if err := s.Layout().Match(w); err != nil {
		return err
	}
	work := s.stretches()
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			do := worker()
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
	if err := g.Wait(); err != nil {
		return fmt.Errorf("pce: evaluate %s: %w", s.name, err)
	}
	return nil
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

// Column has one field element for each variable.
type Column struct {
	Inputs, Aux []fr.Element
}

// Columns are the results of [System.Transpose] for the three matrices.
type Columns struct {
	A, B, C Column
}

// Transpose sums, for each matrix and each variable, coefficient times weight over all rows, the
// appended input rows included; len(weights) must be [System.FullRows]. With the Lagrange polynomials
// at τ as weights these are the A_k(τ), B_k(τ), C_k(τ) of key generation (circuits.md §9.3).
func (s *System) Transpose(ctx context.Context, weights []fr.Element) (*Columns, error) {
	if len(weights) != s.FullRows() {
		return nil, fmt.Errorf("pce: transpose %s: %d weights, want %d", s.name, len(weights), s.FullRows())
	}
	var out Columns
	work := s.stretches()
	g, ctx := errgroup.WithContext(ctx)
	// Two blocks may share a variable, two matrices share nothing.
	for m, col := range []*Column{&out.A, &out.B, &out.C} {
		g.Go(func() error { return s.transposeMatrix(ctx, m, work, weights, col) })
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("pce: transpose %s: %w", s.name, err)
	}
	for i, w := range weights[s.Counts().Rows:] {
		out.A.Inputs[i].Add(&out.A.Inputs[i], &w)
	}
	return &out, nil
}

func (s *System) transposeMatrix(ctx context.Context, m int, work []stretch, weights []fr.Element, col *Column) error {
	c := s.Counts()
	col.Inputs = make([]fr.Element, c.Inputs)
	byClass := [2][]fr.Element{make([]fr.Element, c.Bits), make([]fr.Element, c.Dense)}
	for k := range work {
		x := &work[k]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i := x.from; i < x.to; i++ {
			weight := &weights[int(x.first)+i-x.from]
			for _, t := range x.in.t.rowTerms(i, m) {
				v := x.in.resolve(t.Var)
				sum := &col.Inputs[0]
				switch i := v & maxIndex; kind(v >> kindShift) {
				case kindInput:
					sum = &col.Inputs[i]
				case kindBit:
					sum = &byClass[0][i]
				case kindDense:
					sum = &byClass[1][i]
				}
				var p fr.Element
				p.Mul(&s.dict[t.Coeff], weight)
				sum.Add(sum, &p)
			}
		}
	}
	col.Aux = make([]fr.Element, c.Aux)
	for _, r := range s.Layout().Runs {
		src := byClass[1]
		if r.Bit {
			src = byClass[0]
		}
		copy(col.Aux[r.Start:r.Start+r.N], src[r.First:])
	}
	return nil
}
