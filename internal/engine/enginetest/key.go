package enginetest

import (
	"bytes"
	"context"
	"math/big"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
)

// column is one variable's coefficients, summed over the rows with weights: the values at τ of the variable's
// polynomials.
type column struct{ a, b, c fr.Element }

// model is what a circuit and a key come to when everything is computed in the plainest way, in the field instead of in
// the groups. It is the oracle of the suite.
type model struct {
	e           *Explicit
	s           *Secrets
	m           int
	inputs, aux []column
	a, b, c     fr.Element // A(τ), B(τ), C(τ) for the circuit's values
}

func newModel(e *Explicit, s *Secrets) *model {
	rows := e.allRows()
	mod := &model{e: e, s: s, m: 1 << bits.Len(uint(len(rows)-1))}
	mod.inputs, mod.aux = make([]column, len(e.Inputs)+1), make([]column, len(e.Aux))
	for i, weight := range mod.lagrange(len(rows)) {
		var row [3]fr.Element
		for k, terms := range rows[i] {
			for _, t := range terms {
				var x fr.Element
				col := mod.column(t)
				into := [3]*fr.Element{&col.a, &col.b, &col.c}[k]
				into.Add(into, x.Mul(&t.Coeff, &weight))
				value := e.value(t)
				row[k].Add(&row[k], x.Mul(&t.Coeff, &value))
			}
		}
		for k, sum := range [3]*fr.Element{&mod.a, &mod.b, &mod.c} {
			var x fr.Element
			sum.Add(sum, x.Mul(&row[k], &weight))
		}
	}
	return mod
}

// lagrange returns the first n Lagrange polynomials at τ.
func (mod *model) lagrange(n int) []fr.Element {
	out := make([]fr.Element, n)
	lagrange(&mod.s.Tau, mod.m, n, func(lo int, weights []fr.Element) { copy(out[lo:], weights) })
	return out
}

// vanishing is τ^m − 1.
func (mod *model) vanishing() fr.Element { return vanishing(&mod.s.Tau, mod.m) }

// lagrange gives the values at x, outside the domain of m points, of the domain's first n Lagrange polynomials,
// (x^m − 1)/m · ω^i/(x − ω^i). Ranges of them, from lo on, come in any order and on several goroutines.
func lagrange(x *fr.Element, m, n int, use func(lo int, weights []fr.Element)) {
	omega, err := fft.Generator(uint64(m))
	if err != nil {
		panic(err)
	}
	scale, z := fr.NewElement(uint64(m)), vanishing(x, m)
	scale.Inverse(&scale).Mul(&scale, &z)
	err = parallel.Ranges(context.Background(), n, 1<<12, func(_, lo, hi int) error {
		points, distances := make([]fr.Element, hi-lo), make([]fr.Element, hi-lo)
		var point fr.Element
		point.Exp(omega, big.NewInt(int64(lo)))
		for i := range points {
			points[i].Mul(&point, &scale)
			distances[i].Sub(x, &point)
			point.Mul(&point, &omega)
		}
		for i, inverse := range fr.BatchInvert(distances) {
			points[i].Mul(&points[i], &inverse)
		}
		use(lo, points)
		return nil
	})
	if err != nil {
		panic(err)
	}
}

// vanishing is x^m − 1 for m, a power of two.
func vanishing(x *fr.Element, m int) fr.Element {
	t, one := *x, fr.One()
	for ; m > 1; m /= 2 {
		t.Square(&t)
	}
	return *t.Sub(&t, &one)
}

func (mod *model) column(t Term) *column {
	if t.Input {
		return &mod.inputs[t.Index]
	}
	return &mod.aux[t.Index]
}

// mix is β·a + α·b + c over d.
func (mod *model) mix(x *column, d *fr.Element) fr.Element {
	var out, t fr.Element
	out.Mul(&mod.s.Beta, &x.a)
	out.Add(&out, t.Mul(&mod.s.Alpha, &x.b)).Add(&out, &x.c)
	return *out.Div(&out, d)
}

// expected are the factors of the generators in the sums that an engine must return.
type expected struct{ h, l, a, b fr.Element }

func (mod *model) expected() expected {
	x := expected{a: mod.a, b: mod.b}
	// Σ hᵢ·τ^i·Z(τ)/δ = h(τ)·Z(τ)/δ = (A·B − C)(τ)/δ.
	x.h.Mul(&mod.a, &mod.b).Sub(&x.h, &mod.c).Div(&x.h, &mod.s.Delta)
	for i := range mod.aux {
		l := mod.mix(&mod.aux[i], &mod.s.Delta)
		x.l.Add(&x.l, l.Mul(&l, &mod.e.Aux[i]))
	}
	return x
}

// params writes the parameter file.
func (mod *model) params(t testing.TB) []byte {
	t.Helper()
	var ic, h, l, a, b []fr.Element
	for i := range mod.inputs {
		ic = append(ic, mod.mix(&mod.inputs[i], &mod.s.Gamma))
	}
	step := mod.vanishing()
	step.Div(&step, &mod.s.Delta)
	for range mod.m - 1 {
		h = append(h, step)
		step.Mul(&step, &mod.s.Tau)
	}
	for i := range mod.aux {
		l = append(l, mod.mix(&mod.aux[i], &mod.s.Delta))
	}
	for _, list := range [][]column{mod.inputs, mod.aux} {
		for i := range list {
			if !list[i].a.IsZero() {
				a = append(a, list[i].a)
			}
			if !list[i].b.IsZero() {
				b = append(b, list[i].b)
			}
		}
	}
	// One call for each group: its table of multiples costs more than a small key.
	_, _, g1, g2 := bls12381.Generators()
	lists := [][]fr.Element{{mod.s.Alpha, mod.s.Beta, mod.s.Delta}, ic, h, l, a, b}
	one := bls12381.BatchScalarMultiplicationG1(&g1, slices.Concat(lists...))
	two := bls12381.BatchScalarMultiplicationG2(&g2, append([]fr.Element{mod.s.Beta, mod.s.Gamma, mod.s.Delta}, b...))
	next := func() (points []bls12381.G1Affine) {
		n := len(lists[0])
		points, one, lists = one[:n], one[n:], lists[1:]
		return points
	}
	single := next()
	var out bytes.Buffer
	w := srs.NewWriter(&out, &srs.VerifyingKey{
		AlphaG1: single[0], BetaG1: single[1], DeltaG1: single[2],
		BetaG2: two[0], GammaG2: two[1], DeltaG2: two[2], IC: next(),
	})
	for _, section := range []srs.Section{srs.H, srs.L, srs.A, srs.BG1} {
		points := next()
		require.NoError(t, w.Begin(section, len(points)))
		var raw []byte
		for i := range points {
			raw = wire.AppendG1(raw, &points[i])
		}
		require.NoError(t, w.Encoded(raw))
	}
	require.NoError(t, w.Begin(srs.BG2, len(b)))
	var raw []byte
	for i := range b {
		raw = wire.AppendG2(raw, &two[3+i])
	}
	require.NoError(t, w.Encoded(raw))
	require.NoError(t, w.Finish())
	return out.Bytes()
}

// openKey opens a parameter file's bytes as a key that is closed with the test.
func openKey(t testing.TB, params []byte) *srs.Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key.params")
	require.NoError(t, os.WriteFile(path, params, 0o600))
	key, err := srs.Open(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, key.Close()) })
	return key
}
