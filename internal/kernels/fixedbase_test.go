package kernels

import (
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// bases are two points of order r that are not the generators.
func bases() (*bls12381.G1Affine, *bls12381.G2Affine) {
	_, _, g1, g2 := bls12381.Generators()
	k := big.NewInt(271828)
	return new(bls12381.G1Affine).ScalarMultiplication(&g1, k), new(bls12381.G2Affine).ScalarMultiplication(&g2, k)
}

// fixedScalars are n elements: edge values, powers of two, their opposites, small and random ones.
func fixedScalars(n int) []fr.Element {
	one := fr.One()
	half := new(big.Int).Rsh(fr.Modulus(), 1)
	v := make([]fr.Element, 2, n+800)
	v[1] = one
	add := func(e fr.Element) {
		v = append(v, e)
		v = append(v, *new(fr.Element).Neg(&e))
	}
	add(fr.NewElement(2))
	add(*new(fr.Element).SetBigInt(half))
	add(*new(fr.Element).Neg(&one))
	p := one
	for k := range 255 {
		if k%3 == 0 || k > 250 {
			add(p)
		}
		p.Double(&p)
	}
	for i := range uint64(20) {
		add(fr.NewElement((i+3)*i + 3))
	}
	return append(v, toMont(peerScalars(max(0, n-len(v)), false))...)[:n]
}

// plainOf turns elements into plain numbers.
func plainOf(v []fr.Element) []fr.Element {
	out := make([]fr.Element, len(v))
	for i := range v {
		out[i] = fr.Element(v[i].Bits())
	}
	return out
}

// checkProducts compares a table's products with wanted ones, of elements and of plain numbers.
func checkProducts[A Point](t *testing.T, e *env, table *Table[A], scalars []fr.Element, want []A) {
	t.Helper()
	for _, montgomery := range []bool{true, false} {
		mark := e.a.Mark()
		in := scalars
		if !montgomery {
			in = plainOf(scalars)
		}
		out := room[A](t, e, len(in))
		require.NoError(t, gpu.Fill(e.s, out, 0xaa))
		require.NoError(t, table.Mul(e.s, e.a, out, upload(t, e, in), montgomery))
		require.Negative(t, firstDifference(fetch(t, e, out), want),
			"%s, %d scalars, windows of %d bits", table.g.name, len(in), table.c)
		e.a.Rewind(mark)
	}
}

// fixedSuite makes products of all sizes with tables of some widths.
func fixedSuite(t *testing.T, e *env, sizes, widths1, widths2 []int) {
	b1, b2 := bases()
	most := sizes[len(sizes)-1]
	scalars := fixedScalars(most)
	want1 := bls12381.BatchScalarMultiplicationG1(b1, scalars)
	want2 := bls12381.BatchScalarMultiplicationG2(b2, scalars)
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	for _, c := range widths1 {
		table, err := NewG1Table(e.l, e.s, e.a, b1, c)
		require.NoError(t, err)
		for _, n := range sizes {
			checkProducts(t, e, table, scalars[:n], want1[:n])
		}
		e.a.Rewind(mark)
	}
	for _, c := range widths2 {
		table, err := NewG2Table(e.l, e.s, e.a, b2, c)
		require.NoError(t, err)
		for _, n := range sizes {
			checkProducts(t, e, table, scalars[:n], want2[:n])
		}
		e.a.Rewind(mark)
	}
}

func TestFixedBase(t *testing.T) {
	fixedSuite(t, onFake(t, 31), []int{1, 2, 3, 31, 32, 33, 255, 256, 257}, []int{8, 10}, []int{8})
}

func TestFixedBaseMany(t *testing.T) {
	e := onFake(t, 32)
	b1, _ := bases()
	table, err := NewG1Table(e.l, e.s, e.a, b1, 9)
	require.NoError(t, err)
	scalars := fixedScalars(1<<12 + 1)
	checkProducts(t, e, table, scalars, bls12381.BatchScalarMultiplicationG1(b1, scalars))
}

// TestFixedBasePieces makes a table and products with launches of few points.
func TestFixedBasePieces(t *testing.T) { piecesSuite(t, onFake(t, 33)) }

func piecesSuite(t *testing.T, e *env) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	b1, _ := bases()
	whole, err := NewG1Table(e.l, e.s, e.a, b1, 9)
	require.NoError(t, err)
	table := &Table[bls12381.G1Affine]{l: e.l, g: groupOf[bls12381.G1Affine](), c: 9}
	table.g.piece = 1 // two points for each multiprocessor
	starts := make([]bls12381.G1Affine, windowCount(9))
	j := new(bls12381.G1Jac).FromAffine(b1)
	for w := range starts {
		starts[w].FromJacobian(j)
		for range 9 {
			j.DoubleAssign()
		}
	}
	require.NoError(t, table.make(e.s, e.a, starts))
	require.Negative(t, firstDifference(fetch(t, e, table.view), fetch(t, e, whole.view)))
	scalars := fixedScalars(300)
	checkProducts(t, e, table, scalars, bls12381.BatchScalarMultiplicationG1(b1, scalars))
}

func TestFixedBaseArguments(t *testing.T) {
	e := onFake(t, 34)
	b1, b2 := bases()
	for _, c := range []int{-1, 0, 7, 23} {
		_, err := NewG1Table(e.l, e.s, e.a, b1, c)
		require.ErrorIs(t, err, gpu.ErrArgument, c)
		_, err = NewG2Table(e.l, e.s, e.a, b2, c)
		require.ErrorIs(t, err, gpu.ErrArgument, c)
	}
	for _, p := range append(outsideG1(2), bls12381.G1Affine{}) {
		_, err := NewG1Table(e.l, e.s, e.a, &p, 8)
		require.ErrorIs(t, err, gpu.ErrArgument)
	}
	for _, p := range append(outsideG2(2), bls12381.G2Affine{}) {
		_, err := NewG2Table(e.l, e.s, e.a, &p, 8)
		require.ErrorIs(t, err, gpu.ErrArgument)
	}
	used := e.a.Used()
	_, err := NewG1Table(e.l, e.s, e.a, b1, 20)
	require.ErrorIs(t, err, gpu.ErrMemory)
	require.Equal(t, used, e.a.Used())

	table, err := NewG1Table(e.l, e.s, e.a, b1, 8)
	require.NoError(t, err)
	out, scalars := room[bls12381.G1Affine](t, e, 4), room[fr.Element](t, e, 5)
	require.ErrorIs(t, table.Mul(e.s, e.a, out, scalars, true), gpu.ErrArgument)
	require.NoError(t, table.Mul(e.s, e.a, out.Slice(0, 0), scalars.Slice(0, 0), true))
	_, err = NewFixedBase(e.a, table, nil, 3)
	require.ErrorIs(t, err, gpu.ErrArgument)
	require.ErrorIs(t, e.l.Powers(e.s, scalars, fr.One(), fr.One(), ^uint32(3)), gpu.ErrArgument)
	require.NoError(t, e.l.Powers(e.s, scalars.Slice(0, 4), fr.One(), fr.One(), ^uint32(3)))
}

func TestTableBits(t *testing.T) {
	last := 0
	for log := 4; log <= 27; log++ {
		c := TableBits[bls12381.G1Affine](1<<log, 16<<30)
		require.GreaterOrEqual(t, c, last)
		require.LessOrEqual(t, TableBytes[bls12381.G1Affine](c), uint64(16<<30))
		last = c
	}
	require.Equal(t, maxWindow, last)
	require.Equal(t, minWindow, TableBits[bls12381.G2Affine](1, 16<<30))
	require.Zero(t, TableBits[bls12381.G2Affine](1<<20, 1000))
	c := TableBits[bls12381.G2Affine](1<<27, 100<<20)
	require.LessOrEqual(t, TableBytes[bls12381.G2Affine](c), uint64(100<<20))
	require.Greater(t, TableBytes[bls12381.G2Affine](c+1), uint64(100<<20))
}

func TestPowers(t *testing.T) { powersSuite(t, onFake(t, 35), 300) }

func powersSuite(t *testing.T, e *env, n int) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	x, scale := toMont([]fr.Element{peerScalar(4, 1)})[0], fr.NewElement(99)
	out := room[fr.Element](t, e, n)
	for _, first := range []uint32{0, 1, 255, 1 << 20, 0x89abcdef, ^uint32(0) - uint32(n) + 1} {
		require.NoError(t, e.l.Powers(e.s, out, x, scale, first))
		var want fr.Element
		want.Exp(x, big.NewInt(int64(first))).Mul(&want, &scale)
		for i, got := range fetch(t, e, out) {
			require.Equal(t, want, got, "power %d from %d", i, first)
			want.Mul(&want, &x)
		}
	}
}
