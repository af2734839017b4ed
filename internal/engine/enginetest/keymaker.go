package enginetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/wire"
)

// RunKeyMaker holds a KeyMaker to its contract. open returns a new one, for n products in each group; the suite closes it.
func RunKeyMaker(t *testing.T, open func(t testing.TB, n int) engine.KeyMaker) {
	for name, test := range map[string]func(*testing.T, engine.KeyMaker, *products){
		"Products":     testProducts,
		"Refusals":     testRefusals,
		"Cancellation": testKeyCancellation,
		"Closed":       testClosedKeyMaker,
	} {
		t.Run(name, func(t *testing.T) {
			p := newProducts(300)
			m := open(t, len(p.factors))
			t.Cleanup(func() { require.NoError(t, m.Close()) })
			test(t, m, p)
		})
	}
}

// products are factors, among them those at the edges, with what a KeyMaker must make of them.
type products struct {
	factors    []fr.Element
	x, scale   fr.Element
	g1, g2     []byte
	powersOfG1 []byte
}

func newProducts(n int) *products {
	r := rand.New(rand.NewPCG(5, 6))
	p := &products{factors: make([]fr.Element, n), x: randomScalar(r), scale: randomScalar(r)}
	powers := make([]fr.Element, n)
	power := p.scale
	for i := range p.factors {
		p.factors[i] = randomScalar(r)
		powers[i] = power
		power.Mul(&power, &p.x)
	}
	p.factors[1].SetOne()
	p.factors[2].SetOne().Neg(&p.factors[2])
	p.factors[3].SetUint64(2)
	_, _, base1, base2 := bls12381.Generators()
	for _, x := range bls12381.BatchScalarMultiplicationG1(&base1, p.factors) {
		p.g1 = wire.AppendG1(p.g1, &x)
	}
	for _, x := range bls12381.BatchScalarMultiplicationG1(&base1, powers) {
		p.powersOfG1 = wire.AppendG1(p.powersOfG1, &x)
	}
	for _, x := range bls12381.BatchScalarMultiplicationG2(&base2, p.factors) {
		p.g2 = wire.AppendG2(p.g2, &x)
	}
	return p
}

func (p *products) slice(lo, hi int) []fr.Element { return p.factors[lo:hi] }

func testProducts(t *testing.T, m engine.KeyMaker, p *products) {
	for _, n := range []int{0, 1, 2, 3, 63, 64, 65, 300} {
		got := []byte{}
		emit := func(encoded []byte) error {
			got = append(got, encoded...)
			return nil
		}
		require.NoError(t, m.G1(t.Context(), n, p.slice, emit))
		require.Equal(t, p.g1[:n*wire.G1Size], got, "%d of G1", n)
		got = got[:0]
		require.NoError(t, m.G1Powers(t.Context(), n, p.x, p.scale, emit))
		require.Equal(t, p.powersOfG1[:n*wire.G1Size], got, "%d powers", n)
		got = got[:0]
		require.NoError(t, m.G2(t.Context(), n, p.slice, emit))
		require.Equal(t, p.g2[:n*wire.G2Size], got, "%d of G2", n)
	}
}

// After each refusal the KeyMaker works as before.
func testRefusals(t *testing.T, m engine.KeyMaker, p *products) {
	ignore := func([]byte) error { return nil }
	zero := func(lo, hi int) []fr.Element {
		v := append([]fr.Element{}, p.factors[lo:hi]...)
		if lo <= 77 && 77 < hi {
			v[77-lo].SetZero()
		}
		return v
	}
	short := func(lo, hi int) []fr.Element { return p.factors[lo : hi-1] }
	full := errors.New("disk full")
	for name, use := range map[string]func() error{
		"zero factor":    func() error { return m.G1(t.Context(), 300, zero, ignore) },
		"zero factor g2": func() error { return m.G2(t.Context(), 300, zero, ignore) },
		"zero base":      func() error { return m.G1Powers(t.Context(), 300, fr.Element{}, p.scale, ignore) },
		"zero scale":     func() error { return m.G1Powers(t.Context(), 300, p.x, fr.Element{}, ignore) },
		"too few":        func() error { return m.G1(t.Context(), 300, short, ignore) },
	} {
		require.Error(t, use(), name)
	}
	require.ErrorIs(t, m.G2(t.Context(), 300, p.slice, func([]byte) error { return full }), full)
	testProducts(t, m, p)
}

func testKeyCancellation(t *testing.T, m engine.KeyMaker, p *products) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	none := func([]byte) error {
		t.Error("products after the end")
		return nil
	}
	require.ErrorIs(t, m.G1(ctx, 300, p.slice, none), enough)
	require.ErrorIs(t, m.G2(ctx, 300, p.slice, none), enough)
	require.ErrorIs(t, m.G1Powers(ctx, 300, p.x, p.scale, none), enough)
	testProducts(t, m, p)
}

func testClosedKeyMaker(t *testing.T, m engine.KeyMaker, p *products) {
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	ignore := func([]byte) error { return nil }
	require.ErrorIs(t, m.G1(t.Context(), 1, p.slice, ignore), engine.ErrClosed)
	require.ErrorIs(t, m.G2(t.Context(), 1, p.slice, ignore), engine.ErrClosed)
	require.ErrorIs(t, m.G1Powers(t.Context(), 1, p.x, p.scale, ignore), engine.ErrClosed)
}
