package kernels

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"math/bits"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// The inputs below are those of the program "peers", so that results can be compared with its check
// values.

// parallel calls f on ranges that cover n, on all processors.
func parallel(n int, f func(lo, hi int)) {
	parts := min(runtime.GOMAXPROCS(0), max(1, n/256))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { f(i*n/parts, (i+1)*n/parts) })
	}
	wg.Wait()
}

// peerScalar is SHA-256("peers/scalar/1" ‖ LE32(tag) ‖ LE64(i)), little-endian, mod r, as a plain
// number.
func peerScalar(tag uint32, i int) (s fr.Element) {
	h := peerHash("peers/scalar/1", tag, i)
	for k := range s {
		s[k] = binary.LittleEndian.Uint64(h[8*k:])
	}
	mod := fr.Modulus()
	var m fr.Element
	for k, w := range mod.Bits() {
		m[k] = uint64(w)
	}
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

func peerHash(label string, tag uint32, i int) [32]byte {
	b := binary.LittleEndian.AppendUint32([]byte(label), tag)
	return sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(i)))
}

// peerScalars are n plain scalars: uniform, or 70 % zeros and 28.5 % ones.
func peerScalars(n int, filecoin bool) []fr.Element {
	v := make([]fr.Element, n)
	parallel(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			class := uint32(999)
			if filecoin {
				h := peerHash("peers/class/1", 0, i)
				class = binary.LittleEndian.Uint32(h[:]) % 1000
			}
			switch {
			case class < 700:
			case class < 985:
				v[i] = fr.Element{1}
			default:
				v[i] = peerScalar(0, i)
			}
		}
	})
	return v
}

// bytesOf is the memory of a slice.
func bytesOf[T any](s []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(t)))
}

// toMont turns plain numbers into elements.
func toMont(v []fr.Element) []fr.Element {
	out := make([]fr.Element, len(v))
	r2 := fr.Element{0xc999e990f3f29c6d, 0x2b6cedcb87925c23, 0x05d314967254398f, 0x0748d9d99f59ff11}
	parallel(len(v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i].Mul(&v[i], &r2)
		}
	})
	return out
}

// strip is how many neighbouring points are stepped on together, with one inversion.
const strip = 1024

// g1Multiples is (i+1)·G for i below n.
func g1Multiples(n int) []bls12381.G1Affine {
	_, _, gen, _ := bls12381.Generators()
	out := make([]bls12381.G1Affine, n)
	step := new(bls12381.G1Affine).ScalarMultiplication(&gen, big.NewInt(strip))
	parallel(n, func(lo, hi int) {
		first := make([]bls12381.G1Jac, min(strip, hi-lo))
		j := new(bls12381.G1Jac).FromAffine(new(bls12381.G1Affine).ScalarMultiplication(&gen, big.NewInt(int64(lo+1))))
		for i := range first {
			first[i] = *j
			j.AddMixed(&gen)
		}
		copy(out[lo:], bls12381.BatchJacobianToAffineG1(first))
		d := make([]fp.Element, strip)
		for at := lo + strip; at < hi; at += strip {
			m := min(strip, hi-at)
			prev := out[at-strip:]
			for i := range m {
				d[i].Sub(&step.X, &prev[i].X)
			}
			inv := fp.BatchInvert(d[:m])
			for i := range m {
				if d[i].IsZero() { // the point is step itself, or its opposite
					out[at+i].Add(&prev[i], step)
					continue
				}
				var l, x, y fp.Element
				l.Sub(&step.Y, &prev[i].Y).Mul(&l, &inv[i])
				x.Square(&l).Sub(&x, &prev[i].X).Sub(&x, &step.X)
				y.Sub(&prev[i].X, &x).Mul(&y, &l).Sub(&y, &prev[i].Y)
				out[at+i] = bls12381.G1Affine{X: x, Y: y}
			}
		}
	})
	return out
}

// g2Multiples is (i+1)·G for i below n.
func g2Multiples(n int) []bls12381.G2Affine {
	_, _, _, gen := bls12381.Generators()
	out := make([]bls12381.G2Affine, n)
	parallel(n, func(lo, hi int) {
		j := new(bls12381.G2Jac).FromAffine(new(bls12381.G2Affine).ScalarMultiplication(&gen, big.NewInt(int64(lo+1))))
		// One inversion for a strip: the points stay in Jacobian coordinates until then.
		for at := lo; at < hi; at += strip {
			m := min(strip, hi-at)
			js := make([]bls12381.G2Jac, m)
			z := make([]bls12381.E2, m)
			for i := range m {
				js[i], z[i] = *j, j.Z
				j.AddMixed(&gen)
			}
			inv := invertAll(z)
			for i := range m {
				var zz bls12381.E2
				zz.Square(&inv[i])
				out[at+i].X.Mul(&js[i].X, &zz)
				out[at+i].Y.Mul(&js[i].Y, zz.Mul(&zz, &inv[i]))
			}
		}
	})
	return out
}

// invertAll inverts values other than zero with one inversion.
func invertAll(z []bls12381.E2) []bls12381.E2 {
	out := make([]bls12381.E2, len(z))
	var acc bls12381.E2
	acc.SetOne()
	for i := range z {
		out[i] = acc
		acc.Mul(&acc, &z[i])
	}
	acc.Inverse(&acc)
	for i := len(z) - 1; i >= 0; i-- {
		out[i].Mul(&out[i], &acc)
		acc.Mul(&acc, &z[i])
	}
	return out
}

// weighted is Σ s_i·k_i for plain s and k.
func weighted(s []fr.Element, k func(i int) int64) *big.Int {
	var mu sync.Mutex
	var total fr.Element // plain: a product of a plain number and an element is plain
	parallel(len(s), func(lo, hi int) {
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
	v := new(big.Int)
	for i := len(total) - 1; i >= 0; i-- {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(total[i]))
	}
	return v
}

func g1Hex(j *bls12381.G1Jac) string {
	var a bls12381.G1Affine
	b := a.FromJacobian(j).Bytes()
	return hex.EncodeToString(b[:])
}

func g2Hex(j *bls12381.G2Jac) string {
	var a bls12381.G2Affine
	b := a.FromJacobian(j).Bytes()
	return hex.EncodeToString(b[:])
}

// nttHash is the check value of a transform: SHA-256 of the SHA-256 of blocks of 2^15 values, each
// as 32 little-endian bytes.
func nttHash(v []fr.Element) string {
	size := min(len(v), 1<<15)
	sums := make([]byte, 32*(len(v)/size))
	parallel(len(v)/size, func(lo, hi int) {
		buf := make([]byte, 32*size)
		for b := lo; b < hi; b++ {
			for i := range size {
				for k, w := range v[b*size+i].Bits() {
					binary.LittleEndian.PutUint64(buf[32*i+8*k:], w)
				}
			}
			h := sha256.Sum256(buf)
			copy(sums[32*b:], h[:])
		}
	})
	h := sha256.Sum256(sums)
	return hex.EncodeToString(h[:])
}

// dft is the transform by the textbook, natural order on both sides.
func dft(x []fr.Element, inverse, coset bool) []fr.Element {
	n := len(x)
	logN := bits.TrailingZeros(uint(n))
	out := make([]fr.Element, n)
	g, w, scale := generator(), root(logN), fr.One()
	if inverse {
		w.Inverse(&w)
		scale.SetUint64(uint64(n)).Inverse(&scale)
		g.Inverse(&g)
	}
	shift := powers(g, n)
	for i := range x {
		v := x[i]
		if coset && !inverse {
			v.Mul(&v, &shift[i])
		}
		out[reverseBits(uint32(i), logN)] = v
	}
	for h := 1; h < n; h *= 2 {
		wh := w
		for range logN - bits.Len(uint(h)) {
			wh.Square(&wh)
		}
		tw := powers(wh, h)
		parallel(n/2, func(lo, hi int) {
			for p := lo; p < hi; p++ {
				i := p/h*2*h + p%h
				var v fr.Element
				v.Mul(&out[i+h], &tw[p%h])
				out[i+h].Sub(&out[i], &v)
				out[i].Add(&out[i], &v)
			}
		})
	}
	for i := range out {
		out[i].Mul(&out[i], &scale)
		if coset && inverse {
			out[i].Mul(&out[i], &shift[i])
		}
	}
	return out
}

func TestPeerInputs(t *testing.T) {
	s := peerScalar(0, 0)
	v := new(big.Int)
	for k := 3; k >= 0; k-- {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(s[k]))
	}
	if got := hex.EncodeToString(v.FillBytes(make([]byte, 32))); got != "63fe43f55a544d708ef205926d25bd5e0f839b0613a3971c6627f1b214fc19c0" {
		t.Error(got)
	}
	for i, want := range []uint32{218, 153, 791} {
		h := peerHash("peers/class/1", 0, i)
		if got := binary.LittleEndian.Uint32(h[:]) % 1000; got != want {
			t.Error(i, got)
		}
	}
	x := toMont(peerScalars(1<<10, false))
	if got := nttHash(dft(x, false, false)); got != nttChecks[10] {
		t.Error("the reference transform differs from the check value: ", got)
	}
	back := dft(dft(x, false, true), true, true)
	for i := range x {
		if back[i] != x[i] {
			t.Fatal("the reference inverse is wrong")
		}
	}
	_, _, g1, g2 := bls12381.Generators()
	p1, p2 := g1Multiples(3000), g2Multiples(1500)
	for _, i := range []int{0, 1, 1023, 1024, 1025, 1499} {
		k := big.NewInt(int64(i + 1))
		if !p1[i].Equal(new(bls12381.G1Affine).ScalarMultiplication(&g1, k)) || !p2[i].Equal(new(bls12381.G2Affine).ScalarMultiplication(&g2, k)) {
			t.Error("multiple ", i)
		}
	}
}
