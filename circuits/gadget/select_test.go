package gadget

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/pce"
)

// TestSelect: every element is found by its number, with one row less than there are elements.
func TestSelect(t *testing.T) {
	for n := range 5 {
		size := 1 << n
		sys, err := pce.Record(t.Context(), "select", func(b pce.Builder) error {
			selected(b, size, n, 0)
			return nil
		}, nil)
		require.NoError(t, err)
		require.Equal(t, size-1+n, sys.Counts().Rows) // a bit has a row
		for want := range size {
			require.NoError(t, pce.Check(t.Context(), func(b pce.Builder) error {
				v := selected(b, size, n, want).Value()
				if !v.Equal(new(fr.Element).SetUint64(uint64(100 + want))) {
					return errors.New("another element")
				}
				return nil
			}))
		}
	}
}

func selected(b pce.Builder, size, n, index int) pce.Num {
	from, bits := make([]pce.Num, size), make([]pce.Bit, n)
	for i := range from {
		from[i] = b.Alloc(fr.NewElement(uint64(100 + i)))
	}
	for i := range bits {
		bits[i] = b.AllocBit(index>>i&1 == 1)
	}
	return Select(b, from, bits)
}

func TestDecompose(t *testing.T) {
	var minusOne fr.Element
	minusOne.SetInt64(-1)
	for _, n := range []int{1, 6, 10, 255} {
		require.NoError(t, pce.Check(t.Context(), func(b pce.Builder) error {
			x := fr.NewElement(1)
			if n == 255 {
				x = minusOne
			}
			words := x.Bits()
			for i, bit := range Decompose(b, b.Alloc(x), n) {
				if bit.Value() != (words[i/64]>>(i%64)&1 == 1) {
					return errors.New("another bit")
				}
			}
			return nil
		}))
	}
	// A number that has more bits than it is decomposed into does not satisfy the row.
	err := pce.Check(t.Context(), func(b pce.Builder) error {
		Decompose(b, b.Alloc(fr.NewElement(64)), 6)
		return nil
	})
	require.ErrorIs(t, err, pce.ErrUnsatisfied)
}

// TestInclusionAt: a path that holds, for both hashes, and the empty one.
func TestInclusionAt(t *testing.T) {
	for _, c := range []struct {
		hash   TreeHash
		native func([]fr.Element) fr.Element
		levels []int
	}{
		{PoseidonTree(), HashSealed, []int{8, 4, 2}},
		{Sha256Tree(), HashData, []int{2}},
		{Sha256Tree(), HashData, nil},
	} {
		m := BlankPath(c.levels)
		m.Leaf.SetUint64(5)
		for i := range m.Levels {
			m.Levels[i].Index = 1
			m.Levels[i].Siblings[0].SetUint64(uint64(i))
		}
		m.Root = m.Climb(c.native)
		run := func(b pce.Builder) error {
			leaf, root := b.Alloc(m.Leaf), b.Alloc(m.Root)
			var bits []pce.Bit
			for _, arity := range c.levels {
				for i := range log2(arity) {
					bits = append(bits, b.AllocBit(i == 0))
				}
			}
			InclusionAt(b, c.hash, leaf, bits, AllocPath(b, m.Levels), root)
			return nil
		}
		require.NoError(t, pce.Check(t.Context(), run))
		_, err := pce.MakeWitness(t.Context(), run, nil)
		require.NoError(t, err)
		m.Root.SetZero()
		require.ErrorIs(t, pce.Check(t.Context(), run), pce.ErrUnsatisfied)
	}
}

// Misuse ends the run with an error and does not panic.
func TestSelectMisuse(t *testing.T) {
	for name, f := range map[string]func(b pce.Builder, x pce.Num, bit pce.Bit){
		"select":        func(b pce.Builder, x pce.Num, bit pce.Bit) { Select(b, []pce.Num{x}, []pce.Bit{bit}) },
		"decompose":     func(b pce.Builder, x pce.Num, _ pce.Bit) { Decompose(b, x, 256) },
		"too few bits":  func(b pce.Builder, x pce.Num, _ pce.Bit) { InclusionAt(b, Sha256Tree(), x, nil, [][]pce.Num{{x}}, x) },
		"too many bits": func(b pce.Builder, x pce.Num, bit pce.Bit) { InclusionAt(b, Sha256Tree(), x, []pce.Bit{bit}, nil, x) },
		"strange levels": func(b pce.Builder, x pce.Num, bit pce.Bit) {
			InclusionAt(b, PoseidonTree(), x, []pce.Bit{bit, bit}, [][]pce.Num{{x, x}}, x)
		},
	} {
		_, err := pce.Record(t.Context(), "misuse", func(b pce.Builder) error {
			f(b, b.Alloc(fr.Element{}), b.AllocBit(false))
			return nil
		}, nil)
		require.ErrorContains(t, err, "gadget: ", name)
		require.NotErrorIs(t, err, pce.ErrPanic, name)
	}
}
