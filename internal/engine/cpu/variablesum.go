package cpu

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/affine"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// variableSum is Σ zₖ·Pₖ over the variables of a query.
//
// Points of bits that are set, and of other variables whose value is 1, are just added up; points of zeros are not even
// decoded. What is left goes to a windowed sum.
type variableSum[E any, P affine.Field[E]] struct {
	key     *srs.Key
	query   *query
	witness *pce.Witness
	size    int // of an encoded point
	decode  func([]byte) (affine.Point[E], error)

	plain   []affine.Point[E] // sums so far
	points  []affine.Point[E] // waiting for the windowed sum, with their scalars
	scalars []fr.Element
	msm     *affine.MSM[E, P] // nil until needed
}

func newVariableSum[E any, P affine.Field[E]](key *srs.Key, q *query, w *pce.Witness, size int, decode func([]byte) (affine.Point[E], error)) *variableSum[E, P] {
	return &variableSum[E, P]{key: key, query: q, witness: w, size: size, decode: decode}
}

const (
	// group is how many blocks are worked on between two steps of the windowed sum. It bounds memory when no
	// variable is a bit: 2^18 points and scalars are 34 MB in G1.
	group = 32
	// windowed is how many terms are worth a step of the windowed sum.
	windowed = 1 << 16
)

// run computes the sum.
func (s *variableSum[E, P]) run(ctx context.Context, m engine.Meter) (affine.Point[E], error) {
	var none affine.Point[E]
	if err := s.inputs(); err != nil {
		return none, err
	}
	m.Add(uint64(len(s.query.inputs)))
	workers := make([]*picker[E, P], parallel.Workers())
	for lo := 0; lo < s.query.blocks(); lo += group {
		hi := min(lo+group, s.query.blocks())
		parts := make([]part[E], hi-lo)
		err := parallel.Ranges(ctx, hi-lo, 1, func(worker, i, _ int) error {
			if workers[worker] == nil {
				workers[worker] = &picker[E, P]{variableSum: s, add: affine.NewAdder[E, P]()}
			}
			var err error
			parts[i], err = workers[worker].block(lo + i)
			return err
		})
		if err != nil {
			return none, err
		}
		for i := range parts {
			s.plain = append(s.plain, parts[i].plain)
			s.points = append(s.points, parts[i].points...)
			s.scalars = append(s.scalars, parts[i].scalars...)
		}
		if err := s.flush(ctx, windowed); err != nil {
			return none, err
		}
		_, _, from, _ := s.query.span(lo)
		_, _, _, to := s.query.span(hi - 1)
		s.key.Forget(s.query.section, from, to)
		m.Add(uint64(to - from))
	}
	if err := s.flush(ctx, 1); err != nil {
		return none, err
	}
	if s.msm != nil {
		p, err := s.msm.Sum(ctx)
		if err != nil {
			return none, err
		}
		s.plain = append(s.plain, p)
	}
	return affine.NewAdder[E, P]().Sum(s.plain), nil
}

// flush adds the waiting terms to the windowed sum if there are at least n.
func (s *variableSum[E, P]) flush(ctx context.Context, n int) error {
	if len(s.points) < n {
		return nil
	}
	if s.msm == nil {
		s.msm = affine.NewMSM[E, P](s.query.dense)
	}
	err := s.msm.Add(ctx, s.points, s.scalars)
	s.points, s.scalars = s.points[:0], s.scalars[:0]
	return err
}

// inputs takes the public inputs.
func (s *variableSum[E, P]) inputs() error {
	return s.key.View(s.query.section, 0, len(s.query.inputs), func(b []byte) error {
		for i, input := range s.query.inputs {
			p, err := s.decode(b[i*s.size : (i+1)*s.size])
			if err != nil {
				return s.key.PointError(s.query.section, i, err)
			}
			s.points = append(s.points, p)
			s.scalars = append(s.scalars, s.witness.Inputs[input])
		}
		return nil
	})
}

// part is what one block of variables gives.
type part[E any] struct {
	plain   affine.Point[E]
	points  []affine.Point[E]
	scalars []fr.Element
}

// picker goes through blocks of variables. It belongs to one goroutine.
type picker[E any, P affine.Field[E]] struct {
	*variableSum[E, P]
	add  *affine.Adder[E, P]
	ones []affine.Point[E]
}

func (k *picker[E, P]) block(n int) (out part[E], err error) {
	varLo, varHi, pointLo, pointHi := k.query.span(n)
	k.ones = k.ones[:0]
	err = k.key.View(k.query.section, pointLo, pointHi, func(b []byte) error {
		at := 0 // next point of the block
		run := k.query.runAt(varLo)
		for v := varLo; v < varHi; run++ {
			r := k.query.layout.Runs[run]
			end := min(r.Start+r.N, varHi)
			for ; v < end; v++ {
				if k.query.aux != nil && !k.query.aux.Get(v) {
					continue
				}
				if err := k.term(&out, r.Bit, r.First+v-r.Start, b[at*k.size:(at+1)*k.size]); err != nil {
					return k.key.PointError(k.query.section, pointLo+at, err)
				}
				at++
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	out.plain = k.add.Sum(k.ones)
	return out, nil
}

// term takes one variable, number i of its class, and its point.
func (k *picker[E, P]) term(out *part[E], bit bool, i int, encoded []byte) error {
	var value *fr.Element
	if bit {
		if !k.witness.Bit(i) {
			return nil
		}
	} else if value = &k.witness.Dense[i]; value.IsZero() {
		return nil
	}
	p, err := k.decode(encoded)
	if err != nil {
		return err
	}
	if bit || value.IsOne() {
		k.ones = append(k.ones, p)
		return nil
	}
	out.points = append(out.points, p)
	out.scalars = append(out.scalars, *value)
	return nil
}
