package peerinputs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/parallel"
)

// piece is how many items are made between two looks at the context.
const piece = 1 << 14

// ranges calls f on ranges that cover n.
func ranges(ctx context.Context, n int, f func(lo, hi int)) error {
	return parallel.Ranges(ctx, n, piece, func(_, lo, hi int) error {
		f(lo, hi)
		return nil
	})
}

// Scalar is SHA-256("peers/scalar/1" ‖ LE32(tag) ‖ LE64(i)), little-endian, mod r, as a plain number.
func Scalar(tag uint32, i int) (s fr.Element) {
	h := hash("peers/scalar/1", tag, i)
	for k := range s {
		s[k] = binary.LittleEndian.Uint64(h[8*k:])
	}
	m := plainModulus()
	for {
		var t fr.Element
		var borrow uint64
		for k := range s {
			t[k], borrow = bits.Sub64(s[k], m[k], borrow)
		}
		if borrow != 0 {
			return s
		}
		s = t
	}
}

func plainModulus() (m [fr.Limbs]uint64) {
	return [fr.Limbs]uint64{0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48}
}

// Class is the first four bytes of SHA-256("peers/class/1" ‖ LE32(tag) ‖ LE64(i)), little-endian, mod 1000.
func Class(tag uint32, i int) uint32 {
	h := hash("peers/class/1", tag, i)
	return binary.LittleEndian.Uint32(h[:]) % 1000
}

func hash(label string, tag uint32, i int) [32]byte {
	b := binary.LittleEndian.AppendUint32([]byte(label), tag)
	return sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(i)))
}

// Mix is mix(label, i), a cheap choice: the output function of splitmix64 over a counter.
func Mix(label, i uint64) uint64 {
	z := (label<<48 + i + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uniform are n plain scalars of a tag.
func Uniform(ctx context.Context, tag uint32, n int) ([]fr.Element, error) {
	v := make([]fr.Element, n)
	return v, ranges(ctx, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v[i] = Scalar(tag, i)
		}
	})
}

// Filecoin are n plain scalars: 70 % zeros, 28.5 % ones, and the rest as in Uniform(ctx, 0, n).
func Filecoin(ctx context.Context, n int) ([]fr.Element, error) {
	v := make([]fr.Element, n)
	return v, ranges(ctx, n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			switch class := Class(0, i); {
			case class < 700:
			case class < 985:
				v[i] = fr.Element{1}
			default:
				v[i] = Scalar(0, i)
			}
		}
	})
}

// ToElements turns plain numbers into elements, in place.
func ToElements(ctx context.Context, v []fr.Element) error {
	return ranges(ctx, len(v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			v[i] = Element(v[i])
		}
	})
}

// Element is the element that a plain number stands for.
func Element(plain fr.Element) (e fr.Element) {
	r2 := fr.Element{0xc999e990f3f29c6d, 0x2b6cedcb87925c23, 0x05d314967254398f, 0x0748d9d99f59ff11}
	return *e.Mul(&plain, &r2)
}

// BigInt is the value of a plain number.
func BigInt(plain fr.Element) *big.Int {
	v := new(big.Int)
	for i := len(plain) - 1; i >= 0; i-- {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(plain[i]))
	}
	return v
}

// Weighted is Σ sᵢ·kᵢ mod r. It is plain if s is, and an element if s has elements.
func Weighted(ctx context.Context, s []fr.Element, k func(i int) int64) (total fr.Element, err error) {
	var mu sync.Mutex
	err = ranges(ctx, len(s), func(lo, hi int) {
		var sum fr.Element
		for i := lo; i < hi; i++ {
			var m fr.Element
			m.SetInt64(k(i)).Mul(&m, &s[i])
			sum.Add(&sum, &m)
		}
		mu.Lock()
		defer mu.Unlock()
		total.Add(&total, &sum)
	})
	return total, err
}
