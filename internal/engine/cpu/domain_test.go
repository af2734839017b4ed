package cpu

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/utils"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/pce"
)

func randomVector(n int) []fr.Element {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	out := make([]fr.Element, n)
	for i := range out {
		out[i] = fr.Element{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64() >> 2}
	}
	return out
}

// The cut transforms are gnark-crypto's transform of the whole.
func TestTransforms(t *testing.T) {
	for _, logN := range []int{1, 2, 3, 4, 6, 7, 8, 11, 13} {
		for _, logBlock := range []int{1, 3, 6, 18} {
			t.Run(fmt.Sprintf("2^%d/2^%d", logN, logBlock), func(t *testing.T) {
				n := 1 << logN
				d, err := newDomain(t.Context(), n, logBlock)
				require.NoError(t, err)
				whole := fft.NewDomain(uint64(n))
				v := randomVector(n)

				got, want := append([]fr.Element{}, v...), append([]fr.Element{}, v...)
				require.NoError(t, d.inverse(t.Context(), got))
				whole.FFTInverse(want, fft.DIF)
				var blocks fr.Element
				blocks.SetUint64(uint64(d.blocks()))
				for i := range want {
					want[i].Mul(&want[i], &blocks)
				}
				require.Equal(t, want, got)

				got, want = append([]fr.Element{}, v...), append([]fr.Element{}, v...)
				require.NoError(t, d.forward(t.Context(), got))
				whole.FFT(want, fft.DIT)
				require.Equal(t, want, got)
			})
		}
	}
}

func TestScale(t *testing.T) {
	d, err := newDomain(t.Context(), 64, 4)
	require.NoError(t, err)
	g := fft.GeneratorFullMultiplicativeGroup()
	v := randomVector(64)
	got := append([]fr.Element{}, v...)
	three := fr.NewElement(3)
	require.NoError(t, d.scale(t.Context(), got, d.up, d.blockFactors(g, three)))
	for i := range v {
		var want fr.Element
		want.Exp(g, big.NewInt(int64(reversed(i, 6)))).Mul(&want, &three).Mul(&want, &v[i])
		require.Equal(t, want, got[i])
	}
}

// quotientBySeven is the reference's way: C to the coset, division there, back.
func quotientBySeven(a, b, c []fr.Element) []fr.Element {
	n := len(a)
	d := fft.NewDomain(uint64(n))
	for _, v := range [][]fr.Element{a, b, c} {
		d.FFTInverse(v, fft.DIF)
		d.FFT(v, fft.DIT, fft.OnCoset())
	}
	var z fr.Element
	one := fr.One()
	z.Exp(d.FrMultiplicativeGen, big.NewInt(int64(n))).Sub(&z, &one).Inverse(&z)
	for i := range a {
		a[i].Mul(&a[i], &b[i]).Sub(&a[i], &c[i]).Mul(&a[i], &z)
	}
	d.FFTInverse(a, fft.DIF, fft.OnCoset())
	utils.BitReverse(a)
	return a
}

// Six transforms and seven give the same coefficients, whether C = A·B holds in the rows or not.
func TestQuotientBySixTransforms(t *testing.T) {
	for _, logN := range []int{1, 2, 5, 9} {
		for _, logBlock := range []int{2, 4, 18} {
			n := 1 << logN
			v := randomVector(3 * n)
			a, b, c := v[:n:n], v[n:2*n:2*n], v[2*n:]
			d, err := newDomain(t.Context(), n, logBlock)
			require.NoError(t, err)
			want := quotientBySeven(append([]fr.Element{}, a...), append([]fr.Element{}, b...), append([]fr.Element{}, c...))
			require.NoError(t, d.quotient(t.Context(), a, b, c, func() {}))
			require.Equal(t, want, a)
		}
	}
}

// The reference's digests of everything in between.
func TestValuesMatchReference(t *testing.T) {
	for _, name := range enginetest.SmallNames() {
		t.Run(name, func(t *testing.T) {
			v := enginetest.Small(t, name)
			sys := v.System(t)
			w, err := pce.MakeWitness(t.Context(), v.Circuit.Synthesize, nil)
			require.NoError(t, err)
			require.Equal(t, v.SHA256["inputs"], sha(w.Inputs))
			aux := make([]fr.Element, sys.Counts().Aux)
			require.NoError(t, sys.Layout().Expand(w, aux))
			require.Equal(t, v.SHA256["aux"], sha(aux))

			rows := sys.FullRows()
			d, err := newDomain(t.Context(), 1<<bits.Len(uint(rows-1)), 4)
			require.NoError(t, err)
			a, b, c := make([]fr.Element, d.size()), make([]fr.Element, d.size()), make([]fr.Element, d.size())
			require.NoError(t, sys.Eval(t.Context(), w, a[:rows], b[:rows], c[:rows]))
			require.Equal(t, v.SHA256["a"], sha(a[:rows]))
			require.Equal(t, v.SHA256["b"], sha(b[:rows]))
			require.Equal(t, v.SHA256["c"], sha(c[:rows]))
			require.NoError(t, d.quotient(t.Context(), a, b, c, func() {}))
			require.Equal(t, v.SHA256["h"], sha(a[:d.size()-1]))
		})
	}
}

func sha(s []fr.Element) string {
	sum := sha256.Sum256(enginetest.Encode(s))
	return hex.EncodeToString(sum[:])
}

func BenchmarkQuotient(b *testing.B) {
	for _, logN := range []int{16, 20} {
		b.Run(fmt.Sprintf("n=2^%d", logN), func(b *testing.B) {
			n := 1 << logN
			d, err := newDomain(b.Context(), n, logBlock)
			require.NoError(b, err)
			v := randomVector(3 * n)
			for b.Loop() {
				if err := d.quotient(b.Context(), v[:n], v[n:2*n], v[2*n:], func() {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
