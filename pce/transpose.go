package pce

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

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
// at τ as weights these are the A_k(τ), B_k(τ), C_k(τ) of key generation (circuits.md §9.3). It works on
// all cores.
func (s *System) Transpose(ctx context.Context, weights []fr.Element) (*Columns, error) {
	if len(weights) != s.FullRows() {
		return nil, fmt.Errorf("pce: transpose %s: %d weights, want %d", s.name, len(weights), s.FullRows())
	}
	var sums [3]columnSums
	for m := range sums {
		sums[m].init(s.Counts())
	}
	workers := make([][3]scatter, runtime.GOMAXPROCS(0))
	err := s.eachStretch(ctx, len(workers), func(i int) func(x *stretch) error {
		for m := range sums {
			workers[i][m].init(&sums[m])
		}
		return func(x *stretch) error {
			s.transposeStretch(x, weights, &workers[i])
			return nil
		}
	})
	if err != nil {
		return nil, fmt.Errorf("pce: transpose %s: %w", s.name, err)
	}
	for i := range workers {
		for m := range sums {
			workers[i][m].finish()
		}
	}
	for i, w := range weights[s.Counts().Rows:] {
		sums[0].inputs[i].Add(&sums[0].inputs[i], &w)
	}
	l := s.Layout()
	return &Columns{A: sums[0].column(l), B: sums[1].column(l), C: sums[2].column(l)}, nil
}

func (s *System) transposeStretch(x *stretch, weights []fr.Element, out *[3]scatter) {
	for i := x.from; i < x.to; i++ {
		weight := &weights[int(x.first)+i-x.from]
		for m := range out {
			for _, t := range x.in.t.rowTerms(i, m) {
				value := *weight
				switch t.Coeff {
				case codeOne:
				case codeMinusOne:
					value.Neg(weight)
				default:
					value.Mul(&s.dict[t.Coeff], weight)
				}
				out[m].add(x.in.resolve(t.Var), &value)
			}
		}
	}
}

// columnSums are the sums of one matrix, to which all cores add.
type columnSums struct {
	inputs      []fr.Element
	bits, dense []fr.Element
	locks       [2 * shards]sync.Mutex // of the shards of bits, then of those of dense
}

// Variables fall into shards by their index, neighbours in runs of shardRun, so that cores at work on neighbouring rows
// rarely want the same one.
const (
	shards   = 64
	shardRun = 64
)

func (c *columnSums) init(n Counts) {
	c.inputs = make([]fr.Element, n.Inputs)
	c.bits, c.dense = make([]fr.Element, n.Bits), make([]fr.Element, n.Dense)
}

// column puts bits and other private variables in the order of their numbers.
func (c *columnSums) column(l *Layout) Column {
	aux := make([]fr.Element, len(c.bits)+len(c.dense))
	for _, r := range l.Runs {
		src := c.dense
		if r.Bit {
			src = c.bits
		}
		copy(aux[r.Start:r.Start+r.N], src[r.First:])
	}
	return Column{Inputs: c.inputs, Aux: aux}
}

// scatter collects what one core has for the sums, and adds it a shard at a time.
type scatter struct {
	to      *columnSums
	inputs  []fr.Element
	pending [2 * shards][]addend // by shard, as the locks
}

// addend is for the sum of a private variable of a known class.
type addend struct {
	index uint32
	value fr.Element
}

// addendsPerLock is how many addends for one shard are collected.
const addendsPerLock = 128

func (s *scatter) init(to *columnSums) {
	s.to, s.inputs = to, make([]fr.Element, len(to.inputs))
	all := make([]addend, len(s.pending)*addendsPerLock)
	for i := range s.pending {
		s.pending[i], all = all[:0:addendsPerLock], all[addendsPerLock:]
	}
}

// add arranges for value to be added to the sum of a resolved variable.
func (s *scatter) add(v uint32, value *fr.Element) {
	i := v & maxIndex
	shard := int(i / shardRun % shards)
	switch kind(v >> kindShift) {
	case kindOne:
		s.inputs[0].Add(&s.inputs[0], value)
		return
	case kindInput:
		s.inputs[i].Add(&s.inputs[i], value)
		return
	case kindDense:
		shard += shards
	}
	s.pending[shard] = append(s.pending[shard], addend{i, *value})
	if len(s.pending[shard]) == addendsPerLock {
		s.flush(shard)
	}
}

func (s *scatter) flush(shard int) {
	sums := s.to.bits
	if shard >= shards {
		sums = s.to.dense
	}
	s.to.locks[shard].Lock()
	defer s.to.locks[shard].Unlock()
	for i := range s.pending[shard] {
		p := &s.pending[shard][i]
		sums[p.index].Add(&sums[p.index], &p.value)
	}
	s.pending[shard] = s.pending[shard][:0]
}

// finish adds what is left. No other core may be at work.
func (s *scatter) finish() {
	for shard := range s.pending {
		s.flush(shard)
	}
	for i := range s.inputs {
		s.to.inputs[i].Add(&s.to.inputs[i], &s.inputs[i])
	}
}
