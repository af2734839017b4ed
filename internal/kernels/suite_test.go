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
	index := make([]uint32, n)
	for i := range index {
		index[i] = uint32((i*7 + 3) % n)
	}
	da, db, di := upload(t, e, a), upload(t, e, b), upload(t, e, index)
	out := room[fr.Element](t, e, n)
	for name, op := range map[string]struct {
		run  func() error
		want func(i int) fr.Element
	}{
		"product": {
			func() error { return e.l.Mul(e.s, out, da, db) },
			func(i int) (x fr.Element) { return *x.Mul(&a[i], &b[i]) },
		},
		"difference": {
			func() error { return e.l.SubScale(e.s, out, da, db, scale) },
			func(i int) (x fr.Element) { x.Sub(&a[i], &b[i]); return *x.Mul(&x, &scale) },
		},
		"selection": {
			func() error { return e.l.Gather(e.s, out, da, di) },
			func(i int) fr.Element { return a[index[i]] },
		},
	} {
		if err := op.run(); err != nil {
			t.Fatal(err)
		}
		for i, got := range fetch(t, e, out) {
			if got != op.want(i) {
				t.Fatalf("%s: element %d", name, i)
			}
		}
	}
	unequalSuite(t, e, a, b, c)
}

// unequalSuite looks for rows that were damaged.
func unequalSuite(t *testing.T, e *env, a, b, c []fr.Element) {
	n := len(a)
	first := room[uint32](t, e, 1)
	da, db := upload(t, e, a), upload(t, e, b)
	for _, damaged := range [][]int{{}, {0}, {n - 1}, {n / 2, n - 1, n/2 + 1}} {
		mark := e.a.Mark()
		want := ^uint32(0)
		for i := range c {
			c[i].Mul(&a[i], &b[i])
		}
		for _, i := range damaged {
			c[i].Double(&c[i])
			want = min(want, uint32(i))
		}
		if err := e.l.FirstUnequal(e.s, first, da, db, upload(t, e, c)); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, e, first)[0]; got != want {
			t.Errorf("first of %v: %d", damaged, got)
		}
		e.a.Rewind(mark)
	}
}

// quotientSuite checks h·(x^n − 1) = A·B − C at a point, all of them from their values on the domain.
func quotientSuite(t *testing.T, e *env, logN int) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	n := 1 << logN
	v := toMont(peerScalars(2*n, false))
	a, b, c := v[:n], v[n:], make([]fr.Element, n)
	for i := range c {
		c[i].Mul(&a[i], &b[i])
	}
	h := upload(t, e, b)
	if err := e.ntt.Quotient(e.s, logN, upload(t, e, a), h, upload(t, e, c)); err != nil {
		t.Fatal(err)
	}
	x := toMont([]fr.Element{peerScalar(3, 3)})[0]
	var right, left, z fr.Element
	pa, pb, pc := interpolate(a, logN, x), interpolate(b, logN, x), interpolate(c, logN, x)
	right.Mul(&pa, &pb).Sub(&right, &pc)
	coefficients := fetch(t, e, h)
	if !coefficients[n-1].IsZero() {
		t.Errorf("2^%d: h has degree n - 1", logN)
	}
	for i := n - 1; i >= 0; i-- {
		left.Mul(&left, &x).Add(&left, &coefficients[i])
	}
	one := fr.One()
	z.Exp(x, big.NewInt(int64(n)))
	if left.Mul(&left, z.Sub(&z, &one)); left != right {
		t.Errorf("2^%d: wrong quotient", logN)
	}
}

// interpolate is the value at x of the polynomial with the given values on the domain.
func interpolate(values []fr.Element, logN int, x fr.Element) fr.Element {
	w, p, one := root(logN), fr.One(), fr.One()
	terms := make([]fr.Element, len(values))
	for i := range terms {
		terms[i].Sub(&x, &p)
		p.Mul(&p, &w)
	}
	inverses := fr.BatchInvert(terms)
	var sum, z, n fr.Element
	for i := range values {
		var term fr.Element
		term.Mul(&values[i], &p).Mul(&term, &inverses[i])
		sum.Add(&sum, &term)
		p.Mul(&p, &w)
	}
	z.Exp(x, big.NewInt(int64(len(values))))
	z.Sub(&z, &one)
	n.SetUint64(uint64(len(values)))
	return *sum.Mul(&sum, &z).Div(&sum, &n)
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
	p1, p2 := upload(t, e, g1Multiples(n)), upload(t, e, g2Multiples(n))
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	random, mask := make([]uint32, blocks(n, 32)), make([]uint32, blocks(n, 32))
	for i := range random {
		random[i], mask[i] = rng.Uint32(), rng.Uint32()|rng.Uint32()
	}
	mask[0] |= 1
	if n%32 != 0 {
		mask[len(mask)-1] &= 1<<(n%32) - 1
	}
	for _, words := range [][]uint32{random, make([]uint32, len(random)), slices.Repeat([]uint32{^uint32(0)}, len(random))} {
		want := int64(0)
		for i := range n {
			if words[i/32]>>(i%32)&1 == 1 {
				want += int64(i + 1)
			}
		}
		requireBits(t, e, p1, p2, words, Selection{}, want)
		if n >= 32 {
			rank, selected, sum := ranks(mask, words)
			sel := Selection{Mask: upload(t, e, mask), Rank: upload(t, e, rank)}
			requireBits(t, e, p1.Slice(0, selected), p2.Slice(0, selected), words, sel, sum)
		}
	}
}

// ranks are the Rank words of a mask, its set bits, and the sum of k over its k-th bits that are set in words too, from 1 on.
func ranks(mask, words []uint32) (rank []uint32, selected int, sum int64) {
	for i := range 32 * len(mask) {
		if i%32 == 0 {
			rank = append(rank, uint32(selected))
		}
		if mask[i/32]>>(i%32)&1 == 0 {
			continue
		}
		selected++
		if words[i/32]>>(i%32)&1 == 1 {
			sum += int64(selected)
		}
	}
	return rank, selected, sum
}

func requireBits(t *testing.T, e *env, p1 gpu.View[bls12381.G1Affine], p2 gpu.View[bls12381.G2Affine], words []uint32, sel Selection, factor int64) {
	t.Helper()
	_, _, gen1, gen2 := bls12381.Generators()
	want := big.NewInt(factor)
	bits := upload(t, e, words)
	got1, err := e.l.G1Bits(e.s, e.a, p1, bits, sel)
	if err != nil {
		t.Fatal(err)
	}
	if !new(bls12381.G1Affine).FromJacobian(&got1).Equal(new(bls12381.G1Affine).ScalarMultiplication(&gen1, want)) {
		t.Errorf("G1, %d points: wrong sum", p1.Len())
	}
	got2, err := e.l.G2Bits(e.s, e.a, p2, bits, sel)
	if err != nil {
		t.Fatal(err)
	}
	if !new(bls12381.G2Affine).FromJacobian(&got2).Equal(new(bls12381.G2Affine).ScalarMultiplication(&gen2, want)) {
		t.Errorf("G2, %d points: wrong sum", p2.Len())
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
	_, bits1 := e.l.G1Bits(e.s, e.a, g1, words, Selection{})
	_, bits2 := e.l.G2Bits(e.s, e.a, g2.Slice(0, 0), words, Selection{})
	_, bits3 := e.l.G1Bits(e.s, e.a, g1, words, Selection{Mask: words})
	_, bits4 := e.l.G1Bits(e.s, e.a, g1, words, Selection{Mask: words.Slice(0, 1), Rank: words.Slice(0, 1)})
	for name, err := range map[string]error{
		"length":          e.ntt.Run(e.s, Transform{LogN: 3}, fr4, fr8),
		"log":             e.ntt.Run(e.s, Transform{LogN: -1}, fr4, fr4),
		"orders":          e.ntt.Run(e.s, Transform{LogN: 3, In: Reversed, Out: Reversed}, fr8, fr8),
		"product":         e.l.Mul(e.s, fr4, fr4, fr8),
		"difference":      e.l.SubScale(e.s, fr4, fr8, fr4, fr.One()),
		"selection":       e.l.Gather(e.s, fr4, fr8, words),
		"comparison":      e.l.FirstUnequal(e.s, words, fr4, fr4, fr8),
		"quotient":        e.ntt.Quotient(e.s, 2, fr4, fr4, fr8),
		"quotient log":    e.ntt.Quotient(e.s, 29, fr4, fr4, fr4),
		"chain":           RunChain(e.l, e.s, ChainFpMul, fr4, fr8, 1),
		"msm lengths":     msm1,
		"msm window":      msm2,
		"msm empty":       msm3,
		"bits words":      bits1,
		"bits of nothing": bits2,
		"bits ranks":      bits3,
		"bits mask":       bits4,
	} {
		if !errors.Is(err, gpu.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
