package wire

import (
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

const (
	// G1Size and G1CompressedSize are the sizes of an encoded point of G1.
	G1Size           = 2 * fp.Bytes
	G1CompressedSize = fp.Bytes
)

const (
	flagCompressed = 0x80
	flagInfinity   = 0x40
	flagLarger     = 0x20
	flagMask       = flagCompressed | flagInfinity | flagLarger
)

// G1 decodes an uncompressed point and checks that it is on the curve, not that it is in the
// subgroup ([CheckG1] does). The cost is about five multiplications of field elements.
func G1(b []byte) (bls12381.G1Affine, error) {
	var p bls12381.G1Affine
	if err := uncompressedFlags(b, G1Size); err != nil {
		return p, err
	}
	var err error
	if p.X, err = coordinate(b, 0); err != nil {
		return p, err
	}
	if p.Y, err = coordinate(b, fp.Bytes); err != nil {
		return p, err
	}
	var left, right fp.Element
	left.Square(&p.Y)
	if rhsG1(&right, &p.X); !left.Equal(&right) {
		return p, NotOnCurve
	}
	return p, nil
}

// AppendG1 appends the uncompressed encoding of p, which must not be the point at infinity.
func AppendG1(dst []byte, p *bls12381.G1Affine) []byte {
	return appendCoordinate(appendCoordinate(dst, &p.X), &p.Y)
}

// CheckG1 says whether a point of the curve is in the subgroup of order r. It takes some 70 µs.
func CheckG1(p *bls12381.G1Affine) error {
	if !p.IsInSubGroup() {
		return NotInSubgroup
	}
	return nil
}

// G1Compressed decodes a compressed point and checks everything, the subgroup included.
func G1Compressed(b []byte) (bls12381.G1Affine, error) {
	var p bls12381.G1Affine
	larger, x, err := compressedFlags(b, G1CompressedSize)
	if err != nil {
		return p, err
	}
	if p.X, err = coordinate(x, 0); err != nil {
		return p, err
	}
	var square fp.Element
	if rhsG1(&square, &p.X); p.Y.Sqrt(&square) == nil {
		return p, NotOnCurve
	}
	if p.Y.LexicographicallyLargest() != larger {
		p.Y.Neg(&p.Y)
	}
	return p, CheckG1(&p)
}

// AppendG1Compressed appends the compressed encoding of p, which must not be the point at infinity.
func AppendG1Compressed(dst []byte, p *bls12381.G1Affine) []byte {
	at := len(dst)
	dst = appendCoordinate(dst, &p.X)
	dst[at] |= flagCompressed
	if p.Y.LexicographicallyLargest() {
		dst[at] |= flagLarger
	}
	return dst
}

// rhsG1 sets z to x³ + 4, the right-hand side of the curve equation.
func rhsG1(z, x *fp.Element) {
	z.Square(x).Mul(z, x)
	z.Add(z, &four)
}

var four = fp.NewElement(4)

// coordinate decodes the field element at b[at:].
func coordinate(b []byte, at int) (fp.Element, error) {
	e, err := fp.BigEndian.Element((*[fp.Bytes]byte)(b[at:]))
	if err != nil {
		return fp.Element{}, NotReduced
	}
	return e, nil
}

func appendCoordinate(dst []byte, x *fp.Element) []byte {
	b := x.Bytes()
	return append(dst, b[:]...)
}

// uncompressedFlags checks the length and flags of an uncompressed point.
func uncompressedFlags(b []byte, size int) error {
	switch {
	case len(b) != size:
		return Length
	case b[0]&flagMask == 0:
		return nil
	case b[0] == flagInfinity && allZero(b[1:]):
		return Infinity
	}
	return Flags
}

// compressedFlags checks the length and flags of a compressed point. It returns whether y is the larger
// root, and x's bytes without flags.
func compressedFlags(b []byte, size int) (larger bool, x []byte, err error) {
	switch {
	case len(b) != size:
		return false, nil, Length
	case b[0] == flagCompressed|flagInfinity && allZero(b[1:]):
		return false, nil, Infinity
	case b[0]&(flagCompressed|flagInfinity) != flagCompressed:
		return false, nil, Flags
	}
	x = append(make([]byte, 0, size), b...)
	x[0] &^= flagMask
	return b[0]&flagLarger != 0, x, nil
}

func allZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}
