package kernels

import (
	"fmt"
	"math"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// Table holds multiples of one point on a card, for multiplying it by many scalars: for each window
// of c bits the multiples by 1 to 2^(c−1). A product is then one addition a window. It is safe for
// concurrent use on different streams.
type Table[A Point] struct {
	l    *Library
	g    pointGroup
	c    int
	view gpu.View[A] // 2^(c−1) points of each window
}

// TableBytes is the size of a table with windows of c bits.
func TableBytes[A Point](c int) uint64 { return gpu.Aligned[A](windowCount(c) << (c - 1)) }

// TableBits is the width of windows with which making the table and n products take the fewest
// additions, the table having at most `room` bytes; 0 if none fits.
func TableBits[A Point](n int, room uint64) int {
	best, bestCost := 0, math.MaxInt
	for c := minWindow; c <= maxWindow && TableBytes[A](c) <= room; c++ {
		if cost := windowCount(c) * (n + 2<<(c-1)); cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

// NewG1Table makes the table of a point of order r, with windows of 8 to 22 bits (see [TableBits]).
// The arena must have room for [TableBytes] and 192 bytes for each of the points that one launch
// makes, of which there are at most half the table; what is not of the table is given back. It waits
// for the stream.
func NewG1Table(l *Library, s *gpu.Stream, a *gpu.Arena, base *bls12381.G1Affine,
	windowBits int) (*Table[bls12381.G1Affine], error) {
	if base.IsInfinity() || !base.IsInSubGroup() {
		return nil, fmt.Errorf("kernels: table of a point that is not of order r: %w", gpu.ErrArgument)
	}
	starts := make([]bls12381.G1Jac, tableWindows(windowBits))
	j := new(bls12381.G1Jac).FromAffine(base)
	for w := range starts {
		starts[w] = *j
		for range windowBits {
			j.DoubleAssign()
		}
	}
	return newTable(l, s, a, bls12381.BatchJacobianToAffineG1(starts), windowBits)
}

// NewG2Table is NewG1Table for a point of G2; sums have 384 bytes.
func NewG2Table(l *Library, s *gpu.Stream, a *gpu.Arena, base *bls12381.G2Affine,
	windowBits int) (*Table[bls12381.G2Affine], error) {
	if base.IsInfinity() || !base.IsInSubGroup() {
		return nil, fmt.Errorf("kernels: table of a point that is not of order r: %w", gpu.ErrArgument)
	}
	starts := make([]bls12381.G2Affine, tableWindows(windowBits))
	j := new(bls12381.G2Jac).FromAffine(base)
	for w := range starts {
		starts[w].FromJacobian(j)
		for range windowBits {
			j.DoubleAssign()
		}
	}
	return newTable(l, s, a, starts, windowBits)
}

// tableWindows is the number of windows of c bits, 0 where a table can't have such windows.
func tableWindows(c int) int {
	if c < minWindow || c > maxWindow {
		return 0
	}
	return windowCount(c)
}

func newTable[A Point](l *Library, s *gpu.Stream, a *gpu.Arena, starts []A, c int) (*Table[A], error) {
	t := &Table[A]{l: l, g: groupOf[A](), c: c}
	if len(starts) == 0 {
		return nil, fmt.Errorf("kernels: table of %s with windows of %d bits: %w", t.g.name, c, gpu.ErrArgument)
	}
	before := a.Mark()
	if err := t.make(s, a, starts); err != nil {
		a.Rewind(before)
		return nil, fmt.Errorf("kernels: table of %s with windows of %d bits: %w", t.g.name, c, err)
	}
	return t, nil
}

// make fills the table: the starts of the windows, then as many multiples again, and so on.
func (t *Table[A]) make(s *gpu.Stream, a *gpu.Arena, starts []A) (err error) {
	half := 1 << (t.c - 1)
	if t.view, err = gpu.Alloc[A](a, len(starts)*half); err != nil {
		return err
	}
	for w := range starts {
		if err := gpu.UploadSlice(s, t.view.Slice(w*half, w*half+1), starts[w:w+1]); err != nil {
			return err
		}
	}
	mark := a.Mark()
	defer a.Rewind(mark)
	sums, err := t.sums(a, len(starts)*half/2)
	if err != nil {
		return err
	}
	for have := 1; have < half; have *= 2 {
		n, piece := have*len(starts), sums.Len()/t.g.sumBytes
		for lo := 0; lo < n; lo += piece {
			p := extendParams{
				Table: t.view.Ptr(), Sums: sums.Ptr(), First: uint32(lo), N: uint32(min(piece, n-lo)),
				Have: uint32(have), Half: uint32(half),
			}
			if err := launch(t.l, s, "fixed_extend_"+t.g.name, t.g.grid(int(p.N), 1), &p); err != nil {
				return err
			}
			to := toAffineParams{
				Sums: p.Sums, Points: p.Table, First: p.First, N: p.N, Group: p.Have, Pitch: p.Half, Start: p.Have,
			}
			if err := t.toAffine(s, to); err != nil {
				return err
			}
		}
	}
	return s.Wait()
}

// sums is room for the sums of one launch, at most n.
func (t *Table[A]) sums(a *gpu.Arena, n int) (gpu.View[byte], error) {
	return gpu.Alloc[byte](a, t.sumBytes(n))
}

func (t *Table[A]) sumBytes(n int) int {
	return t.g.sumBytes * min(n, t.l.d.Info().Multiprocessors<<t.g.piece)
}

// toAffine enqueues the kernel with as many sums a thread as leave enough threads for the card.
func (t *Table[A]) toAffine(s *gpu.Stream, p toAffineParams) error {
	const most = 32
	p.Run = uint32(min(max(int(p.N)/(t.l.d.Info().Multiprocessors*256), 1), most))
	return launch(t.l, s, "points_affine_"+t.g.name, t.g.grid(blocks(int(p.N), int(p.Run)), int(p.Run)*affineCost), &p)
}

// Mul enqueues out[i] = scalars[i]·base, affine. Scalars are below r, in Montgomery form as
// fr.Element is or plain numbers; out has as many points, at most 2^31−1.
//
// It takes the sums of one launch from the arena and gives them back at once: what uses that memory
// next must be on the same stream, or wait for it.
func (t *Table[A]) Mul(s *gpu.Stream, a *gpu.Arena, out gpu.View[A], scalars gpu.View[fr.Element], montgomery bool) error {
	if err := t.check(out.Len(), scalars.Len()); err != nil || out.Len() == 0 {
		return err
	}
	mark := a.Mark()
	defer a.Rewind(mark)
	sums, err := t.sums(a, out.Len())
	if err != nil {
		return fmt.Errorf("kernels: %d products of %s: %w", out.Len(), t.g.name, err)
	}
	return t.mul(s, sums, out, scalars, montgomery)
}

func (t *Table[A]) check(points, scalars int) error {
	if points != scalars || points >= maxEntries {
		return fmt.Errorf("kernels: %d products of %s with %d scalars: %w", points, t.g.name, scalars, gpu.ErrArgument)
	}
	return nil
}

// mul is Mul with room for sums; it makes as many at a time as fit.
func (t *Table[A]) mul(s *gpu.Stream, sums gpu.View[byte], out gpu.View[A], scalars gpu.View[fr.Element],
	montgomery bool) error {
	piece := sums.Len() / t.g.sumBytes
	p := fixedParams{
		Table: t.view.Ptr(), Sums: sums.Ptr(), C: uint32(t.c), Windows: uint32(windowCount(t.c)), Offset: digitOffset(t.c),
	}
	if montgomery {
		p.Montgomery = 1
	}
	for lo := 0; lo < out.Len(); lo += piece {
		hi := min(lo+piece, out.Len())
		p.Scalars, p.N = scalars.Slice(lo, hi).Ptr(), uint32(hi-lo)
		if err := launch(t.l, s, "fixed_mul_"+t.g.name, t.g.grid(hi-lo, windowCount(t.c)), &p); err != nil {
			return err
		}
		to := toAffineParams{Sums: p.Sums, Points: out.Slice(lo, hi).Ptr(), N: p.N, Group: p.N}
		if err := t.toAffine(s, to); err != nil {
			return err
		}
	}
	return nil
}

// Powers enqueues out[i] = scale·x^(first+i), in Montgomery form; first plus the length of out is
// at most 2^32.
func (l *Library) Powers(s *gpu.Stream, out gpu.View[fr.Element], x, scale fr.Element, first uint32) error {
	n := out.Len()
	if n >= maxEntries || uint64(first)+uint64(n) > 1<<32 {
		return fmt.Errorf("kernels: %d powers from %d: %w", n, first, gpu.ErrArgument)
	}
	if n == 0 {
		return nil
	}
	p := powersParams{Out: out.Ptr(), First: first, N: uint32(n), Scale: scale}
	for k := range p.Square {
		p.Square[k] = x
		x.Square(&x)
	}
	return launch(l, s, "fr_powers", gpu.Grid{Blocks: blocks(n, 256), Threads: 256, Micros: n / 2000}, &p)
}
