package kernels

import (
	"context"
	"math/big"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/peerinputs"
)

// The suites take inputs of the program "peers", so that results can be compared with its check values. The functions
// here are those of package peerinputs without context and error.

// must is v; inputs that cannot be made end the test's process.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func peerScalar(tag uint32, i int) fr.Element { return peerinputs.Scalar(tag, i) }

// peerScalars are n plain scalars: uniform, or 70 % zeros and 28.5 % ones.
func peerScalars(n int, filecoin bool) []fr.Element {
	if filecoin {
		return must(peerinputs.Filecoin(context.Background(), n))
	}
	return must(peerinputs.Uniform(context.Background(), 0, n))
}

// toMont turns plain numbers into elements.
func toMont(v []fr.Element) []fr.Element {
	out := slices.Clone(v)
	return must(out, peerinputs.ToElements(context.Background(), out))
}

func g1Multiples(n int) []bls12381.G1Affine {
	return must(peerinputs.G1Multiples(context.Background(), n))
}

func g2Multiples(n int) []bls12381.G2Affine {
	return must(peerinputs.G2Multiples(context.Background(), n))
}

// weighted is Σ s_i·k_i for plain s and k.
func weighted(s []fr.Element, k func(i int) int64) *big.Int {
	return peerinputs.BigInt(must(peerinputs.Weighted(context.Background(), s, k)))
}

func g1Hex(j *bls12381.G1Jac) string { return peerinputs.G1Hex(new(bls12381.G1Affine).FromJacobian(j)) }
func g2Hex(j *bls12381.G2Jac) string { return peerinputs.G2Hex(new(bls12381.G2Affine).FromJacobian(j)) }

// nttHash is the check value of a transform.
func nttHash(v []fr.Element) string { return must(peerinputs.Hash(context.Background(), v)) }

// parallel calls f on ranges that cover n, on all processors.
func parallel(n int, f func(lo, hi int)) {
	parts := min(runtime.GOMAXPROCS(0), max(1, n/256))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { f(i*n/parts, (i+1)*n/parts) })
	}
	wg.Wait()
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

// TestDFT compares the textbook's transforms with the check value of peers and with each other.
func TestDFT(t *testing.T) {
	x := toMont(peerScalars(1<<10, false))
	require.Equal(t, nttChecks[10], nttHash(dft(x, false, false)))
	require.Equal(t, x, dft(dft(x, false, true), true, true))
}
