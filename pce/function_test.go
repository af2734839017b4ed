package pce

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// productSquare is (x·y)² of two numbers.
func productSquare() *Function {
	return &Function{
		Name: "product-square", Variables: 2,
		Body: func(b Builder, in []Num) Num {
			p := b.Mul(in[0], in[1])
			return b.Mul(p, p)
		},
		Values: func(in, out []fr.Element) {
			out[0].Mul(&in[0], &in[1])
			out[1].Square(&out[0])
		},
	}
}

func TestFunction(t *testing.T) {
	sys, w := requireConsistent(t, func(b Builder) error {
		x := b.Alloc(fr.NewElement(2))
		for range maxChunk { // so that values meet the end of a chunk
			x = b.Apply(productSquare(), []Num{x, x})
			x = b.Pick(b.AllocBit(true), b.Alloc(fr.NewElement(2)), x)
		}
		y := b.Apply(productSquare(), []Num{x, b.Alloc(fr.NewElement(3))})
		b.Inputize(y)
		return nil
	})
	require.Equal(t, 3, sys.Stats().Templates, "the circuit, and a block for equal and one for different arguments")
	require.Equal(t, fr.NewElement(36), w.Inputs[1])
}

// TestFunctionOfManyVariables has more values than a chunk of a witness holds.
func TestFunctionOfManyVariables(t *testing.T) {
	const n = maxChunk + 1
	f := &Function{
		Name: "powers", Variables: n,
		Body: func(b Builder, in []Num) Num {
			p := in[0]
			for range n {
				p = b.Mul(p, in[0])
			}
			return p
		},
		Values: func(in, out []fr.Element) {
			p := in[0]
			for i := range out {
				p.Mul(&p, &in[0])
				out[i] = p
			}
		},
	}
	requireConsistent(t, func(b Builder) error {
		b.Apply(f, []Num{b.Alloc(fr.NewElement(5))})
		return nil
	})
}

// TestFunctionMutants has what can be wrong with a function; each must be found by those who see its rows, but
// values are nothing to a recorder.
func TestFunctionMutants(t *testing.T) {
	for name, c := range map[string]struct {
		mutate            func(f *Function)
		recorded, checked bool
	}{
		"none":        {recorded: true, checked: true, mutate: func(*Function) {}},
		"wrong value": {recorded: true, mutate: func(f *Function) { f.Values = func(_, out []fr.Element) { out[1].SetOne() } }},
		"too many":    {mutate: func(f *Function) { f.Variables = 3 }},
		"too few":     {mutate: func(f *Function) { f.Variables = 1 }},
		"other result": {mutate: func(f *Function) {
			f.Body = func(b Builder, in []Num) Num {
				p := b.Mul(in[0], in[1])
				b.Mul(p, p)
				return p
			}
		}},
		"a bit": {mutate: func(f *Function) {
			f.Body = func(b Builder, in []Num) Num {
				b.AllocBit(true)
				p := b.Mul(in[0], in[1])
				return b.Mul(p, p)
			}
		}},
		"an input": {mutate: func(f *Function) {
			f.Body = func(b Builder, in []Num) Num {
				p := b.Mul(in[0], in[1])
				b.Inputize(p)
				return b.Mul(p, p)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := productSquare()
			c.mutate(f)
			synthesize := func(b Builder) error {
				b.Apply(f, []Num{b.Alloc(fr.NewElement(2)), b.Alloc(fr.NewElement(3))})
				return nil
			}
			_, err := Record(t.Context(), "test", synthesize, nil)
			if c.recorded {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrFunction)
			}
			err = Check(t.Context(), synthesize)
			if c.checked {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrFunction)
			}
		})
	}
}
