package peerinputs

import (
	"context"
	"encoding/hex"
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// The values here are those that peers prints.

func TestChoices(t *testing.T) {
	first := BigInt(Scalar(0, 0)).FillBytes(make([]byte, 32))
	require.Equal(t, "63fe43f55a544d708ef205926d25bd5e0f839b0613a3971c6627f1b214fc19c0", hex.EncodeToString(first))
	for i, want := range []uint32{218, 153, 791} {
		require.Equal(t, want, Class(0, i))
	}
	require.Equal(t, uint64(0xd08bf4eccba8d3a1), Mix(1, 0))
	require.Equal(t, fr.Modulus(), BigInt(fr.Element(plainModulus())))
}

func TestScalars(t *testing.T) {
	const n = piece + 100
	uniform, err := Uniform(t.Context(), 3, n)
	require.NoError(t, err)
	for _, i := range []int{0, 1, piece - 1, piece, n - 1} {
		require.Equal(t, Scalar(3, i), uniform[i])
	}
	filecoin, err := Filecoin(t.Context(), n)
	require.NoError(t, err)
	counts := map[int]int{}
	for i, s := range filecoin {
		switch s {
		case fr.Element{}, fr.Element{1}:
			counts[int(s[0])]++
		default:
			counts[2]++
			require.Equal(t, Scalar(0, i), s)
		}
	}
	require.InDelta(t, 0.7, float64(counts[0])/n, 0.02)
	require.InDelta(t, 0.285, float64(counts[1])/n, 0.02)

	elements := append([]fr.Element{}, uniform[:3]...)
	require.NoError(t, ToElements(t.Context(), elements))
	for i := range elements {
		require.Equal(t, BigInt(uniform[i]), elements[i].BigInt(new(big.Int)))
	}
	sum, err := Weighted(t.Context(), uniform[:3], func(i int) int64 { return int64(i - 1) })
	require.NoError(t, err)
	want := new(big.Int).Sub(BigInt(uniform[2]), BigInt(uniform[0]))
	require.Equal(t, want.Mod(want, fr.Modulus()), BigInt(sum))
}

func TestPoints(t *testing.T) {
	const n = piece + 3000
	_, _, g1, g2 := bls12381.Generators()
	p1, err := G1Multiples(t.Context(), n)
	require.NoError(t, err)
	p2, err := G2Multiples(t.Context(), n)
	require.NoError(t, err)
	for _, i := range []int{0, 1, 1023, 1024, 1025, 2047, 2048, piece - 1, piece, piece + 1024, n - 1} {
		k := big.NewInt(int64(i + 1))
		require.True(t, p1[i].Equal(new(bls12381.G1Affine).ScalarMultiplication(&g1, k)), i)
		require.True(t, p2[i].Equal(new(bls12381.G2Affine).ScalarMultiplication(&g2, k)), i)
	}
}

func TestSums(t *testing.T) {
	_, _, g1, g2 := bls12381.Generators()
	sum := func(log int) *big.Int {
		s, err := Uniform(t.Context(), 0, 1<<log)
		require.NoError(t, err)
		k, err := Weighted(t.Context(), s, func(i int) int64 { return int64(i + 1) })
		require.NoError(t, err)
		return BigInt(k)
	}
	require.Equal(t, "a9e157e3bf207514ba9e7e598e2c24cb23f94d60b483cf5a13de8be4c6b0b9600a5465dcaffe473fc44d125b97d1fb49",
		G1Hex(new(bls12381.G1Affine).ScalarMultiplication(&g1, sum(10))))
	require.Equal(t, "839df240bd1182edb79ed173557b6535b6e92aae2bd1b106133072a60acd359c7772fd0de493a0c1c1a2cd99b8698868"+
		"12b9afa53938601822e5f7ab43b42ff4a635387ed6b9f1a08f644d6f8785fdda5357d06f3c2cd13bd962fffbc09ddd80",
		G2Hex(new(bls12381.G2Affine).ScalarMultiplication(&g2, sum(14))))
}

func TestPolynomials(t *testing.T) {
	const log = 10
	c, err := Uniform(t.Context(), 0, 1<<log)
	require.NoError(t, err)
	require.NoError(t, ToElements(t.Context(), c))
	values := make([]fr.Element, len(c))
	x, w := fr.One(), Root(log)
	for i := range values {
		values[i], err = Evaluate(t.Context(), c, x)
		require.NoError(t, err)
		x.Mul(&x, &w)
	}
	require.Equal(t, fr.One(), x)
	sum, err := Hash(t.Context(), values)
	require.NoError(t, err)
	require.Equal(t, "8eb45394c1a026d87b46c2bd1f6ebf90729c3f7f600971fa8de8ac6c08e12192", sum)

	at := fr.NewElement(12345)
	want, err := Evaluate(t.Context(), c, at)
	require.NoError(t, err)
	got, err := Interpolate(t.Context(), values, log, at)
	require.NoError(t, err)
	require.Equal(t, want, got)

	short := append([]fr.Element{}, values[:900]...)
	clear(values[900:])
	want, err = Interpolate(t.Context(), values, log, at)
	require.NoError(t, err)
	got, err = Interpolate(t.Context(), short, log, at)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	_, uniform := Uniform(ctx, 0, 1<<20)
	_, filecoin := Filecoin(ctx, 10)
	_, g1 := G1Multiples(ctx, 10)
	_, g2 := G2Multiples(ctx, 10)
	_, sum := Weighted(ctx, make([]fr.Element, 10), func(int) int64 { return 1 })
	_, hash := Hash(ctx, make([]fr.Element, 8))
	_, value := Evaluate(ctx, make([]fr.Element, 8), fr.One())
	for _, err := range []error{uniform, filecoin, g1, g2, sum, hash, value} {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}
