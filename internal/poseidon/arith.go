package poseidon

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// The modulus, least significant limb first, and −1/modulus mod 2^64.
const (
	q0     = 0xffffffff00000001
	q1     = 0x53bda402fffe5bfe
	q2     = 0x3339d80809a1d805
	q3     = 0x73eda753299d7d48
	negInv = 0xfffffffeffffffff
)

// maxTerms bounds the length of an inner product. With 19 terms it is less than 9 times 2^255 before the last
// subtraction.
const maxTerms = maxWidth - 1 + blockRounds

// wide is a number below 2^320, in the Montgomery form of an element but not reduced.
type wide [5]uint64

// innerWide is Σ xᵢ·yᵢ/2^256 plus less than the modulus. All products are added up limb by limb, so that
// the sum is reduced once and not each product by itself.
func (w *wide) innerWide(x, y []fr.Element) {
	var top uint64
	for limb := range fr.Limbs {
		for i := range x {
			top += w.addProduct(x[i][limb], y[i][0], y[i][1], y[i][2], y[i][3])
		}
		top += w.addProduct(negInv*w[0], q0, q1, q2, q3)
		w[0], w[1], w[2], w[3], w[4], top = w[1], w[2], w[3], w[4], top, 0
	}
}

// addProduct adds k·(y0 + y1·2^64 + …) and returns the carry.
func (w *wide) addProduct(k, y0, y1, y2, y3 uint64) uint64 {
	h0, l0 := bits.Mul64(k, y0)
	h1, l1 := bits.Mul64(k, y1)
	h2, l2 := bits.Mul64(k, y2)
	h3, l3 := bits.Mul64(k, y3)
	var c, top uint64
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	h3 += c
	w[0], c = bits.Add64(w[0], l0, 0)
	w[1], c = bits.Add64(w[1], l1, c)
	w[2], c = bits.Add64(w[2], l2, c)
	w[3], c = bits.Add64(w[3], l3, c)
	w[4], top = bits.Add64(w[4], h3, c)
	return top
}

// multiples of the modulus, 0 to 8 times.
var multiples = func() (m [9]wide) {
	for i := range m[1:] {
		m[i+1] = m[i]
		m[i+1].addProduct(1, q0, q1, q2, q3)
	}
	return m
}()

// reduced is w modulo the modulus; w is less than 9 times 2^255.
func (w *wide) reduced() fr.Element {
	// The quotient by 2^255 is at most that by the modulus, and what is left is less than twice the modulus.
	m := &multiples[w[4]<<1|w[3]>>63]
	t0, c := bits.Sub64(w[0], m[0], 0)
	t1, c := bits.Sub64(w[1], m[1], c)
	t2, c := bits.Sub64(w[2], m[2], c)
	t3, _ := bits.Sub64(w[3], m[3], c)
	s0, c := bits.Sub64(t0, q0, 0)
	s1, c := bits.Sub64(t1, q1, c)
	s2, c := bits.Sub64(t2, q2, c)
	s3, c := bits.Sub64(t3, q3, c)
	if c != 0 {
		return fr.Element{t0, t1, t2, t3}
	}
	return fr.Element{s0, s1, s2, s3}
}

// fifthPower is fifth in portable form.
func fifthPower(out *[4]fr.Element, post *fr.Element) {
	out[1].Square(&out[0])
	out[2].Square(&out[1])
	out[3].Mul(&out[2], &out[0])
	out[3].Add(&out[3], post)
}
