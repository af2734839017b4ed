package wire

import (
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

const (
	// G2Size and G2CompressedSize are the sizes of an encoded point of G2.
	G2Size           = 4 * fp.Bytes
	G2CompressedSize = 2 * fp.Bytes
)

// G2 decodes an uncompressed point and checks that it is on the curve, not that it is in the
// subgroup ([CheckG2] does).
func G2(b []byte) (bls12381.G2Affine, error) {
	var p bls12381.G2Affine
	if err := uncompressedFlags(b, G2Size); err != nil {
		return p, err
	}
	var err error
	if p.X, err = coordinate2(b, 0); err != nil {
		return p, err
	}
	if p.Y, err = coordinate2(b, 2*fp.Bytes); err != nil {
		return p, err
	}
	var left, right bls12381.E2
	left.Square(&p.Y)
	if rhsG2(&right, &p.X); !left.Equal(&right) {
		return p, NotOnCurve
	}
	return p, nil
}

// AppendG2 appends the uncompressed encoding of p, which must not be the point at infinity.
func AppendG2(dst []byte, p *bls12381.G2Affine) []byte {
	return appendCoordinate2(appendCoordinate2(dst, &p.X), &p.Y)
}

// CheckG2 says whether a point of the curve is in the subgroup of order r. It takes some 90 µs.
func CheckG2(p *bls12381.G2Affine) error {
	if !p.IsInSubGroup() {
		return NotInSubgroup
	}
	return nil
}

// G2Compressed decodes a compressed point and checks everything, the subgroup included.
func G2Compressed(b []byte) (bls12381.G2Affine, error) {
	var p bls12381.G2Affine
	larger, x, err := compressedFlags(b, G2CompressedSize)
	if err != nil {
		return p, err
	}
	if p.X, err = coordinate2(x, 0); err != nil {
		return p, err
	}
	var square, check bls12381.E2
	rhsG2(&square, &p.X)
	p.Y.Sqrt(&square)
	// Sqrt returns something for a non-square too.
	if check.Square(&p.Y); !check.Equal(&square) {
		return p, NotOnCurve
	}
	if p.Y.LexicographicallyLargest() != larger {
		p.Y.Neg(&p.Y)
	}
	return p, CheckG2(&p)
}

// AppendG2Compressed appends the compressed encoding of p, which must not be the point at infinity.
func AppendG2Compressed(dst []byte, p *bls12381.G2Affine) []byte {
	at := len(dst)
	dst = appendCoordinate2(dst, &p.X)
	dst[at] |= flagCompressed
	if p.Y.LexicographicallyLargest() {
		dst[at] |= flagLarger
	}
	return dst
}

// rhsG2 sets z to x³ + 4(u + 1).
func rhsG2(z, x *bls12381.E2) {
	z.Square(x).Mul(z, x)
	z.A0.Add(&z.A0, &four)
	z.A1.Add(&z.A1, &four)
}

// coordinate2 decodes c1 ‖ c0 at b[at:].
func coordinate2(b []byte, at int) (e bls12381.E2, err error) {
	if e.A1, err = coordinate(b, at); err != nil {
		return e, err
	}
	e.A0, err = coordinate(b, at+fp.Bytes)
	return e, err
}

func appendCoordinate2(dst []byte, e *bls12381.E2) []byte {
	return appendCoordinate(appendCoordinate(dst, &e.A1), &e.A0)
}
