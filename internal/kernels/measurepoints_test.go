package kernels

import (
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// measurePoints measures what is done to points of keys; it tells whether it knows op.
func measurePoints(t *testing.T, e *env, op string, logN int) bool {
	n := 1 << logN
	switch op {
	case "decode":
		measureCoding(t, e, codingG1(), g1Multiples(min(n, 1<<20)), logN)
		measureCoding(t, e, codingG2(), g2Multiples(min(n, 1<<18)), logN)
	case "fixed":
		_, _, gen, _ := bls12381.Generators()
		measureFixed(t, e, logN, func(c int) (*Table[bls12381.G1Affine], error) {
			return NewG1Table(e.l, e.s, e.a, &gen, c)
		})
	case "fixed2":
		_, _, _, gen := bls12381.Generators()
		measureFixed(t, e, logN, func(c int) (*Table[bls12381.G2Affine], error) {
			return NewG2Table(e.l, e.s, e.a, &gen, c)
		})
	case "stream":
		measureStream(t, e, logN)
	default:
		return false
	}
	return true
}

// measureCoding takes points over and over until there are 2^logN.
func measureCoding[A Point](t *testing.T, e *env, c coding[A], points []A, logN int) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	n := 1 << logN
	src, raw, fault := room[A](t, e, n), room[byte](t, e, n*c.size), faultWord(t, e)
	for lo := 0; lo < n; lo += len(points) {
		require.NoError(t, gpu.UploadSlice(e.s, src.Slice(lo, lo+len(points)), points))
	}
	dst := room[A](t, e, n)
	places := make([]uint32, n)
	for i := range places {
		places[i] = uint32(i) ^ 0x55&uint32(n-1)
	}
	place := upload(t, e, places)
	timed(t, e, line{Op: "encode " + c.name, Log: logN}, float64(n), func() {
		require.NoError(t, c.onEncode(e.l, e.s, raw, src))
	})
	timed(t, e, line{Op: "decode " + c.name, Log: logN}, float64(n), func() {
		require.NoError(t, c.onDecode(e.l, e.s, dst, raw, gpu.View[uint32]{}, 0, fault))
	})
	timed(t, e, line{Op: "decode to places " + c.name, Log: logN}, float64(n), func() {
		require.NoError(t, c.onDecode(e.l, e.s, dst, raw, place, 0, fault))
	})
	timed(t, e, line{Op: "subgroup " + c.name, Log: logN}, float64(n), func() {
		require.NoError(t, c.onCheck(e.l, e.s, dst, 0, fault))
	})
	require.Equal(t, NoFault, fetch(t, e, fault)[0])
}

// fixedWidth is the width of windows to measure with: -window, or the best for n products.
func fixedWidth[A Point](e *env, n int) int {
	if *windowsC != 0 {
		return *windowsC
	}
	return TableBits[A](n, e.a.Size()/8)
}

func measureFixed[A Point](t *testing.T, e *env, logN int, table func(c int) (*Table[A], error)) {
	n := 1 << logN
	c := fixedWidth[A](e, n)
	g := groupOf[A]()
	before := e.a.Mark()
	timed(t, e, line{Op: "table " + g.name, Log: c}, 0, func() {
		e.a.Rewind(before)
		_, err := table(c)
		require.NoError(t, err)
	})
	e.a.Rewind(before)
	made, err := table(c)
	require.NoError(t, err)
	scalars, out := upload(t, e, toMont(peerScalars(n, false))), room[A](t, e, n)
	timed(t, e, line{Op: "fixed base " + g.name, Log: logN}, float64(n), func() {
		require.NoError(t, made.Mul(e.s, e.a, out, scalars, true))
	})
}

// measureStream measures everything from scalars of the host to encoded points on the host.
func measureStream(t *testing.T, e *env, logN int) {
	n := 1 << logN
	_, _, gen1, gen2 := bls12381.Generators()
	t1, err := NewG1Table(e.l, e.s, e.a, &gen1, fixedWidth[bls12381.G1Affine](e, n))
	require.NoError(t, err)
	t2, err := NewG2Table(e.l, e.s, e.a, &gen2, fixedWidth[bls12381.G2Affine](e, n))
	require.NoError(t, err)
	f, err := NewFixedBase(e.a, t1, t2, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	random := toMont(peerScalars(DefaultStretch, false))
	in := func(lo, hi int) []fr.Element { return random[:hi-lo] }
	emit := func([]byte) error { return nil }
	timed(t, e, line{Op: "stream g1", Log: logN}, 0, func() { require.NoError(t, f.G1(t.Context(), n, in, emit)) })
	timed(t, e, line{Op: "stream g1 powers", Log: logN}, 0, func() {
		require.NoError(t, f.G1Powers(t.Context(), n, random[0], random[1], emit))
	})
	timed(t, e, line{Op: "stream g2", Log: logN}, 0, func() { require.NoError(t, f.G2(t.Context(), n, in, emit)) })
}
