package pce

import (
	"context"
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// square is a body with rows of every kind: a dense variable, bits, an input, and its argument.
func square(b Builder, in []Arg) []Arg {
	x := in[0].(Num)
	p := b.Mul(x, x)
	words := b.Unpack(p)
	b.PackInput([]Bit{words[0].Bit(0), words[0].Bit(1).Not()})
	return []Arg{p, words[0]}
}

func TestBlocksEqualFlatRows(t *testing.T) {
	sys, _ := requireConsistent(t, func(b Builder) error {
		x := b.Alloc(fr.NewElement(3))
		for range 4 {
			out := b.Block("square", []Arg{x}, square)
			x = out[0].(Num)
		}
		b.Inputize(x)
		return nil
	})
	require.Equal(t, 2, sys.Stats().Templates, "the circuit and one block")
	require.Equal(t, 5, sys.Stats().Instances)
}

// TestBlockKey has pairs of calls that must not share a template, and pairs that must.
func TestBlockKey(t *testing.T) {
	use := func(b Builder, in []Arg) []Arg {
		var l LC
		for i, a := range in {
			k := fr.NewElement(uint64(i + 2))
			switch a := a.(type) {
			case Num:
				l.AddNum(a, k)
			case Bit:
				l.AddBit(a, k)
			case Word:
				l.AddBit(a.Bit(0), k)
				l.AddBit(a.Bit(31), k)
			case LC:
				l.AddScaled(&a, k)
			}
		}
		return []Arg{b.Allocated(l)}
	}
	lc := func(x Num, k uint64) LC {
		var l LC
		l.AddNum(x, fr.NewElement(k))
		l.AddOne(fr.NewElement(7))
		return l
	}
	type env struct {
		x, y Num
		p, q Bit
		w    Word
	}
	cases := []struct {
		name          string
		first, second func(e env) []Arg
		templates     int
	}{
		{"other variables", func(e env) []Arg { return []Arg{e.x} }, func(e env) []Arg { return []Arg{e.y} }, 1},
		{"coincidence", func(e env) []Arg { return []Arg{e.x, e.y} }, func(e env) []Arg { return []Arg{e.x, e.x} }, 2},
		{"is and not", func(e env) []Arg { return []Arg{e.p} }, func(e env) []Arg { return []Arg{e.p.Not()} }, 2},
		{"variable and constant", func(e env) []Arg { return []Arg{e.p} }, func(env) []Arg { return []Arg{ConstBit(false)} }, 2},
		{"constants", func(env) []Arg { return []Arg{ConstBit(true)} }, func(env) []Arg { return []Arg{ConstBit(false)} }, 2},
		{"number and bit", func(e env) []Arg { return []Arg{e.p} }, func(e env) []Arg { return []Arg{e.p.Num()} }, 2},
		{"word and bit", func(e env) []Arg { return []Arg{e.w} }, func(e env) []Arg { return []Arg{e.p} }, 2},
		{"rotated word", func(e env) []Arg { return []Arg{e.w} }, func(e env) []Arg { return []Arg{e.w.RotR(5)} }, 1},
		{"shifted word", func(e env) []Arg { return []Arg{e.w} }, func(e env) []Arg { return []Arg{e.w.Shr(1)} }, 2},
		{"equal combinations", func(e env) []Arg { return []Arg{lc(e.x, 5)} }, func(e env) []Arg { return []Arg{lc(e.y, 5)} }, 1},
		{"coefficients", func(e env) []Arg { return []Arg{lc(e.x, 5)} }, func(e env) []Arg { return []Arg{lc(e.x, 6)} }, 2},
		{"bits across arguments", func(e env) []Arg { return []Arg{e.p, e.q} }, func(e env) []Arg { return []Arg{e.q, e.p} }, 1},
		{"number of arguments", func(e env) []Arg { return []Arg{e.p} }, func(e env) []Arg { return []Arg{e.p, e.q} }, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sys, _ := requireConsistent(t, func(b Builder) error {
				e := env{
					x: b.Alloc(fr.NewElement(11)), y: b.Alloc(fr.NewElement(12)),
					p: b.AllocBit(true), q: b.AllocBit(false), w: b.AllocWord(0x80000001),
				}
				first := b.Block("use", c.first(e), use)
				second := b.Block("use", c.second(e), use)
				b.Mul(first[0].(Num), second[0].(Num))
				return nil
			})
			require.Equal(t, 1+c.templates, sys.Stats().Templates)
		})
	}
}

// TestONEIsNotShifted: ONE stands for the same variable inside and outside of blocks, although blocks
// have public inputs of their own.
func TestONEIsNotShifted(t *testing.T) {
	requireConsistent(t, func(b Builder) error {
		b.AllocInput(fr.NewElement(4))
		for range 3 {
			b.Block("one", nil, func(b Builder, _ []Arg) []Arg {
				b.AllocInput(fr.NewElement(9))
				b.AllocBit(true)
				return nil
			})
		}
		return nil
	})
}

// TestZeroTermsStay: a coefficient that became zero is still a term of its row.
func TestZeroTermsStay(t *testing.T) {
	s := func(b Builder) error {
		x := b.Alloc(fr.NewElement(4))
		for range 2 {
			b.Block("zero", []Arg{x}, func(b Builder, in []Arg) []Arg {
				var l LC
				l.AddNum(in[0].(Num), fr.One())
				l.AddNum(in[0].(Num), minusOne())
				l.AddOne(fr.Element{})
				b.Allocated(l)
				return nil
			})
		}
		return nil
	}
	sys, _ := requireConsistent(t, s)
	d, err := sys.R1CSDigest(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, d.ZeroTerms)
	require.EqualValues(t, [3]uint64{0, 2, 2}, d.NonZero)
	require.Zero(t, sys.Layout().Densities.AAux.Count(), "a zero coefficient is no occurrence")
}

// TestDensityLooksAtAllInstances: whether a variable of a block occurs in A can depend on what one
// instance's result is used for.
func TestDensityLooksAtAllInstances(t *testing.T) {
	sys, _ := requireConsistent(t, func(b Builder) error {
		var outs []Num
		for range 5 {
			outs = append(outs, b.Block("free", nil, func(b Builder, _ []Arg) []Arg {
				return []Arg{b.Alloc(fr.NewElement(1))}
			})[0].(Num))
		}
		b.Mul(outs[3], outs[4])
		return nil
	})
	l := sys.Layout()
	require.Equal(t, Bitset{1 << 3}, l.Densities.AAux)
	require.Equal(t, Bitset{1 << 4}, l.Densities.BAux)
}

// TestResultsOfNestedBlocks: results pass through two levels, as bits, words, numbers, combinations, and
// as arguments handed back.
func TestResultsOfNestedBlocks(t *testing.T) {
	inner := func(b Builder, in []Arg) []Arg {
		x := in[0].(Num)
		w := b.AllocWord(0x1234)
		var l LC
		l.AddNum(b.Mul(x, x), fr.NewElement(3))
		l.AddBit(w.Bit(2), fr.NewElement(5))
		return []Arg{l, w.RotR(3), w.Bit(4).Not(), x}
	}
	requireConsistent(t, func(b Builder) error {
		x := b.Alloc(fr.NewElement(3))
		for range 3 {
			out := b.Block("outer", []Arg{x}, func(b Builder, in []Arg) []Arg {
				b.AllocBit(true)
				first := b.Block("inner", in, inner)
				l := first[0].(LC)
				second := b.Block("inner", []Arg{b.Allocated(l)}, inner)
				return append(second, first[1], in[0])
			})
			l := out[0].(LC)
			x = b.Allocated(l)
			b.Xor(out[1].(Word), out[4].(Word))
			b.And(out[2].(Bit), out[1].(Word).Bit(0))
			b.Equal(out[5].(Num), out[5].(Num))
		}
		return nil
	})
}

// TestMutants breaks each rule of blocks in turn.
func TestMutants(t *testing.T) {
	variant := func(differs func(i int) bool) synthesis {
		return func(b Builder) error {
			b.Blocks("block", 6, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				x := b.AllocBit(false)
				if differs(i) {
					return []Arg{b.And(x, x)}
				}
				return []Arg{b.Nor(x, x)}
			})
			return nil
		}
	}
	at := func(k int) synthesis { return variant(func(i int) bool { return i == k }) }
	cases := []struct {
		name     string
		circuit  synthesis
		all      bool // compare all instances
		want     error
		instance int
		row      int
	}{
		{"second instance has another row", at(1), false, ErrBlockDiffers, 1, 1},
		{"last instance has another row", at(5), false, ErrBlockDiffers, 5, 1},
		{"a middle instance has another row", at(3), true, ErrBlockDiffers, 3, 1},
		{"more variables", func(b Builder) error {
			b.Blocks("block", 2, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				for range i + 1 {
					b.Alloc(fr.Element{})
				}
				return nil
			})
			return nil
		}, false, ErrBlockDiffers, 1, 0},
		{"another order of allocation", func(b Builder) error {
			b.Blocks("block", 2, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				if i == 0 {
					b.Alloc(fr.Element{})
				}
				b.AllocBit(true)
				if i == 1 {
					b.Alloc(fr.Element{})
				}
				return nil
			})
			return nil
		}, false, ErrBlockDiffers, 1, 1},
		{"another nested block", func(b Builder) error {
			b.Blocks("block", 2, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				b.Block([]string{"x", "y"}[i], nil, func(b Builder, _ []Arg) []Arg {
					b.AllocBit(true)
					return nil
				})
				return nil
			})
			return nil
		}, false, ErrBlockDiffers, 1, 0},
		{"another result", func(b Builder) error {
			b.Blocks("block", 2, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				x, y := b.AllocBit(true), b.AllocBit(true)
				return []Arg{[]Bit{x, y}[i]}
			})
			return nil
		}, false, ErrBlockDiffers, 1, 2},
		{"row uses an outside variable", func(b Builder) error {
			x := b.Alloc(fr.Element{})
			b.Block("block", nil, func(b Builder, _ []Arg) []Arg {
				b.AllocBit(true)
				b.Mul(x, x)
				return nil
			})
			return nil
		}, false, ErrForeignVariable, 0, 1},
		{"argument of a nested block is an outside variable", func(b Builder) error {
			x := b.Alloc(fr.Element{})
			b.Block("block", nil, func(b Builder, _ []Arg) []Arg {
				b.Block("inner", []Arg{x}, square)
				return nil
			})
			return nil
		}, false, ErrForeignVariable, 0, 0},
		{"result is an outside variable", func(b Builder) error {
			x := b.Alloc(fr.Element{})
			b.Block("block", nil, func(b Builder, _ []Arg) []Arg { return []Arg{x} })
			return nil
		}, false, ErrForeignVariable, 0, 0},
		{"variable of a block that has ended", func(b Builder) error {
			var leaked Num
			b.Block("block", nil, func(b Builder, _ []Arg) []Arg {
				leaked = b.Alloc(fr.Element{})
				return nil
			})
			b.Mul(leaked, leaked)
			return nil
		}, false, ErrForeignVariable, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Record(t.Context(), "test", c.circuit, &RecordOptions{VerifyBlocks: c.all})
			require.ErrorIs(t, err, c.want)
			var be *BlockError
			require.ErrorAs(t, err, &be)
			require.Equal(t, c.instance, be.Instance, "%v", err)
			require.Equal(t, c.row, be.Row, "%v", err)
		})
	}
	t.Run("a middle instance is not compared unless asked", func(t *testing.T) {
		_, err := Record(t.Context(), "test", at(3), nil)
		require.NoError(t, err)
	})
	t.Run("nothing differs", func(t *testing.T) {
		_, err := Record(t.Context(), "test", at(-1), &RecordOptions{VerifyBlocks: true})
		require.NoError(t, err)
	})
}

func TestCircuitErrorsArrive(t *testing.T) {
	boom := errors.New("boom")
	circuits := map[string]struct {
		s    synthesis
		want error
	}{
		"returned":        {func(Builder) error { return boom }, boom},
		"failed":          {func(b Builder) error { b.Fail(boom); return nil }, boom},
		"failed with nil": {func(b Builder) error { b.Fail(nil); return nil }, nil},
		"failed in a block": {func(b Builder) error {
			b.Block("x", nil, func(b Builder, _ []Arg) []Arg { b.Fail(boom); return nil })
			return nil
		}, boom},
		"failed in blocks": {func(b Builder) error {
			b.Blocks("x", 9, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				if i == 0 {
					b.Fail(boom)
				}
				return nil
			})
			return nil
		}, boom},
		"panicked":           {func(Builder) error { panic("oops") }, ErrPanic},
		"panicked in blocks": {func(b Builder) error { b.Blocks("x", 2, func(int) []Arg { panic("oops") }, nil); return nil }, ErrPanic},
	}
	for name, c := range circuits {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			_, recording := Record(ctx, "test", c.s, nil)
			_, witness := MakeWitness(ctx, c.s, nil)
			_, _, direct := Direct(ctx, c.s)
			for _, err := range []error{recording, witness, direct, Check(ctx, c.s)} {
				require.Error(t, err)
				if c.want != nil {
					require.ErrorIs(t, err, c.want)
				}
			}
		})
	}
}

// many is a circuit whose blocks take part in every kind of work.
func many(n int) synthesis {
	return func(b Builder) error {
		x := b.Alloc(fr.NewElement(3))
		b.Blocks("square", n, func(int) []Arg { return []Arg{x} }, func(b Builder, i int, in []Arg) []Arg {
			y := b.Alloc(fr.NewElement(uint64(i)))
			return square(b, []Arg{b.Mul(in[0].(Num), y)})
		})
		return nil
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	s := many(20)
	sys := record(t, s)
	w, err := MakeWitness(ctx, s, nil)
	require.NoError(t, err)
	cancel(cause)
	_, err = Record(ctx, "test", s, nil)
	require.ErrorIs(t, err, cause)
	_, err = MakeWitness(ctx, s, nil)
	require.ErrorIs(t, err, cause)
	require.ErrorIs(t, Check(ctx, s), cause)
	abc := make([]fr.Element, sys.FullRows())
	require.ErrorIs(t, sys.Eval(ctx, w, abc, abc, abc), cause)
	_, err = sys.Transpose(ctx, abc)
	require.ErrorIs(t, err, cause)
	_, err = sys.R1CSDigest(ctx)
	require.ErrorIs(t, err, cause)
}

func TestWitnessIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	want, err := MakeWitness(t.Context(), many(50), &WitnessOptions{Workers: 1})
	require.NoError(t, err)
	for _, n := range []int{2, 3, 64} {
		got, err := MakeWitness(t.Context(), many(50), &WitnessOptions{Workers: n})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	requireConsistent(t, many(7))
}
