package gpu

import (
	"fmt"
	"math/bits"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// query is a section of the key as a sum over scalars. Sums over H have the quotient's coefficients as scalars, in order; the
// others have variables: some inputs, then those private variables that are in aux.
type query struct {
	section  srs.Section
	points   int
	layout   *pce.Layout // nil for H
	inputs   []int
	aux      pce.Bitset // nil: all
	segments []*segment
}

// segment is a stretch of a query that is added up in one go. On the card its points stand in the order of the classes: points
// of bits first, then the others, each in the order of the section.
type segment struct {
	query       *query
	lo, hi      int    // points of the section
	start       cursor // at point lo
	bits, dense int    // points by class

	firstWord  int      // of the packed bits, in words of 32
	mask, rank []uint32 // from firstWord on, as in kernels.Selection
	scalar     int      // of the points that are no bits, the scalars start here among inputs and dense variables, or h
	index      []uint32 // if they are not side by side there: where each of them is
}

// newQueries are the queries of a layout with a domain of the given size.
func newQueries(layout *pce.Layout, domain int) []*query {
	all := make([]int, layout.Counts.Inputs)
	var inB []int
	for i := range all {
		all[i] = i
		if layout.Densities.BInput.Get(i) {
			inB = append(inB, i)
		}
	}
	a, b := layout.Densities.AAux, layout.Densities.BAux
	return []*query{
		{section: srs.H, points: domain - 1},
		{section: srs.L, layout: layout, points: layout.Counts.Aux},
		{section: srs.A, layout: layout, inputs: all, aux: a, points: len(all) + a.Count()},
		{section: srs.BG1, layout: layout, inputs: inB, aux: b, points: len(inB) + b.Count()},
		{section: srs.BG2, layout: layout, inputs: inB, aux: b, points: len(inB) + b.Count()},
	}
}

// fit returns an error unless the key has the queries' points.
func fit(queries []*query, key *srs.Key) error {
	for _, q := range queries {
		if n := key.Len(q.section); n != q.points {
			return fmt.Errorf("gpu: %w: section %s has %d points, the layout %d", engine.ErrForeign, q.section, n, q.points)
		}
	}
	return nil
}

// size counts the classes.
func (q *query) size() sectionSize {
	s := sectionSize{section: q.section}
	if q.layout == nil {
		s.dense = q.points
		return s
	}
	for _, r := range q.layout.Runs {
		if r.Bit {
			s.bits += q.count(r.Start, r.Start+r.N)
		}
	}
	s.dense = q.points - s.bits
	return s
}

// count is the number of private variables from lo to hi−1 that have a point.
func (q *query) count(lo, hi int) int {
	if q.aux == nil {
		return hi - lo
	}
	n := 0
	for lo < hi {
		end := min(lo&^63+64, hi)
		n += bits.OnesCount64(q.aux[lo/64] >> (lo % 64) << (64 - (end - lo)))
		lo = end
	}
	return n
}

// split cuts the query into segments of at most n points.
func (q *query) split(n int) {
	q.segments = nil
	at := cursor{query: q}
	for lo := 0; lo < q.points; lo += n {
		s := &segment{query: q, lo: lo, hi: min(lo+n, q.points), start: at}
		if q.layout == nil {
			s.dense, s.scalar = s.hi-s.lo, s.lo
		} else {
			at = s.scan()
		}
		q.segments = append(q.segments, s)
	}
}

// scan makes the segment's lists and returns the cursor behind it.
func (s *segment) scan() cursor {
	at := s.start
	inputs := uint32(s.query.layout.Counts.Inputs)
	for range s.hi - s.lo {
		v := at.next()
		switch v.class {
		case classInput:
			s.index = append(s.index, uint32(v.index))
		case classDense:
			s.index = append(s.index, inputs+uint32(v.index))
		case classBit:
			word := v.index / 32
			if s.bits == 0 {
				s.firstWord = word
			}
			for len(s.mask) <= word-s.firstWord {
				s.mask = append(s.mask, 0)
				s.rank = append(s.rank, uint32(s.bits))
			}
			s.mask[word-s.firstWord] |= 1 << (v.index % 32)
			s.bits++
		}
	}
	s.dense = len(s.index)
	if s.dense > 0 && int(s.index[s.dense-1]-s.index[0]) == s.dense-1 {
		s.scalar, s.index = int(s.index[0]), nil
	}
	return at
}

// placer gives the points of a segment, in order, their places in it: bits first, then the others.
type placer struct {
	at   cursor
	next [2]uint32 // place of the next point that is no bit, and of the next that is one
}

func (s *segment) placer() *placer { return &placer{at: s.start, next: [2]uint32{uint32(s.bits), 0}} }

// fill gives the next points their places. Those that come in a row stand in a row.
func (p *placer) fill(out []uint32) {
	for len(out) > 0 {
		class, n := p.at.stretch(len(out))
		next := &p.next[0]
		if class == classBit {
			next = &p.next[1]
		}
		for i := range out[:n] {
			out[i] = *next + uint32(i)
		}
		*next += uint32(n)
		out = out[n:]
	}
}

// class is a kind of variable.
type class int

const (
	classInput class = iota
	classBit
	classDense
)

// variable is a variable by its number in its class.
type variable struct {
	class class
	index int
}

// cursor walks the variables of a query that have a point, in the order of the section.
type cursor struct {
	query *query
	input int // inputs passed
	run   int // runs passed
	at    int // variables passed in the run
}

// next is the next variable that has a point. There must be one.
func (c *cursor) next() variable {
	q := c.query
	if c.input < len(q.inputs) {
		c.input++
		return variable{classInput, q.inputs[c.input-1]}
	}
	for {
		r := &q.layout.Runs[c.run]
		for c.at < r.N {
			k := c.at
			c.at++
			if q.aux == nil || q.aux.Get(r.Start+k) {
				if r.Bit {
					return variable{classBit, r.First + k}
				}
				return variable{classDense, r.First + k}
			}
		}
		c.run++
		c.at = 0
	}
}

// stretch passes variables of one class that come in a row, one at least and at most so many, as next would. There must be one.
func (c *cursor) stretch(most int) (_ class, n int) {
	q := c.query
	if c.input < len(q.inputs) {
		n = min(most, len(q.inputs)-c.input)
		c.input += n
		return classInput, n
	}
	for ; ; c.run, c.at = c.run+1, 0 {
		r := &q.layout.Runs[c.run]
		if n, c.at = q.pass(r.Start, c.at, r.N, most); n == 0 {
			continue
		}
		if r.Bit {
			return classBit, n
		}
		return classDense, n
	}
}

// pass goes through the private variables start+from to start+to−1 until most of them had a point. It says how many had, and
// where it stopped.
func (q *query) pass(start, from, to, most int) (n, at int) {
	if q.aux == nil {
		n = min(most, to-from)
		return n, from + n
	}
	for at = from; at < to && n < most; {
		k := start + at
		width := min(64-k%64, to-at)
		word := q.aux[k/64] >> (k % 64) << (64 - width) >> (64 - width)
		if m := bits.OnesCount64(word); n+m <= most {
			n, at = n+m, at+width
			continue
		}
		for ; n < most; n++ {
			word &= word - 1
		}
		at += bits.TrailingZeros64(word)
	}
	return n, at
}
