package kernels

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// The suites here run on the twins (fake driver) and on a real card.

func chainSuite(t *testing.T, e *env, n, rounds int) {
	rng := rand.New(rand.NewPCG(3, 4))
	var ps []fp.Element
	for _, v := range words(rng, fp.Modulus(), 2*n) {
		ps = append(ps, *new(fp.Element).SetBigInt(v))
	}
	var rs []fr.Element
	for _, v := range words(rng, fr.Modulus(), 2*n) {
		rs = append(rs, *new(fr.Element).SetBigInt(v))
	}
	e2 := make([]bls12381.E2, 2*n)
	for i := range e2 {
		e2[i] = bls12381.E2{A0: ps[i], A1: ps[(i*7+3)%len(ps)]}
	}
	checkChain(t, e, ChainFpMul, ps, rounds, func(x, y *fp.Element) { x.Mul(x, y) })
	checkChain(t, e, ChainFpSqr, ps, rounds, func(x, y *fp.Element) { x.Mul(x, x).Add(x, y) })
	checkChain(t, e, ChainFpMulSub, ps, rounds, func(x, y *fp.Element) { // xy − (x+y)x = −x²
		x.Mul(x, x).Neg(x)
	})
	checkChain(t, e, ChainFrMul, rs, rounds, func(x, y *fr.Element) { x.Mul(x, y) })
	checkChain(t, e, ChainFrSqr, rs, rounds, func(x, y *fr.Element) {
		var a fr.Element
		a.Add(x, y).Mul(&a, &a)
		x.Sub(&a, x)
	})
	checkChain(t, e, ChainFp2Mul, e2, rounds, func(x, y *bls12381.E2) { x.Mul(x, y) })
}

func checkChain[T comparable](t *testing.T, e *env, c Chain, in []T, rounds int, step func(x, y *T)) {
	t.Helper()
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	n := len(in) / 2
	out := room[T](t, e, n)
	if err := RunChain(e.l, e.s, c, out, upload(t, e, in), rounds); err != nil {
		t.Fatal(err)
	}
	for i, got := range fetch(t, e, out) {
		want := in[i]
		for range rounds {
			step(&want, &in[n+i])
		}
		if got != want {
			t.Fatalf("%s: element %d is %v, want %v", c, i, got, want)
		}
	}
}

// nttSuite compares every kind of transform of one size with the textbook.
func nttSuite(t *testing.T, e *env, logN int) {
	n := 1 << logN
	x := toMont(peerScalars(n, false))
	if n > 1 {
		x[0].SetZero()
		x[1].SetOne()
		x[n-1].SetOne().Neg(&x[n-1])
	}
	reversed := func(v []fr.Element) []fr.Element {
		out := make([]fr.Element, n)
		for i := range v {
			out[reverseBits(uint32(i), logN)] = v[i]
		}
		return out
	}
	for _, inverse := range []bool{false, true} {
		for _, coset := range []bool{false, true} {
			want := dft(x, inverse, coset)
			for _, tr := range []Transform{{}, {Out: Reversed}, {In: Reversed}} {
				tr.LogN, tr.Inverse, tr.Coset = logN, inverse, coset
				for _, same := range []bool{true, false} {
					mark := e.a.Mark()
					in, expect := x, want
					if tr.In == Reversed {
						in = reversed(x)
					}
					if tr.Out == Reversed {
						expect = reversed(want)
					}
					src := upload(t, e, in)
					dst := src
					if !same {
						dst = room[fr.Element](t, e, n)
					}
					if err := e.ntt.Run(e.s, tr, dst, src); err != nil {
						t.Fatal(err)
					}
					got := fetch(t, e, dst)
					if i := firstDifference(got, expect); i >= 0 {
						t.Errorf("%+v in place %v: element %d differs", tr, same, i)
					}
					if !same && (tr.In == Reversed || tr.Out == Reversed) && firstDifference(fetch(t, e, src), in) >= 0 {
						t.Errorf("%+v changed its source", tr)
					}
					e.a.Rewind(mark)
				}
			}
		}
	}
}

func firstDifference[T comparable](a, b []T) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func pointwiseSuite(t *testing.T, e *env, n int) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	v := toMont(peerScalars(3*n, false))
	a, b, c := v[:n], v[n:2*n], v[2*n:]
	scale := fr.NewElement(12345)
	da, db, dc := upload(t, e, a), upload(t, e, b), upload(t, e, c)
	out := room[fr.Element](t, e, n)
	for _, sub := range []gpu.View[fr.Element]{dc, {}} {
		if err := e.l.MulSubScale(e.s, out, da, db, sub, scale); err != nil {
			t.Fatal(err)
		}
		for i, got := range fetch(t, e, out) {
			var want fr.Element
			want.Mul(&a[i], &b[i])
			if sub.Len() > 0 {
				want.Sub(&want, &c[i])
			}
			if want.Mul(&want, &scale); got != want {
				t.Fatalf("element %d", i)
			}
		}
	}
}

// multiples are the points' factors: mostly i+1, with infinity, repeated and opposite points.
func multiples(n int, plain bool) []int64 {
	k := make([]int64, n)
	for i := range k {
		switch {
		case plain:
			k[i] = int64(i + 1)
		case i%11 == 3:
			k[i] = 0 // infinity
		case i%7 == 2:
			k[i] = 5
		case i%7 == 4:
			k[i] = -5
		default:
			k[i] = int64(i%97+1) * int64(1-i%2*2)
		}
	}
	return k
}

// scalarSets are the scalars to try, plain, by name.
func scalarSets(n int) map[string][]fr.Element {
	repeat := func(f func(i int) fr.Element) []fr.Element {
		v := make([]fr.Element, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	big1 := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	plain := func(v *big.Int) (s fr.Element) {
		for i, w := range v.Bits() {
			s[i] = uint64(w)
		}
		return s
	}
	half := new(big.Int).Rsh(fr.Modulus(), 1)
	edges := []fr.Element{
		{}, {1}, {2}, plain(big1), plain(half), plain(new(big.Int).Add(half, big.NewInt(1))),
		{1 << 63}, {0, 0, 0, 1 << 60}, {^uint64(0), ^uint64(0), ^uint64(0), 1 << 62},
	}
	return map[string][]fr.Element{
		"uniform":   peerScalars(n, false),
		"filecoin":  peerScalars(n, true),
		"zero":      repeat(func(int) fr.Element { return fr.Element{} }),
		"one":       repeat(func(int) fr.Element { return fr.Element{1} }),
		"minus one": repeat(func(int) fr.Element { return plain(big1) }),
		"equal":     repeat(func(int) fr.Element { return peerScalar(9, 9) }),
		"single": repeat(func(i int) fr.Element {
			if i == n/2 {
				return peerScalar(9, 9)
			}
			return fr.Element{}
		}),
		"edges": repeat(func(i int) fr.Element { return edges[i%len(edges)] }),
	}
}

// msmSuite compares sums over n points with their closed form, for all sets of scalars.
func msmSuite(t *testing.T, e *env, n int, o MSMOptions) {
	_, _, gen1, gen2 := bls12381.Generators()
	sets := scalarSets(n)
	for _, plain := range []bool{true, false} {
		k := multiples(n, plain)
		p1, p2 := make([]bls12381.G1Affine, n), make([]bls12381.G2Affine, n)
		table1, table2 := map[int64]bls12381.G1Affine{}, map[int64]bls12381.G2Affine{}
		for i, f := range k {
			if _, ok := table1[f]; !ok {
				table1[f] = *new(bls12381.G1Affine).ScalarMultiplication(&gen1, big.NewInt(f))
				table2[f] = *new(bls12381.G2Affine).ScalarMultiplication(&gen2, big.NewInt(f))
			}
			p1[i], p2[i] = table1[f], table2[f]
		}
		for name, plainScalars := range sets {
			mark := e.a.Mark()
			want := weighted(plainScalars, func(i int) int64 { return k[i] })
			scalars := plainScalars
			if o.Montgomery {
				scalars = toMont(plainScalars)
			}
			ds := upload(t, e, scalars)
			what := fmt.Sprintf("%d points, %s, distinct points %v, options %+v", n, name, plain, o)
			got1, err := e.l.G1MSM(e.s, e.a, upload(t, e, p1), ds, o)
			if err != nil {
				t.Fatalf("G1, %s: %v", what, err)
			}
			if want1 := new(bls12381.G1Affine).ScalarMultiplication(&gen1, want); !new(bls12381.G1Affine).FromJacobian(&got1).Equal(want1) {
				t.Errorf("G1, %s: wrong sum", what)
			}
			got2, err := e.l.G2MSM(e.s, e.a, upload(t, e, p2), ds, o)
			if err != nil {
				t.Fatalf("G2, %s: %v", what, err)
			}
			if want2 := new(bls12381.G2Affine).ScalarMultiplication(&gen2, want); !new(bls12381.G2Affine).FromJacobian(&got2).Equal(want2) {
				t.Errorf("G2, %s: wrong sum", what)
			}
			e.a.Rewind(mark)
		}
	}
}

func bitsSuite(t *testing.T, e *env, n int) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	_, _, gen1, gen2 := bls12381.Generators()
	p1, p2 := upload(t, e, g1Multiples(n)), upload(t, e, g2Multiples(n))
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	random := make([]uint32, blocks(n, 32))
	for i := range random {
		random[i] = rng.Uint32()
	}
	for _, words := range [][]uint32{random, make([]uint32, len(random)), slices.Repeat([]uint32{^uint32(0)}, len(random))} {
		want := new(big.Int)
		for i := range n {
			if words[i/32]>>(i%32)&1 == 1 {
				want.Add(want, big.NewInt(int64(i+1)))
			}
		}
		bits := upload(t, e, words)
		got1, err := e.l.G1Bits(e.s, e.a, p1, bits)
		if err != nil {
			t.Fatal(err)
		}
		if !new(bls12381.G1Affine).FromJacobian(&got1).Equal(new(bls12381.G1Affine).ScalarMultiplication(&gen1, want)) {
			t.Errorf("G1, %d points: wrong sum", n)
		}
		got2, err := e.l.G2Bits(e.s, e.a, p2, bits)
		if err != nil {
			t.Fatal(err)
		}
		if !new(bls12381.G2Affine).FromJacobian(&got2).Equal(new(bls12381.G2Affine).ScalarMultiplication(&gen2, want)) {
			t.Errorf("G2, %d points: wrong sum", n)
		}
	}
}

func argumentSuite(t *testing.T, e *env) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	fr4, fr8 := room[fr.Element](t, e, 4), room[fr.Element](t, e, 8)
	g1, g2 := room[bls12381.G1Affine](t, e, 4), room[bls12381.G2Affine](t, e, 4)
	words := room[uint32](t, e, 2)
	_, msm1 := e.l.G1MSM(e.s, e.a, g1, fr8, MSMOptions{})
	_, msm2 := e.l.G2MSM(e.s, e.a, g2, fr4, MSMOptions{WindowBits: 23})
	_, msm3 := e.l.G1MSM(e.s, e.a, g1.Slice(0, 0), fr4.Slice(0, 0), MSMOptions{})
	_, bits1 := e.l.G1Bits(e.s, e.a, g1, words)
	_, bits2 := e.l.G2Bits(e.s, e.a, g2.Slice(0, 0), words)
	for name, err := range map[string]error{
		"length":          e.ntt.Run(e.s, Transform{LogN: 3}, fr4, fr8),
		"log":             e.ntt.Run(e.s, Transform{LogN: -1}, fr4, fr4),
		"orders":          e.ntt.Run(e.s, Transform{LogN: 3, In: Reversed, Out: Reversed}, fr8, fr8),
		"product":         e.l.MulSubScale(e.s, fr4, fr4, fr8, fr4, fr.One()),
		"chain":           RunChain(e.l, e.s, ChainFpMul, fr4, fr8, 1),
		"msm lengths":     msm1,
		"msm window":      msm2,
		"msm empty":       msm3,
		"bits words":      bits1,
		"bits of nothing": bits2,
	} {
		if !errors.Is(err, gpu.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
