package affine

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func randomScalars(r *rand.Rand, n int) []fr.Element {
	out := make([]fr.Element, n)
	for i := range out {
		// Limbs below the modulus in Montgomery form: any value will do.
		out[i] = fr.Element{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64() >> 2}
	}
	return out
}

// pointsG1 returns multiples of the generator by consecutive numbers.
func pointsG1(n int) []bls12381.G1Affine {
	_, _, g, _ := bls12381.Generators()
	out := make([]bls12381.G1Jac, n)
	var p bls12381.G1Jac
	p.FromAffine(&g)
	for i := range out {
		out[i] = p
		p.AddMixed(&g)
	}
	return bls12381.BatchJacobianToAffineG1(out)
}

func pointsG2(n int) []bls12381.G2Affine {
	_, _, _, g := bls12381.Generators()
	out := make([]bls12381.G2Affine, n)
	var p bls12381.G2Jac
	p.FromAffine(&g)
	for i := range out {
		out[i].FromJacobian(&p)
		p.AddMixed(&g)
	}
	return out
}

func infinityG1() G1 { return G1{} }

func TestAddTakesEveryCase(t *testing.T) {
	p := pointsG1(5)
	var off fp.Element
	off.SetUint64(3)
	q := append(p, bls12381.G1Affine{}) // the point at infinity
	for i := range p {
		var n bls12381.G1Affine
		q = append(q, *n.Neg(&p[i]))
	}
	add := NewAdder[fp.Element]()
	for _, a := range q {
		for _, b := range q {
			for signs := range 4 {
				negA, negB := signs&1 == 1, signs&2 == 2
				x, y := a, b
				if negA {
					x.Neg(&x)
				}
				if negB {
					y.Neg(&y)
				}
				var want bls12381.G1Affine
				want.Add(&x, &y)
				in := FromG1([]bls12381.G1Affine{a, b})
				var got G1
				add.AddOne(&got, &in[0], &in[1], negA, negB)
				require.Equal(t, FromG1([]bls12381.G1Affine{want})[0], got)
				// The result may replace an operand.
				add.AddOne(&in[1], &in[0], &in[1], negA, negB)
				require.Equal(t, got, in[1])
			}
		}
	}
}

func TestAddOfPointOfOrderTwo(t *testing.T) {
	// No such point is on the curve, but nothing may divide by zero.
	var p G1
	p.X.SetOne()
	add := NewAdder[fp.Element]()
	add.AddOne(&p, &p, &p, false, false)
	require.Equal(t, infinityG1(), p)
}

func TestSum(t *testing.T) {
	points := pointsG1(3000)
	add := NewAdder[fp.Element]()
	for _, n := range []int{0, 1, 2, 3, 7, 1023, 1024, 1025, 3000} {
		var want bls12381.G1Jac
		for i := range n {
			want.AddMixed(&points[i])
		}
		var w bls12381.G1Affine
		w.FromJacobian(&want)
		in := append([]bls12381.G1Affine{}, points[:n]...)
		sum := add.Sum(FromG1(in))
		require.Equal(t, w, ToG1([]G1{sum})[0], "n = %d", n)
	}
}

func TestDigits(t *testing.T) {
	r := rng()
	scalars := randomScalars(r, 50)
	for _, v := range []int64{0, 1, 2, -1, -2, 1 << 40, -1 << 40} {
		var e fr.Element
		scalars = append(scalars, *e.SetInt64(v))
	}
	half := fr.Element{}
	half.SetUint64(2).Inverse(&half)
	scalars = append(scalars, half, *new(fr.Element).Neg(&half), *new(fr.Element).Double(&half))
	for c := 2; c <= maxWindowBits; c++ {
		radix := newRadix(c)
		for i := range scalars {
			split := radix.split(&scalars[i])
			sum := new(big.Int)
			for w := radix.windows - 1; w >= 0; w-- {
				d, neg := radix.digit(&split, w)
				require.LessOrEqual(t, d, uint32(1)<<(c-1))
				signed := big.NewInt(int64(d))
				if neg {
					signed.Neg(signed)
				}
				sum.Lsh(sum, uint(c)).Add(sum, signed)
			}
			var got fr.Element
			got.SetBigInt(sum)
			require.True(t, got.Equal(&scalars[i]), "c = %d scalar %s", c, scalars[i].String())
		}
	}
}

func FuzzDigits(f *testing.F) {
	f.Add(uint64(0), uint64(0), uint64(0), uint64(0), uint8(5))
	f.Add(^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), uint8(17))
	f.Add(uint64(1), uint64(1<<63), uint64(0), uint64(1<<62), uint8(16))
	f.Fuzz(func(t *testing.T, a, b, c, d uint64, width uint8) {
		var e fr.Element
		v := new(big.Int)
		for _, w := range []uint64{a, b, c, d} {
			v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w))
		}
		e.SetBigInt(v)
		radix := newRadix(2 + int(width)%(maxWindowBits-1))
		split := radix.split(&e)
		sum := new(big.Int)
		for w := radix.windows - 1; w >= 0; w-- {
			digit, neg := radix.digit(&split, w)
			signed := big.NewInt(int64(digit))
			if neg {
				signed.Neg(signed)
			}
			sum.Lsh(sum, uint(radix.c)).Add(sum, signed)
		}
		var got fr.Element
		if got.SetBigInt(sum); !got.Equal(&e) {
			t.Fatalf("digits of %s in base 2^%d add up to %s", e.String(), radix.c, got.String())
		}
	})
}

func TestTable(t *testing.T) {
	r := rng()
	scalars := append(randomScalars(r, 20), fr.Element{})
	scalars = append(scalars, fr.One(), *new(fr.Element).SetInt64(-1))
	_, _, g1, g2 := bls12381.Generators()
	want1 := bls12381.BatchScalarMultiplicationG1(&g1, scalars)
	want2 := bls12381.BatchScalarMultiplicationG2(&g2, scalars)
	for _, n := range []int{1, 1000, 100_000} {
		t1, err := NewTable[fp.Element](t.Context(), FromG1([]bls12381.G1Affine{g1})[0], n)
		require.NoError(t, err)
		out1 := make([]G1, len(scalars))
		require.NoError(t, t1.Mul(t.Context(), out1, scalars))
		require.Equal(t, want1, ToG1(out1))

		t2, err := NewTable[bls12381.E2](t.Context(), FromG2([]bls12381.G2Affine{g2})[0], n)
		require.NoError(t, err)
		out2 := make([]G2, len(scalars))
		require.NoError(t, t2.Mul(t.Context(), out2, scalars))
		require.Equal(t, want2, ToG2(out2))
	}
}

func naiveG1(t *testing.T, points []bls12381.G1Affine, scalars []fr.Element) bls12381.G1Affine {
	var sum bls12381.G1Affine
	_, err := sum.MultiExp(points, scalars, ecc.MultiExpConfig{})
	require.NoError(t, err)
	return sum
}

func msmG1(t *testing.T, expect, step int, points []bls12381.G1Affine, scalars []fr.Element) bls12381.G1Affine {
	m := NewMSM[fp.Element](expect)
	for lo := 0; lo < len(points); lo += step {
		hi := min(lo+step, len(points))
		require.NoError(t, m.Add(t.Context(), FromG1(points[lo:hi]), scalars[lo:hi]))
	}
	sum, err := m.Sum(t.Context())
	require.NoError(t, err)
	return ToG1([]G1{sum})[0]
}

func TestMSM(t *testing.T) {
	r := rng()
	points := pointsG1(5000)
	for _, n := range []int{0, 1, 2, 3, 31, 32, 33, 1000, 5000} {
		scalars := randomScalars(r, n)
		require.Equal(t, naiveG1(t, points[:n], scalars), msmG1(t, n, 1+n/2, points[:n], scalars), "n = %d", n)
	}
}

// Scalars of few values put many points into one bucket; equal and opposite points meet there.
func TestMSMOfStructuredInput(t *testing.T) {
	const n = 3000
	points := pointsG1(n)
	for i := range points {
		switch i % 5 {
		case 1:
			points[i] = points[i-1]
		case 2:
			points[i].Neg(&points[i-1])
		case 3:
			points[i] = bls12381.G1Affine{}
		}
	}
	minusOne := *new(fr.Element).SetInt64(-1)
	for name, scalar := range map[string]func(i int) fr.Element{
		"zero":      func(int) fr.Element { return fr.Element{} },
		"one":       func(int) fr.Element { return fr.One() },
		"minus one": func(int) fr.Element { return minusOne },
		"equal":     func(int) fr.Element { return fr.NewElement(0x123456789abcdef) },
		"single": func(i int) (e fr.Element) {
			if i == 1234 {
				e.SetUint64(77)
			}
			return e
		},
		"small": func(i int) fr.Element { return fr.NewElement(uint64(i % 3)) },
	} {
		scalars := make([]fr.Element, n)
		for i := range scalars {
			scalars[i] = scalar(i)
		}
		for _, expect := range []int{1, n, 1 << 20} {
			require.Equal(t, naiveG1(t, points, scalars), msmG1(t, expect, n, points, scalars), "%s, made for %d", name, expect)
		}
	}
}

func TestMSMInG2(t *testing.T) {
	points := pointsG2(300)
	scalars := randomScalars(rng(), 300)
	var want bls12381.G2Affine
	_, err := want.MultiExp(points, scalars, ecc.MultiExpConfig{})
	require.NoError(t, err)
	m := NewMSM[bls12381.E2](300)
	require.NoError(t, m.Add(t.Context(), FromG2(points), scalars))
	sum, err := m.Sum(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, ToG2([]G2{sum})[0])
}

func TestMSMOfSeveralPieces(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const n = 2*pieceSize + 77
	points := pointsG1(n)
	scalars := randomScalars(rng(), n)
	require.Equal(t, naiveG1(t, points, scalars), msmG1(t, n, n, points, scalars))
	// One bucket for everything.
	for i := range scalars {
		scalars[i] = scalars[0]
	}
	require.Equal(t, naiveG1(t, points, scalars), msmG1(t, n, n, points, scalars))
}

func TestMSMStopsWithContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	m := NewMSM[fp.Element](10)
	require.ErrorIs(t, m.Add(ctx, FromG1(pointsG1(10)), randomScalars(rng(), 10)), cause)
	require.Error(t, m.Add(t.Context(), FromG1(pointsG1(10)), nil))
}

func BenchmarkMSM(b *testing.B) {
	for _, logN := range []int{14, 18, 20} {
		points, scalars := pointsG1(1<<logN), randomScalars(rng(), 1<<logN)
		b.Run(fmt.Sprintf("n=2^%d", logN), func(b *testing.B) {
			for b.Loop() {
				m := NewMSM[fp.Element](1 << logN)
				if err := m.Add(b.Context(), FromG1(points), scalars); err != nil {
					b.Fatal(err)
				}
				if _, err := m.Sum(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(points))/b.Elapsed().Seconds(), "points/s")
		})
	}
}

func BenchmarkSum(b *testing.B) {
	_, _, g1, _ := bls12381.Generators()
	points := bls12381.BatchScalarMultiplicationG1(&g1, randomScalars(rng(), 1<<15))
	scratch := make([]bls12381.G1Affine, len(points))
	add := NewAdder[fp.Element]()
	for b.Loop() {
		copy(scratch, points)
		add.Sum(FromG1(scratch))
	}
	b.ReportMetric(float64(b.N)*float64(len(points))/b.Elapsed().Seconds(), "points/s")
}

func BenchmarkFixedBase(b *testing.B) {
	_, _, g1, _ := bls12381.Generators()
	table, err := NewTable[fp.Element](b.Context(), FromG1([]bls12381.G1Affine{g1})[0], 1<<22)
	if err != nil {
		b.Fatal(err)
	}
	scalars := randomScalars(rng(), 1<<16)
	out := make([]G1, len(scalars))
	for b.Loop() {
		if err := table.Mul(b.Context(), out, scalars); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(scalars))/b.Elapsed().Seconds(), "points/s")
}
