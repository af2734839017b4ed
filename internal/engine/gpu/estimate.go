package gpu

import (
	"math/bits"

	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/pce"
)

// Need is what a key and its proofs take of a card, in bytes.
type Need struct {
	Least uint64 // with as much streamed as saves memory
	Ample uint64 // with the whole key resident, and working memory that costs no time
}

// Estimate is what an Engine would lease for a constraint system on a card with so many multiprocessors: all of Ample if it
// can, never less than Least.
func Estimate(sys *pce.System, multiprocessors int) Need {
	s := sizesOf(sys, multiprocessors, segmentBytes)
	return Need{Least: s.least().total(), Ample: s.lanes().total()}
}

// sizesOf are the sizes of a constraint system and of the key that belongs to it.
func sizesOf(sys *pce.System, multiprocessors, segmentBytes int) *sizes {
	layout := sys.Layout()
	s := newSizes(layout, newQueries(layout, domainOf(sys)), multiprocessors, segmentBytes)
	s.systemBytes = kernels.TablesOf(sys).Bytes()
	return s
}

// domainOf is the size of a constraint system's domain.
func domainOf(sys *pce.System) int { return 1 << bits.Len(uint(sys.FullRows()-1)) }
