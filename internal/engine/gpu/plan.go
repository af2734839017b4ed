package gpu

import (
	"fmt"
	"math/bits"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// sizes are what a plan depends on.
type sizes struct {
	logN            int // of the domain
	inputs          int // ONE included
	bits, dense     int // private variables by class
	systemBytes     uint64
	multiprocessors int
	segmentBytes    int // room of a streamed segment
	sections        []sectionSize
}

// sectionSize is one section of the key: how many of its points belong to bits, and how many to other scalars.
type sectionSize struct {
	section     srs.Section
	bits, dense int
}

func (s sectionSize) points() int { return s.bits + s.dense }

// bytes is the section's room on the card.
func (s sectionSize) bytes() uint64 { return roomFor(s.section, s.points()) }

func roomFor(s srs.Section, points int) uint64 {
	if s == srs.BG2 {
		return gpu.Aligned[bls12381.G2Affine](points)
	}
	return gpu.Aligned[bls12381.G1Affine](points)
}

// scratch is the working memory of the section's sums.
func (s sectionSize) scratch(multiprocessors int, r kernels.Room) uint64 {
	msm, bits := kernels.G1MSMBytes, kernels.G1BitsBytes
	if s.section == srs.BG2 {
		msm, bits = kernels.G2MSMBytes, kernels.G2BitsBytes
	}
	gathered := gpu.Aligned[fr.Element](s.dense)
	return max(bits(s.bits, multiprocessors), gathered+msm(s.dense, multiprocessors, r))
}

// plan says where a key's points live and how much memory proofs take. All sizes are in bytes.
type plan struct {
	resident map[srs.Section]bool // the sections that stay on the card; the others are streamed
	fixed    uint64               // tables, constraint system, lists of the sections
	key      uint64               // resident points
	stream   uint64               // boxes and buffer for segments; 0 if all is resident
	work     uint64               // one assignment
	side     uint64               // a second lane of sums; 0 if there is none
}

// newSizes are those of a layout with its queries. What the constraint system takes is left to the caller.
func newSizes(layout *pce.Layout, queries []*query, multiprocessors, segmentBytes int) *sizes {
	s := &sizes{
		inputs: layout.Counts.Inputs, bits: layout.Counts.Bits, dense: layout.Counts.Dense,
		multiprocessors: multiprocessors, segmentBytes: segmentBytes,
	}
	for _, q := range queries {
		s.sections = append(s.sections, q.size())
		if q.section == srs.H {
			s.logN = bits.TrailingZeros(uint(q.points + 1))
		}
	}
	return s
}

// segmentPoints is the number of points in a streamed segment.
func (s *sizes) segmentPoints(name srs.Section) int {
	if name == srs.BG2 {
		return s.segmentBytes / int(unsafe.Sizeof(bls12381.G2Affine{}))
	}
	return s.segmentBytes / int(unsafe.Sizeof(bls12381.G1Affine{}))
}

// total is what must be reserved: a promise, since nothing else is allocated.
func (p *plan) total() uint64 { return p.fixed + p.key + p.stream + p.work + p.side }

// residency is the order in which sections get a place.
var residency = [...]srs.Section{srs.BG2, srs.BG1, srs.A, srs.L, srs.H}

// mostSide is the most memory that a second lane of sums may take. Sums that need more fill a card alone.
const mostSide = 2 << 30

// lanes is the plan in which the whole key stays on the card, and two sums are made at a time if they are small.
func (s *sizes) lanes() *plan {
	p := s.resident(kernels.Ample)
	if n := s.scratch(kernels.Ample); n <= mostSide {
		p.side = n
	}
	return p
}

// resident is the plan in which the whole key stays on the card.
func (s *sizes) resident(r kernels.Room) *plan {
	p := &plan{resident: map[srs.Section]bool{}, fixed: s.fixed(), work: s.work(r)}
	for _, x := range s.sections {
		p.resident[x.section] = true
		p.key += x.bytes()
	}
	return p
}

// streamed is the plan in which nothing of the key stays on the card.
func (s *sizes) streamed() *plan {
	return &plan{
		resident: map[srs.Section]bool{}, fixed: s.fixed(), work: s.work(kernels.Least),
		stream: s.feederBytes(),
	}
}

// least is the smallest plan. A small key takes less room than the buffers that it would be streamed through.
func (s *sizes) least() *plan {
	p, q := s.streamed(), s.resident(kernels.Least)
	if q.total() < p.total() {
		return q
	}
	return p
}

// makePlan fits a key into a memory: everything resident if possible, else as many sections as fit beside the
// buffers for the others. The error, if not even that fits, is a *shortError.
//
// With stream set nothing becomes resident.
func makePlan(s *sizes, memory uint64, stream bool) (*plan, error) {
	for _, p := range []*plan{s.lanes(), s.resident(kernels.Ample), s.resident(kernels.Least)} {
		if p.total() <= memory && !stream {
			return p, nil
		}
	}
	p := s.streamed()
	if p.total() > memory {
		if !stream {
			p = s.least()
		}
		return nil, &shortError{need: p.total(), memory: memory}
	}
	for _, name := range residency {
		for _, x := range s.sections {
			if x.section == name && !stream && p.total()+x.bytes() <= memory {
				p.resident[name] = true
				p.key += x.bytes()
			}
		}
	}
	return p, nil
}

// shortError is a memory that even the smallest plan does not fit into.
type shortError struct{ need, memory uint64 }

func (e *shortError) Error() string {
	return fmt.Sprintf("the smallest plan needs %d bytes, %d can be had", e.need, e.memory)
}

// fixed is the memory that neither the key's points nor an assignment take.
func (s *sizes) fixed() uint64 {
	n := kernels.NTTBytes() + s.systemBytes
	largest := 0
	for _, x := range s.sections {
		n += s.listBytes(x)
		largest = max(largest, x.points())
	}
	return n + loaderBytes(largest)
}

// listBytes bounds the lists of a section, in one segment or in many: mask and ranks of its bits, and where its other scalars
// are. A segment more costs at most two words of the mask and the alignment.
func (s *sizes) listBytes(x sectionSize) uint64 {
	segments := x.points()/s.segmentPoints(x.section) + 1
	words := (s.bits+31)/32 + 2*segments
	return uint64(8*words+4*x.dense) + uint64(3*segments)*gpu.Aligned[byte](1)
}

// work is the room of one assignment: the witness and b for its whole life; a and c until the quotient is made, and then in their
// place what the sums need.
func (s *sizes) work(r kernels.Room) uint64 {
	vector := gpu.Aligned[fr.Element](1 << s.logN)
	witness := gpu.Aligned[fr.Element](s.inputs+s.dense) + gpu.Aligned[uint64]((s.bits+63)/64)
	return witness + vector + max(2*vector, s.scratch(r)) + gpu.Aligned[uint32](1)
}

// scratch is the working memory that suffices for the sums of any section.
func (s *sizes) scratch(r kernels.Room) (most uint64) {
	for _, x := range s.sections {
		most = max(most, x.scratch(s.multiprocessors, r))
	}
	return most
}
