package pce

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// blocksOf is a list of n blocks, the i-th of which has size(i) numbers and a bit.
func blocksOf(n int, size func(i int) int) synthesis {
	return func(b Builder) error {
		x := b.Alloc(fr.NewElement(3))
		out := b.Blocks("part", n, func(int) []Arg { return []Arg{x} }, func(b Builder, i int, in []Arg) []Arg {
			p := in[0].(Num)
			for range size(i) {
				p = b.Mul(p, in[0].(Num))
			}
			b.AllocBit(i%3 == 0)
			return []Arg{p}
		})
		for _, o := range out {
			b.Inputize(o[0].(Num))
		}
		return nil
	}
}

// TestParts: however many workers make the parts of a list, and whether or not they find room in one piece, the
// witness is that of the bit by bit expansion.
func TestParts(t *testing.T) {
	for name, size := range map[string]func(i int) int{
		"equal":          func(int) int { return 7 },
		"larger":         func(int) int { return maxChunk + 5 },
		"none":           func(int) int { return 0 },
		"none at first":  func(i int) int { return min(i, 4) },
		"growing":        func(i int) int { return i + 1 },
		"shrinking":      func(i int) int { return 100 - i },
		"last is larger": func(i int) int { return 5 + i/63 },
	} {
		for _, n := range []int{0, 1, 2, 15, 16, 64} {
			if name == "larger" && n > 16 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				s := blocksOf(n, size)
				want, _, err := Direct(t.Context(), s)
				require.NoError(t, err)
				for _, workers := range []int{1, 2, 4} {
					w, err := MakeWitness(t.Context(), s, &WitnessOptions{Workers: workers})
					require.NoError(t, err)
					require.Equal(t, want, w, "%d workers", workers)
				}
			})
		}
	}
}

// TestPartsAlone: a circuit that is one list of equal blocks has its numbers in one piece from the start.
func TestPartsAlone(t *testing.T) {
	s := func(b Builder) error {
		b.Blocks("part", 64, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
			for k := range 9 {
				b.Alloc(fr.NewElement(uint64(9*i + k)))
			}
			return nil
		})
		return nil
	}
	w, err := MakeWitness(t.Context(), s, &WitnessOptions{Workers: 2})
	require.NoError(t, err)
	require.Len(t, w.Dense, 9*64)
	require.Equal(t, 9*64, cap(w.Dense))
	for i, v := range w.Dense {
		require.Equal(t, fr.NewElement(uint64(i)), v)
	}
}

// TestPartsFail: the fault of any part ends the run, and so does the context.
func TestPartsFail(t *testing.T) {
	boom := errors.New("boom")
	for _, at := range []int{0, 1, 40, 63} {
		_, err := MakeWitness(t.Context(), func(b Builder) error {
			b.Blocks("part", 64, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				b.Alloc(fr.NewElement(1))
				if i == at {
					b.Fail(boom)
				}
				return nil
			})
			return nil
		}, &WitnessOptions{Workers: 2})
		require.ErrorIs(t, err, boom)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	made := 0
	_, err := MakeWitness(ctx, func(b Builder) error {
		b.Blocks("part", 64, func(int) []Arg { return nil }, func(Builder, int, []Arg) []Arg {
			made++
			cancel(boom)
			return nil
		})
		return nil
	}, &WitnessOptions{Workers: 1})
	require.ErrorIs(t, err, boom)
	require.Equal(t, 1, made)
}
