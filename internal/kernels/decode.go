package kernels

import (
	"fmt"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// Point is an affine point of one of the groups; (0, 0) is the point at infinity.
type Point interface {
	bls12381.G1Affine | bls12381.G2Affine
}

// Refusal is why a kernel refused a point. The numbers are those of cuda/points/encoding.hpp.
type Refusal uint8

// The reasons, in the order in which they are looked for. The first five are those of package wire.
const (
	BadFlags      Refusal = 1
	NotReduced    Refusal = 2
	NotOnCurve    Refusal = 3
	NotInSubgroup Refusal = 4
	Infinity      Refusal = 5
	BadPlace      Refusal = 6 // a place past the end of dst: a mistake of the caller
)

// NoFault is the content of a fault word before the first kernel: all bytes 0xff.
const NoFault = ^uint64(0)

// ReadFault takes a fault word apart: the index of the first refused point and the reason. ok is
// false if no point was refused.
func ReadFault(word uint64) (index uint64, why Refusal, ok bool) {
	if word == NoFault {
		return 0, 0, false
	}
	return word >> 8, Refusal(word), true
}

// pointThreads are the threads of a block of all kernels over points.
const pointThreads = 128

// pointGroup is what the kernels over points of one group need to know.
type pointGroup struct {
	name     string
	bytes    int // of an affine point, and of an encoded one
	sumBytes int
	piece    int // log of the products of one launch for each multiprocessor
	adds     int // additions of points a microsecond, for estimates
}

func groupOf[A Point]() pointGroup {
	var a A
	g := pointGroup{name: "g1", bytes: int(unsafe.Sizeof(a)), sumBytes: 2 * int(unsafe.Sizeof(a)), piece: 14, adds: 1500}
	if _, ok := any(a).(bls12381.G2Affine); ok {
		g.name, g.piece, g.adds = "g2", 13, 400
	}
	return g
}

// The time that kernels take for a point, in additions.
const (
	codingCost = 1
	checkCost  = 130
	affineCost = 3
)

// grid has a thread for each of n points, on each of which it spends the time of some additions.
func (g pointGroup) grid(n, cost int) gpu.Grid {
	return gpu.Grid{Blocks: blocks(n, pointThreads), Threads: pointThreads, Micros: n * cost / g.adds}
}

// inPieces calls f for ranges of n points that one launch takes: 2^log for each multiprocessor.
func (l *Library) inPieces(n, log int, f func(lo, hi int) error) error {
	piece := l.d.Info().Multiprocessors << log
	for lo := 0; lo < n; lo += piece {
		if err := f(lo, min(lo+piece, n)); err != nil {
			return err
		}
	}
	return nil
}

// DecodeG1 enqueues the decoding of uncompressed points, 96 bytes each, as parameter files have
// them: point i goes to dst[place[i]], or with the zero View for place to dst[i]. Each is checked as
// wire.G1 does, infinity is refused. The lowest base + i of a refused point and the reason are kept
// in fault, one word that is NoFault at first (see [ReadFault]); such a point becomes infinity.
//
// raw begins at a multiple of 16 bytes and has at most 2^31−1 points; places are distinct.
func (l *Library) DecodeG1(s *gpu.Stream, dst gpu.View[bls12381.G1Affine], raw gpu.View[byte], place gpu.View[uint32],
	base uint32, fault gpu.View[uint64]) error {
	return decodePoints(l, s, dst, raw, place, base, fault)
}

// DecodeG2 is DecodeG1 for points of G2, 192 bytes each.
func (l *Library) DecodeG2(s *gpu.Stream, dst gpu.View[bls12381.G2Affine], raw gpu.View[byte], place gpu.View[uint32],
	base uint32, fault gpu.View[uint64]) error {
	return decodePoints(l, s, dst, raw, place, base, fault)
}

func decodePoints[A Point](l *Library, s *gpu.Stream, dst gpu.View[A], raw gpu.View[byte], place gpu.View[uint32],
	base uint32, fault gpu.View[uint64]) error {
	g := groupOf[A]()
	n := raw.Len() / g.bytes
	placed := place.Len() > 0
	switch {
	case raw.Len()%g.bytes != 0 || raw.Ptr()%16 != 0 || fault.Len() != 1 || n >= maxEntries || dst.Len() >= maxEntries,
		placed && place.Len() != n, !placed && dst.Len() != n:
		return fmt.Errorf("kernels: decode %d bytes of %s to %d points, %d places: %w",
			raw.Len(), g.name, dst.Len(), place.Len(), gpu.ErrArgument)
	}
	return l.inPieces(n, 16, func(lo, hi int) error {
		p := decodeParams{
			Raw: raw.Slice(lo*g.bytes, hi*g.bytes).Ptr(), Fault: fault.Ptr(),
			N: uint32(hi - lo), Base: uint64(base) + uint64(lo),
		}
		to := dst
		if placed {
			p.Place = place.Slice(lo, hi).Ptr()
		} else {
			to = dst.Slice(lo, hi)
		}
		p.Points, p.Room = to.Ptr(), uint32(to.Len())
		return launch(l, s, "points_decode_"+g.name, g.grid(hi-lo, codingCost), &p)
	})
}

// CheckSubgroupG1 enqueues the test that points are in the subgroup of order r; infinity is. They
// must be on the curve. Faults are kept as by [Library.DecodeG1], base + i being the index.
func (l *Library) CheckSubgroupG1(s *gpu.Stream, points gpu.View[bls12381.G1Affine], base uint32,
	fault gpu.View[uint64]) error {
	return checkSubgroup(l, s, points, base, fault)
}

// CheckSubgroupG2 is CheckSubgroupG1 for points of G2.
func (l *Library) CheckSubgroupG2(s *gpu.Stream, points gpu.View[bls12381.G2Affine], base uint32,
	fault gpu.View[uint64]) error {
	return checkSubgroup(l, s, points, base, fault)
}

func checkSubgroup[A Point](l *Library, s *gpu.Stream, points gpu.View[A], base uint32, fault gpu.View[uint64]) error {
	g := groupOf[A]()
	if points.Len() >= maxEntries || fault.Len() != 1 {
		return fmt.Errorf("kernels: check %d points of %s with %d fault words: %w",
			points.Len(), g.name, fault.Len(), gpu.ErrArgument)
	}
	return l.inPieces(points.Len(), g.piece-2, func(lo, hi int) error {
		p := checkParams{
			Points: points.Slice(lo, hi).Ptr(), Fault: fault.Ptr(), Base: uint64(base) + uint64(lo), N: uint32(hi - lo),
		}
		return launch(l, s, "points_check_"+g.name, g.grid(hi-lo, checkCost), &p)
	})
}

// EncodeG1 enqueues the encoding of points, the inverse of [Library.DecodeG1]: raw has 96 bytes for
// each point and begins at a multiple of 16. Infinity is encoded with its flag.
func (l *Library) EncodeG1(s *gpu.Stream, raw gpu.View[byte], points gpu.View[bls12381.G1Affine]) error {
	return encodePoints(l, s, raw, points)
}

// EncodeG2 is EncodeG1 for points of G2, 192 bytes each.
func (l *Library) EncodeG2(s *gpu.Stream, raw gpu.View[byte], points gpu.View[bls12381.G2Affine]) error {
	return encodePoints(l, s, raw, points)
}

func encodePoints[A Point](l *Library, s *gpu.Stream, raw gpu.View[byte], points gpu.View[A]) error {
	g := groupOf[A]()
	n := points.Len()
	if raw.Len() != n*g.bytes || raw.Ptr()%16 != 0 || n >= maxEntries {
		return fmt.Errorf("kernels: encode %d points of %s to %d bytes: %w", n, g.name, raw.Len(), gpu.ErrArgument)
	}
	return l.inPieces(n, 16, func(lo, hi int) error {
		p := encodeParams{
			Points: points.Slice(lo, hi).Ptr(), Raw: raw.Slice(lo*g.bytes, hi*g.bytes).Ptr(), N: uint32(hi - lo),
		}
		return launch(l, s, "points_encode_"+g.name, g.grid(hi-lo, codingCost), &p)
	})
}
