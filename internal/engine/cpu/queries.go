package cpu

import (
	"fmt"
	"math/bits"
	"sort"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// query is one of the key's lists as a sum over variables: which variables have a point, in order, inputs before private
// variables.
type query struct {
	section srs.Section
	layout  *pce.Layout
	inputs  []int      // inputs that have a point
	aux     pce.Bitset // private variables that have one; nil: all
	rank    []int      // by block of rankBlock private variables: points of private variables before it
	dense   int        // at most so many points belong to variables that are not bits
}

// rankBlock is the distance between known positions in a query.
const rankBlock = 1 << 13

// queries are the lists that the witness is summed over.
type queries struct{ l, a, b1, b2 *query }

func newQueries(layout *pce.Layout, key *srs.Key) (*queries, error) {
	all := make([]int, layout.Counts.Inputs)
	var inB []int
	for i := range all {
		all[i] = i
		if layout.Densities.BInput.Get(i) {
			inB = append(inB, i)
		}
	}
	q := &queries{
		l:  newQuery(srs.L, layout, nil, nil),
		a:  newQuery(srs.A, layout, all, layout.Densities.AAux),
		b1: newQuery(srs.BG1, layout, inB, layout.Densities.BAux),
		b2: newQuery(srs.BG2, layout, inB, layout.Densities.BAux),
	}
	for _, x := range []*query{q.l, q.a, q.b1, q.b2} {
		if n := key.Len(x.section); n != x.points() {
			return nil, fmt.Errorf("cpu: %w: section %s has %d points, the layout %d", engine.ErrForeign, x.section, n, x.points())
		}
	}
	return q, nil
}

func newQuery(section srs.Section, layout *pce.Layout, inputs []int, aux pce.Bitset) *query {
	q := &query{section: section, layout: layout, inputs: inputs, aux: aux}
	n := layout.Counts.Aux
	q.rank = make([]int, 0, n/rankBlock+2)
	for lo, total := 0, 0; ; lo += rankBlock {
		q.rank = append(q.rank, total)
		if lo >= n {
			break
		}
		total += q.count(lo, min(lo+rankBlock, n))
	}
	q.dense = min(layout.Counts.Dense+len(inputs), q.points())
	return q
}

// count is the number of points of private variables lo to hi−1; lo is a multiple of 64.
func (q *query) count(lo, hi int) int {
	if q.aux == nil {
		return hi - lo
	}
	n := 0
	for w := lo / 64; w*64 < hi; w++ {
		n += bits.OnesCount64(q.aux[w])
	}
	return n
}

func (q *query) points() int { return len(q.inputs) + q.rank[len(q.rank)-1] }

// blocks is the number of blocks of rankBlock private variables, the last one being shorter.
func (q *query) blocks() int { return len(q.rank) - 1 }

// span returns the private variables and the points of a block.
func (q *query) span(block int) (varLo, varHi, pointLo, pointHi int) {
	varLo = block * rankBlock
	varHi = min(varLo+rankBlock, q.layout.Counts.Aux)
	return varLo, varHi, len(q.inputs) + q.rank[block], len(q.inputs) + q.rank[block+1]
}

// runAt is the index of the run that holds private variable k.
func (q *query) runAt(k int) int {
	runs := q.layout.Runs
	return sort.Search(len(runs), func(i int) bool { return runs[i].Start+runs[i].N > k })
}
