package affine

import (
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// Field is what a field of coordinates must offer; E is the element.
type Field[E any] interface {
	*E
	SetOne() *E
	IsZero() bool
	Equal(*E) bool
	Add(a, b *E) *E
	Sub(a, b *E) *E
	Double(a *E) *E
	Neg(a *E) *E
	Mul(a, b *E) *E
	Square(a *E) *E
	Inverse(a *E) *E
}

// Point is an affine point of y² = x³ + b; (0, 0) is the point at infinity.
type Point[E any] struct{ X, Y E }

// G1 and G2 have the memory layout of bls12381.G1Affine and bls12381.G2Affine.
type (
	G1 = Point[fp.Element]
	G2 = Point[bls12381.E2]
)

// FromG1 is the same memory as points of this package.
func FromG1(p []bls12381.G1Affine) []G1 {
	return unsafe.Slice((*G1)(unsafe.SliceData(p)), len(p))
}

// FromG2 is the same memory as points of this package.
func FromG2(p []bls12381.G2Affine) []G2 {
	return unsafe.Slice((*G2)(unsafe.SliceData(p)), len(p))
}

// ToG1 is the same memory as points of gnark-crypto.
func ToG1(p []G1) []bls12381.G1Affine {
	return unsafe.Slice((*bls12381.G1Affine)(unsafe.SliceData(p)), len(p))
}

// ToG2 is the same memory as points of gnark-crypto.
func ToG2(p []G2) []bls12381.G2Affine {
	return unsafe.Slice((*bls12381.G2Affine)(unsafe.SliceData(p)), len(p))
}
