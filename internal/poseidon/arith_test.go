package poseidon

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// largest is a vector of modulus − 1 in Montgomery form, which no inner product exceeds.
func largest(n int) []fr.Element {
	out := make([]fr.Element, n)
	for i := range out {
		out[i] = fr.Element{q0 - 1, q1, q2, q3}
	}
	return out
}

// The inner product in use here and the portable one, for every length.
func TestInner(t *testing.T) {
	rng := rand.New(rand.NewChaCha8([32]byte{2}))
	for n := 1; n <= maxTerms; n++ {
		pairs := [][2][]fr.Element{{largest(n), largest(n)}, {make([]fr.Element, n), largest(n)}}
		for range 100 {
			var x, y []fr.Element
			for range n {
				x, y = append(x, randomElement(rng)), append(y, randomElement(rng))
			}
			pairs = append(pairs, [2][]fr.Element{x, y}, [2][]fr.Element{x, largest(n)})
		}
		for _, p := range pairs {
			want := dot(p[0], p[1])
			require.Equal(t, want, inner(p[0], p[1]), "%d terms: %v", n, p)
			var w wide
			w.innerWide(p[0], p[1])
			require.Equal(t, want, w.reduced(), "%d terms: %v", n, p)
		}
	}
}

func TestReducedAtEdges(t *testing.T) {
	for k := range multiples {
		below, exact, above := multiples[k], multiples[k], multiples[k]
		above.addProduct(1, 1, 0, 0, 0)
		require.Equal(t, fr.Element{}, exact.reduced(), "%d times the modulus", k)
		require.Equal(t, fr.Element{1}, above.reduced(), "%d times the modulus and 1", k)
		if k > 0 {
			below[0]-- // no multiple here ends in 64 zeros
			require.Equal(t, largest(1)[0], below.reduced(), "%d times the modulus less 1", k)
		}
	}
}

func BenchmarkInner(b *testing.B) {
	x, y := largest(9), ramp(9)
	for b.Loop() {
		x[0] = inner(x, y)
	}
}

// The fifth power in use here and the portable one.
func TestFifth(t *testing.T) {
	rng := rand.New(rand.NewChaCha8([32]byte{3}))
	edges := append(largest(1), fr.Element{}, fr.Element{1}, fr.One(), fr.Element{q0, q1, q2, q3 - 1},
		fr.Element{^uint64(0), ^uint64(0), ^uint64(0), q3 - 1})
	for range 200 {
		edges = append(edges, randomElement(rng))
	}
	for _, x := range edges {
		for _, post := range edges {
			var want fr.Element
			want.Exp(x, big.NewInt(5))
			want.Add(&want, &post)
			got, portable := [4]fr.Element{x}, [4]fr.Element{x}
			fifth(&got, &post)
			fifthPower(&portable, &post)
			require.Equal(t, portable, got, "x %v, post %v", x, post)
			require.Equal(t, want, got[3])
		}
	}
}

func BenchmarkFifth(b *testing.B) {
	x, post := [4]fr.Element{largest(1)[0]}, fr.One()
	for b.Loop() {
		fifth(&x, &post)
		x[0] = x[3]
	}
}
