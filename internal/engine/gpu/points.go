package gpu

import (
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/srs"
)

// points are some points on the card, of the group of their section.
type points struct {
	g1 gpu.View[bls12381.G1Affine]
	g2 gpu.View[bls12381.G2Affine]
}

func allocPoints(a *gpu.Arena, s srs.Section, n int) (p points, err error) {
	if s == srs.BG2 {
		p.g2, err = gpu.Alloc[bls12381.G2Affine](a, n)
	} else {
		p.g1, err = gpu.Alloc[bls12381.G1Affine](a, n)
	}
	return p, err
}

// allocEither is room that a streamed segment of either group fits into.
func allocEither(a *gpu.Arena, s *sizes) (p points, err error) {
	mark := a.Mark()
	if p.g2, err = gpu.Alloc[bls12381.G2Affine](a, s.segmentPoints(srs.BG2)); err != nil {
		return p, err
	}
	a.Rewind(mark)
	p.g1, err = gpu.Alloc[bls12381.G1Affine](a, s.segmentPoints(srs.H))
	return p, err
}

// slice is the points from i to j. An empty view of the other group stays empty.
func (p points) slice(s srs.Section, i, j int) points {
	if s == srs.BG2 {
		return points{g2: p.g2.Slice(i, j)}
	}
	return points{g1: p.g1.Slice(i, j)}
}
