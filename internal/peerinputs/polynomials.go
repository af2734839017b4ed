package peerinputs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/parallel"
)

// Root is w = 7^((r−1)/2^logN), which generates the domain of 2^logN elements.
func Root(logN int) (w fr.Element) {
	e := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	return *w.Exp(fr.NewElement(7), e.Rsh(e, uint(logN)))
}

// hashBlock is how many values are hashed together.
const hashBlock = 1 << 15

// Hash is the check value of a vector whose length is a power of two: SHA-256 of the SHA-256 of blocks of 2^15 values, each
// as 32 little-endian bytes.
func Hash(ctx context.Context, v []fr.Element) (string, error) {
	size := min(len(v), hashBlock)
	sums := make([]byte, sha256.Size*(len(v)/size))
	err := parallel.Ranges(ctx, len(v)/size, 1, func(_, block, _ int) error {
		buf := make([]byte, 0, fr.Bytes*size)
		for i := range size {
			for _, w := range v[block*size+i].Bits() {
				buf = binary.LittleEndian.AppendUint64(buf, w)
			}
		}
		h := sha256.Sum256(buf)
		copy(sums[sha256.Size*block:], h[:])
		return nil
	})
	h := sha256.Sum256(sums)
	return hex.EncodeToString(h[:]), err
}

// Evaluate is Σ cᵢ·x^i.
func Evaluate(ctx context.Context, c []fr.Element, x fr.Element) (total fr.Element, err error) {
	var mu sync.Mutex
	err = ranges(ctx, len(c), func(lo, hi int) {
		var sum, shift fr.Element
		for i := hi - 1; i >= lo; i-- {
			sum.Mul(&sum, &x).Add(&sum, &c[i])
		}
		sum.Mul(&sum, shift.Exp(x, big.NewInt(int64(lo))))
		mu.Lock()
		defer mu.Unlock()
		total.Add(&total, &sum)
	})
	return total, err
}

// Interpolate is the value at x, outside the domain, of the polynomial that has the given values on the domain of 2^logN
// elements. Values that are missing at the end are zero.
func Interpolate(ctx context.Context, values []fr.Element, logN int, x fr.Element) (total fr.Element, err error) {
	var mu sync.Mutex
	w := Root(logN)
	err = ranges(ctx, len(values), func(lo, hi int) {
		terms, powers := make([]fr.Element, hi-lo), make([]fr.Element, hi-lo)
		var p, sum fr.Element
		p.Exp(w, big.NewInt(int64(lo)))
		for i := range terms {
			powers[i] = p
			terms[i].Sub(&x, &p)
			p.Mul(&p, &w)
		}
		for i, inverse := range fr.BatchInvert(terms) {
			inverse.Mul(&inverse, &powers[i]).Mul(&inverse, &values[lo+i])
			sum.Add(&sum, &inverse)
		}
		mu.Lock()
		defer mu.Unlock()
		total.Add(&total, &sum)
	})
	n := fr.NewElement(1 << logN)
	z := Vanishing(logN, x)
	return *total.Mul(&total, &z).Div(&total, &n), err
}

// Vanishing is x^n − 1 for n = 2^logN.
func Vanishing(logN int, x fr.Element) fr.Element {
	one := fr.One()
	for range logN {
		x.Square(&x)
	}
	return *x.Sub(&x, &one)
}
