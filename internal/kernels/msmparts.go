package kernels

import (
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// G1MSMParts is G1MSM but for the last additions, a millisecond on the host, which add makes: it needs the card no more, so
// that it can run beside the next sum.
func (l *Library) G1MSMParts(
	s *gpu.Stream, a *gpu.Arena, points gpu.View[bls12381.G1Affine], scalars gpu.View[fr.Element], o MSMOptions,
) (add func() bls12381.G1Jac, err error) {
	w := &work{l: l, s: s, a: a, cv: curveG1, pts: points.Ptr()}
	parts, bits, err := msmParts[G1Xyzz](w, points.Len(), scalars, o)
	return func() (sum bls12381.G1Jac) {
		sum.FromAffine(new(bls12381.G1Affine)) // infinity
		addWeighted(&sum, bits, func(i int) bls12381.G1Jac { return parts[i].Jac() })
		return sum
	}, err
}

// G2MSMParts is G1MSMParts for points of G2.
func (l *Library) G2MSMParts(
	s *gpu.Stream, a *gpu.Arena, points gpu.View[bls12381.G2Affine], scalars gpu.View[fr.Element], o MSMOptions,
) (add func() bls12381.G2Jac, err error) {
	w := &work{l: l, s: s, a: a, cv: curveG2, pts: points.Ptr()}
	parts, bits, err := msmParts[G2Xyzz](w, points.Len(), scalars, o)
	return func() (sum bls12381.G2Jac) {
		sum.FromAffine(new(bls12381.G2Affine)) // infinity
		addWeighted(&sum, bits, func(i int) bls12381.G2Jac { return parts[i].Jac() })
		return sum
	}, err
}
