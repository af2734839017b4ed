package kernels

import (
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func TestGPUDecode(t *testing.T) {
	e := onGPU(t)
	for _, n := range []int{8, 127, 128, 129, 5000} {
		codingSuites(t, e, n)
	}
	placeSuite(t, e, codingG1(), g1Multiples(1<<20))
	placeSuite(t, e, codingG2(), g2Multiples(1<<18))
	pointArgumentSuite(t, e)
	edgeSuites(t, e)
}

func TestGPUSubgroup(t *testing.T) {
	e := onGPU(t)
	for _, n := range []int{3, 128, 1000} {
		subgroupSuites(t, e, n)
	}
}

func TestGPUPowers(t *testing.T) { powersSuite(t, onGPU(t), 100_001) }

func TestGPUFixedBase(t *testing.T) {
	e := onGPU(t)
	fixedSuite(t, e, []int{1, 2, 3, 31, 32, 33, 255, 256, 257, 4097},
		[]int{8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22}, []int{8, 13, 16, 17, 20, 22})
	piecesSuite(t, e)
}

// TestGPUFixedBaseMany compares a million small multiples of the generator with sums, and a sample of
// a million random ones with gnark-crypto's products.
func TestGPUFixedBaseMany(t *testing.T) {
	e := onGPU(t)
	const n = 1 << 20
	_, _, gen1, gen2 := bls12381.Generators()
	t1, err := NewG1Table(e.l, e.s, e.a, &gen1, 16)
	require.NoError(t, err)
	t2, err := NewG2Table(e.l, e.s, e.a, &gen2, 16)
	require.NoError(t, err)
	small := make([]fr.Element, n)
	for i := range small {
		small[i].SetUint64(uint64(i + 1))
	}
	checkProducts(t, e, t1, small, g1Multiples(n))
	checkProducts(t, e, t2, small[:n/4], g2Multiples(n/4))
	random := toMont(peerScalars(n, false))
	scalars, p1, p2 := upload(t, e, random), room[bls12381.G1Affine](t, e, n), room[bls12381.G2Affine](t, e, n)
	require.NoError(t, t1.Mul(e.s, e.a, p1, scalars, true))
	require.NoError(t, t2.Mul(e.s, e.a, p2, scalars, true))
	got1, got2 := fetch(t, e, p1), fetch(t, e, p2)
	for i := 0; i < n; i += 2777 {
		k := random[i].BigInt(new(big.Int))
		require.Equal(t, *new(bls12381.G1Affine).ScalarMultiplication(&gen1, k), got1[i], i)
		require.Equal(t, *new(bls12381.G2Affine).ScalarMultiplication(&gen2, k), got2[i], i)
	}
	fault := faultWord(t, e)
	require.NoError(t, e.l.CheckSubgroupG1(e.s, p1, 0, fault))
	require.NoError(t, e.l.CheckSubgroupG2(e.s, p2, 0, fault))
	require.Equal(t, NoFault, fetch(t, e, fault)[0])
}

func TestGPUFixedStream(t *testing.T) {
	streamSuite(t, onGPU(t), 1<<10, []int{1, 511, 512, 513, 1023, 1024, 1025, 5000})
}

// TestGPUSmallPoints runs every kernel over points on small sizes, for compute-sanitizer.
func TestGPUSmallPoints(t *testing.T) {
	e := onGPUWith(t, 256<<20)
	codingSuites(t, e, 130)
	subgroupSuites(t, e, 20)
	powersSuite(t, e, 300)
	fixedSuite(t, e, []int{1, 33, 257}, []int{9}, []int{8})
	piecesSuite(t, e)
	streamSuite(t, e, 64, []int{1, 65, 200})
}
