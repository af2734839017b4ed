package kernels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// FixedBase multiplies two points by scalars of the host and gives the products in the encoding of
// parameter files, a stretch at a time: while one is computed, the one before is handed out. It is
// not safe for concurrent use.
type FixedBase struct {
	g1      *Table[bls12381.G1Affine]
	g2      *Table[bls12381.G2Affine]
	stretch int
	slots   [2]*fixedSlot
}

// fixedSlot is what one stretch in progress needs.
type fixedSlot struct {
	s       *gpu.Stream
	in      *staging[fr.Element]
	out     *staging[byte]
	scalars gpu.View[fr.Element]
	p1      gpu.View[bls12381.G1Affine]
	p2      gpu.View[bls12381.G2Affine]
	sums    gpu.View[byte]
	raw     gpu.View[byte]
	pending int // bytes of the stretch in progress
}

// DefaultStretch is how many products of G1 a [FixedBase] makes at a time by default. It fills a
// large card, and takes a gigabyte of its memory and a quarter of that of the host's.
const DefaultStretch = 1 << 20

// NewFixedBase makes a FixedBase from two tables of one card; 0 for stretch means [DefaultStretch].
// Of G2 half as many products are made at a time. It takes some 500 bytes for each point of a
// stretch, twice, from the arena, which must stay as it is until the FixedBase is closed, and 128 bytes,
// twice, of page-locked memory, or of ordinary memory where there is none.
func NewFixedBase(a *gpu.Arena, g1 *Table[bls12381.G1Affine], g2 *Table[bls12381.G2Affine],
	stretch int) (*FixedBase, error) {
	if stretch == 0 {
		stretch = DefaultStretch
	}
	if stretch < 2 || stretch%2 != 0 || stretch >= maxEntries {
		return nil, fmt.Errorf("kernels: fixed base in stretches of %d: %w", stretch, gpu.ErrArgument)
	}
	f := &FixedBase{g1: g1, g2: g2, stretch: stretch}
	for i := range f.slots {
		f.slots[i] = new(fixedSlot)
		if err := f.slots[i].open(a, f); err != nil {
			return nil, errors.Join(fmt.Errorf("kernels: fixed base in stretches of %d: %w", stretch, err), f.Close())
		}
	}
	return f, nil
}

func (sl *fixedSlot) open(a *gpu.Arena, f *FixedBase) (err error) {
	d := f.g1.l.d
	bytes := f.stretch * f.g1.g.bytes
	if sl.s, err = d.NewStream(); err != nil {
		return err
	}
	if sl.in, err = newStaging[fr.Element](d, f.stretch); err != nil {
		return err
	}
	if sl.out, err = newStaging[byte](d, bytes); err != nil {
		return err
	}
	if sl.scalars, err = gpu.Alloc[fr.Element](a, f.stretch); err != nil {
		return err
	}
	if sl.p1, err = gpu.Alloc[bls12381.G1Affine](a, f.stretch); err != nil {
		return err
	}
	if sl.p2, err = gpu.Alloc[bls12381.G2Affine](a, f.stretch/2); err != nil {
		return err
	}
	if sl.sums, err = gpu.Alloc[byte](a, max(f.g1.sumBytes(f.stretch), f.g2.sumBytes(f.stretch/2))); err != nil {
		return err
	}
	if sl.raw, err = gpu.Alloc[byte](a, bytes); err != nil {
		return err
	}
	return gpu.Fill(sl.s, sl.raw, 0) // all of it is copied to the host, used or not
}

// Close frees streams and host memory.
func (f *FixedBase) Close() error {
	err := f.drain()
	for _, sl := range f.slots {
		if sl == nil {
			continue
		}
		err = errors.Join(err, sl.in.Close(), sl.out.Close())
		if sl.s != nil {
			err = errors.Join(err, sl.s.Close())
		}
	}
	f.slots = [2]*fixedSlot{}
	return err
}

// Pageable tells whether copies go through ordinary memory, which is slower, because there was no
// page-locked memory.
func (f *FixedBase) Pageable() bool {
	for _, sl := range f.slots {
		if sl != nil && (sl.in.pinned == nil || sl.out.pinned == nil) {
			return true
		}
	}
	return false
}

// G1 makes n products of the first table's point. scalars gives factors lo to hi−1, which may not
// be zero, as elements; emit gets the encoded products in order, 96 bytes each, and must not keep
// them. The end of ctx and the first error of emit end it after the stretches in progress.
func (f *FixedBase) G1(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element,
	emit func(encoded []byte) error) error {
	return fixedProducts(ctx, f, f.g1, f.stretch, f.slots1(), n, fromHost(scalars), emit)
}

// G2 is G1 for the second table, 192 bytes each.
func (f *FixedBase) G2(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element,
	emit func(encoded []byte) error) error {
	return fixedProducts(ctx, f, f.g2, f.stretch/2, f.slots2(), n, fromHost(scalars), emit)
}

// G1Powers is G1 with the factors scale·x^i, i = 0 … n−1, which are made on the card. Neither x nor
// scale may be zero.
func (f *FixedBase) G1Powers(ctx context.Context, n int, x, scale fr.Element, emit func(encoded []byte) error) error {
	if x.IsZero() || scale.IsZero() || int64(n) > 1<<32 {
		return fmt.Errorf("kernels: %d products with powers of %v times %v: %w", n, &x, &scale, gpu.ErrArgument)
	}
	load := func(sl *fixedSlot, lo, hi int) error {
		return f.g1.l.Powers(sl.s, sl.scalars.Slice(0, hi-lo), x, scale, uint32(lo))
	}
	return fixedProducts(ctx, f, f.g1, f.stretch, f.slots1(), n, load, emit)
}

func (f *FixedBase) slots1() (v [2]gpu.View[bls12381.G1Affine]) {
	for i, sl := range f.slots {
		v[i] = sl.p1
	}
	return v
}

func (f *FixedBase) slots2() (v [2]gpu.View[bls12381.G2Affine]) {
	for i, sl := range f.slots {
		v[i] = sl.p2
	}
	return v
}

// copiers is how many goroutines fill page-locked memory: one is slower than the card.
const copiers = 4

// fromHost uploads scalars. What is left from the stretch before goes along with a short one.
func fromHost(scalars func(lo, hi int) []fr.Element) func(sl *fixedSlot, lo, hi int) error {
	return func(sl *fixedSlot, lo, hi int) error {
		from := scalars(lo, hi)
		if len(from) != hi-lo {
			return fmt.Errorf("kernels: %d scalars, want %d to %d: %w", len(from), lo, hi, gpu.ErrArgument)
		}
		if i := copyNonZero(sl.in.s, from); i < len(from) {
			return fmt.Errorf("kernels: scalar %d is zero, its product at infinity: %w", lo+i, gpu.ErrArgument)
		}
		return sl.in.upload(sl.s, sl.scalars)
	}
}

// copyNonZero copies on several processors and returns the index of the first zero, or len(from).
func copyNonZero(to, from []fr.Element) int {
	var zero [copiers]int
	var wg sync.WaitGroup
	for k := range zero {
		lo, hi := k*len(from)/copiers, (k+1)*len(from)/copiers
		wg.Go(func() {
			zero[k] = len(from)
			for i := lo; i < hi; i++ {
				if to[i] = from[i]; from[i].IsZero() {
					zero[k] = i
					return
				}
			}
		})
	}
	wg.Wait()
	return slices.Min(zero[:])
}

// fixedProducts makes n products in stretches, in turn in both slots, whose points are in views.
func fixedProducts[A Point](ctx context.Context, f *FixedBase, t *Table[A], stretch int, views [2]gpu.View[A], n int,
	load func(sl *fixedSlot, lo, hi int) error, emit func(encoded []byte) error) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, f.drain())
		}
	}()
	turn := 0
	for lo := 0; lo < n; lo += stretch {
		sl, points := f.slots[turn], views[turn]
		turn ^= 1
		if err := sl.finish(emit); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		hi := min(lo+stretch, n)
		sl.pending = (hi - lo) * t.g.bytes
		if err := load(sl, lo, hi); err != nil {
			return err
		}
		points = points.Slice(0, hi-lo)
		if err := t.mul(sl.s, sl.sums, points, sl.scalars.Slice(0, hi-lo), true); err != nil {
			return err
		}
		if err := encodePoints(t.l, sl.s, sl.raw.Slice(0, sl.pending), points); err != nil {
			return err
		}
		if err := sl.out.download(sl.s, sl.raw); err != nil {
			return err
		}
	}
	if err := f.slots[turn].finish(emit); err != nil {
		return err
	}
	return f.slots[turn^1].finish(emit)
}

// finish hands out the stretch in progress, if there is one.
func (sl *fixedSlot) finish(emit func(encoded []byte) error) error {
	if sl.pending == 0 {
		return nil
	}
	if err := sl.s.Wait(); err != nil {
		return err
	}
	n := sl.pending
	sl.pending = 0
	return emit(sl.out.s[:n])
}

// drain waits for the stretches in progress and forgets them.
func (f *FixedBase) drain() (err error) {
	for _, sl := range f.slots {
		if sl != nil && sl.pending > 0 {
			sl.pending = 0
			err = errors.Join(err, sl.s.Wait())
		}
	}
	return err
}

// staging is host memory for copies: page-locked, or ordinary where the system gives no such.
type staging[T any] struct {
	s      []T
	pinned *gpu.Pinned[T]
}

func newStaging[T any](d *gpu.Device, n int) (*staging[T], error) {
	p, err := gpu.AllocPinned[T](d, n)
	if errors.Is(err, gpu.ErrMemory) {
		return &staging[T]{s: make([]T, n)}, nil
	}
	if err != nil {
		return nil, err
	}
	return &staging[T]{s: p.Slice(), pinned: p}, nil
}

func (m *staging[T]) upload(s *gpu.Stream, dst gpu.View[T]) error {
	if m.pinned == nil {
		return gpu.Stage(s, dst, m.s)
	}
	return gpu.Upload(s, dst, m.pinned)
}

func (m *staging[T]) download(s *gpu.Stream, src gpu.View[T]) error {
	if m.pinned == nil {
		return gpu.DownloadSlice(s, m.s, src)
	}
	return gpu.Download(s, m.pinned, src)
}

func (m *staging[T]) Close() error {
	if m == nil || m.pinned == nil {
		return nil
	}
	return m.pinned.Close()
}
