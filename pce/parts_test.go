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

// TestPartsWithinWords: parts begin and end anywhere within a word, some are shorter than one, and there is something before
// and behind the list.
func TestPartsWithinWords(t *testing.T) {
	for _, before := range []int{0, 1, 63, 64} {
		for _, size := range []int{0, 1, 5, 31, 63, 64, 65, 200} {
			for _, odd := range []int{-1, 0, 7, 40} { // the part that has a bit more than the others
				s := func(b Builder) error {
					rng := newRand(uint64(size))
					values := make([]bool, 41*(size+1))
					for i := range values {
						values[i] = rng.Uint32()&1 == 1
					}
					for i := range before {
						b.AllocBit(values[i%len(values)])
					}
					b.Blocks("part", 41, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
						for k := range size {
							b.AllocBit(values[i*(size+1)+k])
						}
						b.Alloc(fr.NewElement(uint64(i)))
						if i == odd {
							b.AllocBit(true)
						}
						return nil
					})
					b.AllocWord(0xdeadbeef)
					b.Alloc(fr.NewElement(99))
					return nil
				}
				want, _, err := Direct(t.Context(), s)
				require.NoError(t, err)
				for _, workers := range []int{1, 3} {
					w, err := MakeWitness(t.Context(), s, &WitnessOptions{Workers: workers})
					require.NoError(t, err)
					require.Equal(t, want, w, "%d bits before, %d a part, %d odd, %d workers", before, size, odd, workers)
				}
			}
		}
	}
}

// TestPartsWithinParts: lists of blocks in blocks of a list, whose own blocks differ in size although their sums do not.
func TestPartsWithinParts(t *testing.T) {
	inner := func(b Builder, size func(i int) int) {
		b.Blocks("inner", 5, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
			for k := range size(i) {
				b.Alloc(fr.NewElement(uint64(10*i + k)))
				b.AllocWord(uint32(0x01020304 * k))
				b.AllocBit(k%2 == 0)
			}
			return nil
		})
	}
	for name, size := range map[string]func(outer, i int) int{
		"equal":                func(_, _ int) int { return 6 },
		"large first":          func(_, i int) int { return 10 - 2*i },
		"large last":           func(_, i int) int { return 2 + 2*i },
		"large first in some":  func(outer, i int) int { return []int{6, 10 - 2*i}[outer%2] },
		"unequal in the outer": func(outer, i int) int { return outer%3 + i },
	} {
		s := func(b Builder) error {
			b.AllocBit(true)
			b.Blocks("outer", 20, func(int) []Arg { return nil }, func(b Builder, outer int, _ []Arg) []Arg {
				b.Alloc(fr.NewElement(uint64(outer)))
				b.AllocBit(outer%2 == 0)
				inner(b, func(i int) int { return size(outer, i) })
				b.AllocInput(fr.NewElement(uint64(outer)))
				b.Alloc(fr.NewElement(7))
				return nil
			})
			return nil
		}
		want, _, err := Direct(t.Context(), s)
		require.NoError(t, err)
		for _, workers := range []int{1, 2, 8, 64} {
			w, err := MakeWitness(t.Context(), s, &WitnessOptions{Workers: workers})
			require.NoError(t, err)
			require.Equal(t, want, w, "%s, %d workers", name, workers)
		}
	}
}

// TestReuse: the memory of a witness becomes that of the next, whatever was in it, and a circuit of another size does not
// mind.
func TestReuse(t *testing.T) {
	circuit := func(n int, fill uint32) synthesis {
		return func(b Builder) error {
			b.AllocWord(fill)
			b.Blocks("part", n, func(int) []Arg { return nil }, func(b Builder, i int, _ []Arg) []Arg {
				b.AllocInput(fr.NewElement(uint64(fill)))
				b.AllocWord(fill >> (i % 8))
				b.AllocBit(fill&1 == 1)
				b.Alloc(fr.NewElement(uint64(fill) + uint64(i)))
				return nil
			})
			return nil
		}
	}
	for _, workers := range []int{1, 2} {
		var w *Witness
		for _, c := range []struct {
			n    int
			fill uint32
			same bool // the memory suffices
		}{
			{40, ^uint32(0), false}, {40, 0, true}, {40, 0x12345678, true},
			{10, ^uint32(0), true}, {90, 0, false}, {90, ^uint32(0), true},
		} {
			want, _, err := Direct(t.Context(), circuit(c.n, c.fill))
			require.NoError(t, err)
			old := w
			var memory Witness
			if old != nil {
				memory = *old
			}
			w, err = MakeWitness(t.Context(), circuit(c.n, c.fill), &WitnessOptions{Workers: workers, Reuse: old})
			require.NoError(t, err)
			require.Equal(t, want, w)
			if old != nil {
				require.Zero(t, *old, "what was reused is empty")
			}
			if c.same {
				require.Same(t, &memory.Inputs[0], &w.Inputs[0])
				require.Same(t, &memory.Bits[0], &w.Bits[0])
				require.Same(t, &memory.Dense[0], &w.Dense[0])
			}
		}
		boom := errors.New("boom")
		_, err := MakeWitness(t.Context(), func(b Builder) error { return boom }, &WitnessOptions{Reuse: w})
		require.ErrorIs(t, err, boom)
		require.Zero(t, *w)
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
