package affine

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// scalarBits bounds a scalar's magnitude: of k and r − k the smaller is taken, below 2^254.
const scalarBits = 254

// radix cuts scalars into signed digits of c bits: ±k = Σ d_w·2^(c·w) with |d_w| ≤ 2^(c−1).
type radix struct {
	c       int
	windows int
	offset  [4]uint64 // Σ 2^(c·w + c−1) over all windows but the last
}

// newRadix has ⌈255/c⌉ windows: the last one has room for a carry. 2 ≤ c ≤ maxWindowBits.
func newRadix(c int) radix {
	r := radix{c: c, windows: (scalarBits + c) / c}
	for w := range r.windows - 1 {
		bit := c*w + c - 1
		r.offset[bit/64] |= 1 << (bit % 64)
	}
	return r
}

// digits is a scalar ready to be cut: its magnitude plus the offset, and its sign in the highest bit.
// The offset makes digits independent of each other: a window's value less 2^(c−1) is the signed digit.
type digits [4]uint64

const signBit = 1 << 63

func (r *radix) split(k *fr.Element) digits {
	var neg fr.Element
	v := digits(k.Bits())
	sign := uint64(0)
	if !isSmall(&v) {
		neg.Neg(k)
		v = neg.Bits()
		sign = signBit
	}
	var carry uint64
	for i := range v {
		v[i], carry = bits.Add64(v[i], r.offset[i], carry)
	}
	v[3] |= sign
	return v
}

// isSmall says whether v ≤ (r−1)/2, v being below r.
func isSmall(v *digits) bool {
	var borrow uint64
	for i, h := range halfModulus {
		_, borrow = bits.Sub64(h, v[i], borrow)
	}
	return borrow == 0
}

// halfModulus is (r−1)/2.
var halfModulus = func() digits {
	var minusHalf fr.Element // −1/2 = (r−1)/2
	minusHalf.SetUint64(2).Inverse(&minusHalf).Neg(&minusHalf)
	return minusHalf.Bits()
}()

// digit is the magnitude of the digit of window w, and whether it is to be subtracted.
func (r *radix) digit(v *digits, w int) (magnitude uint32, neg bool) {
	at := r.c * w
	lo := v[at/64]
	if at/64 == 3 {
		lo &^= signBit
	}
	d := lo >> (at % 64)
	if s := at % 64; s+r.c > 64 && at/64 < 3 {
		hi := v[at/64+1]
		if at/64 == 2 {
			hi &^= signBit
		}
		d |= hi << (64 - s)
	}
	neg = v[3]&signBit != 0
	if w == r.windows-1 {
		return uint32(d), neg
	}
	signed := int32(d&(1<<r.c-1)) - 1<<(r.c-1)
	if signed < 0 {
		return uint32(-signed), !neg
	}
	return uint32(signed), neg
}
