package pce

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// flat hides blocks: their bodies run in place. What it records is the oracle for what blocks make.
type flat struct{ Builder }

func (f flat) Block(_ string, in []Arg, body Body) []Arg { return body(f, in) }

func (f flat) Blocks(_ string, n int, args func(int) []Arg, body func(Builder, int, []Arg) []Arg) [][]Arg {
	out := make([][]Arg, n)
	for i := range out {
		out[i] = body(f, i, args(i))
	}
	return out
}

func (f flat) Apply(g *Function, in []Num) Num { return g.Body(f, in) }

type synthesis = func(Builder) error

func flatten(s synthesis) synthesis {
	return func(b Builder) error { return s(flat{b}) }
}

func record(t testing.TB, s synthesis) *System {
	t.Helper()
	sys, err := Record(context.Background(), "test", s, nil)
	require.NoError(t, err)
	return sys
}

func digest(t testing.TB, s *System) [32]byte {
	t.Helper()
	d, err := s.R1CSDigest(context.Background())
	require.NoError(t, err)
	return d.SHA256Full
}

// requireSameAsFlat records a circuit with and without its blocks and compares rows and layouts.
func requireSameAsFlat(t testing.TB, s synthesis) *System {
	t.Helper()
	sys, plain := record(t, s), record(t, flatten(s))
	require.Equal(t, digest(t, plain), digest(t, sys))
	require.Equal(t, plain.Layout(), sys.Layout())
	return sys
}

// requireConsistent runs a circuit through all interpreters and compares what they make: the packed
// witness with that of the bit by bit expansion, recorded rows with rows evaluated on the way, and
// every row with its own equation.
func requireConsistent(t testing.TB, s synthesis) (*System, *Witness) {
	t.Helper()
	ctx := context.Background()
	sys := requireSameAsFlat(t, s)
	require.NoError(t, Check(ctx, s))
	w, err := MakeWitness(ctx, s, nil)
	require.NoError(t, err)
	slow, rows, err := Direct(ctx, s)
	require.NoError(t, err)
	require.Equal(t, slow, w)
	require.Equal(t, rows.Layout, sys.Layout())
	var abc [3][]fr.Element
	for m := range abc {
		abc[m] = make([]fr.Element, sys.FullRows())
	}
	require.NoError(t, sys.Eval(ctx, w, abc[0], abc[1], abc[2]))
	require.Equal(t, [3][]fr.Element{rows.A, rows.B, rows.C}, abc)
	return sys, w
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func randomElement(r *rand.Rand) fr.Element {
	var b [40]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	var e fr.Element
	e.SetBytes(b[:])
	return e
}
