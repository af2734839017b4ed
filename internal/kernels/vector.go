package kernels

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// maxVector is the longest vector: its elements are numbered with 32 bits.
const maxVector = 1 << 31

func checkVectors(op string, n int, lens ...int) error {
	for _, l := range lens {
		if l != n || n < 1 || n > maxVector {
			return fmt.Errorf("kernels: %s of %d elements and %d: %w", op, n, lens, gpu.ErrArgument)
		}
	}
	return nil
}

// overElements is one thread an element. The card's memory moves some thirty elements in a nanosecond.
func overElements(n int) gpu.Grid {
	return gpu.Grid{Blocks: blocks(n, 256), Threads: 256, Micros: n / 30_000}
}

// Mul enqueues out = a·b, element by element. All have the same length; out may be a or b.
func (l *Library) Mul(s *gpu.Stream, out, a, b gpu.View[fr.Element]) error {
	if err := checkVectors("product", out.Len(), a.Len(), b.Len()); err != nil {
		return err
	}
	p := pointwiseParams{A: a.Ptr(), B: b.Ptr(), Out: out.Ptr(), N: uint32(out.Len())}
	return launch(l, s, "fr_mul", overElements(out.Len()), &p)
}

// SubScale enqueues out = (a − b)·scale, element by element. All have the same length; out may be a or b.
func (l *Library) SubScale(s *gpu.Stream, out, a, b gpu.View[fr.Element], scale fr.Element) error {
	if err := checkVectors("difference", out.Len(), a.Len(), b.Len()); err != nil {
		return err
	}
	p := pointwiseParams{A: a.Ptr(), B: b.Ptr(), Out: out.Ptr(), Scale: scale, N: uint32(out.Len())}
	return launch(l, s, "fr_sub_scale", overElements(out.Len()), &p)
}

// Gather enqueues out[i] = in[index[i]]; out and index have the same length. Indices are not checked.
func (l *Library) Gather(s *gpu.Stream, out, in gpu.View[fr.Element], index gpu.View[uint32]) error {
	if err := checkVectors("selection", out.Len(), index.Len()); err != nil {
		return err
	}
	p := gatherParams{In: in.Ptr(), Index: index.Ptr(), Out: out.Ptr(), N: uint32(out.Len())}
	return launch(l, s, "fr_gather", overElements(out.Len()), &p)
}

// FirstUnequal enqueues the search for the first i with a[i]·b[i] ≠ c[i]: first, one word, gets it, or
// ^uint32(0).
func (l *Library) FirstUnequal(s *gpu.Stream, first gpu.View[uint32], a, b, c gpu.View[fr.Element]) error {
	if err := checkVectors("comparison", a.Len(), b.Len(), c.Len()); err != nil {
		return err
	}
	if err := gpu.Fill(s, first, 0xff); err != nil {
		return err
	}
	p := unequalParams{A: a.Ptr(), B: b.Ptr(), C: c.Ptr(), First: first.Ptr(), N: uint32(a.Len())}
	return launch(l, s, "fr_first_unequal", overElements(a.Len()), &p)
}
