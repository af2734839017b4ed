package pce

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// evalStructure evaluates rows by the documentation of Structure alone. Every row must come exactly once.
func evalStructure(t *testing.T, s *System, w *Witness) (rows [3][]fr.Element) {
	t.Helper()
	st := s.Structure()
	seen := NewBitset(s.Counts().Rows)
	for m := range rows {
		rows[m] = make([]fr.Element, s.Counts().Rows)
	}
	for _, tpl := range st.Templates {
		slots := len(tpl.Slots) / max(1, len(tpl.Instances))
		for k, in := range tpl.Instances {
			value := func(v uint32) (x fr.Element) {
				kind, i := SplitRef(v)
				at := Instance{}
				if kind != RefSlot {
					at = in
				} else if kind, i = SplitRef(tpl.Slots[k*slots+int(i)]); kind == RefSlot {
					t.Fatal("a slot stands for a slot")
				}
				switch kind {
				case RefOne:
					x.SetOne()
				case RefInput:
					x = w.Inputs[at.Input+i]
				case RefDense:
					x = w.Dense[at.Dense+i]
				case RefBit:
					x.SetUint64(uint64(bit(w.Bit(int(at.Bit + i)))))
				}
				return x
			}
			start := uint32(0)
			for i, end := range tpl.Ends {
				row := in.Row + tpl.At[i/3]
				require.Equal(t, i%3 > 0, seen.Get(int(row)))
				seen.Set(int(row))
				for _, x := range tpl.Terms[start:end] {
					v := value(x.Var)
					v.Mul(&v, &st.Coefficients[x.Coeff])
					rows[i%3][row].Add(&rows[i%3][row], &v)
				}
				start = end
			}
		}
	}
	require.Equal(t, s.Counts().Rows, seen.Count())
	return rows
}

func TestStructure(t *testing.T) {
	nested := func(b Builder) error {
		x := b.AllocInput(fr.NewElement(5))
		for i := range 4 {
			y := b.AllocBit(i%2 == 0).Num()
			if i%3 == 0 {
				y = x
			}
			b.Block("outer", []Arg{y, x}, func(b Builder, in []Arg) []Arg {
				b.AllocWord(0x1234)
				out := b.Block("middle", in, func(b Builder, in []Arg) []Arg {
					p := b.Mul(in[0].(Num), in[1].(Num))
					b.Block("square", []Arg{p}, square)
					return b.Block("square", []Arg{in[1]}, square)
				})
				b.Equal(out[0].(Num), out[0].(Num))
				b.Block("square", []Arg{out[0]}, square)
				return nil
			})
			b.Mul(x, x)
		}
		return nil
	}
	for name, s := range map[string]synthesis{
		"nested": nested, "flat": flatten(nested), "many": many(6), "no rows": func(Builder) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			sys := record(t, s)
			w, err := MakeWitness(t.Context(), s, nil)
			require.NoError(t, err)
			var abc [3][]fr.Element
			for m := range abc {
				abc[m] = make([]fr.Element, sys.FullRows())
			}
			require.NoError(t, sys.Eval(t.Context(), w, abc[0], abc[1], abc[2]))
			for m := range abc {
				abc[m] = abc[m][:sys.Counts().Rows]
			}
			require.Equal(t, abc, evalStructure(t, sys, w))
			require.Len(t, sys.Structure().Templates, sys.Stats().Templates)
		})
	}
}
