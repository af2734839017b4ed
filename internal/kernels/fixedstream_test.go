package kernels

import (
	"context"
	"errors"
	"fmt"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// newFixed makes a FixedBase with small tables. It is closed before the arena.
func newFixed(t *testing.T, e *env, stretch int) *FixedBase {
	t.Helper()
	b1, b2 := bases()
	t1, err := NewG1Table(e.l, e.s, e.a, b1, 8)
	require.NoError(t, err)
	t2, err := NewG2Table(e.l, e.s, e.a, b2, 8)
	require.NoError(t, err)
	f, err := NewFixedBase(e.a, t1, t2, stretch)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// streamSuite compares the bytes that come out with those of package wire.
func streamSuite(t *testing.T, e *env, stretch int, sizes []int) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	f := newFixed(t, e, stretch)
	b1, b2 := bases()
	scalars := fixedScalars(sizes[len(sizes)-1] + 1)[1:] // without zero
	x, scale := fr.NewElement(5), fr.NewElement(77)
	power := scale
	powers := make([]fr.Element, len(scalars))
	for i := range powers {
		powers[i] = power
		power.Mul(&power, &x)
	}
	in := func(lo, hi int) []fr.Element { return scalars[lo:hi] }
	want1 := encodeAll(codingG1(), bls12381.BatchScalarMultiplicationG1(b1, scalars))
	want2 := encodeAll(codingG2(), bls12381.BatchScalarMultiplicationG2(b2, scalars))
	wantPowers := encodeAll(codingG1(), bls12381.BatchScalarMultiplicationG1(b1, powers))
	for _, n := range sizes {
		var got []byte
		emit := func(b []byte) error {
			got = append(got, b...)
			return nil
		}
		require.NoError(t, f.G1(t.Context(), n, in, emit))
		require.Equal(t, want1[:n*96], got, "%d of G1", n)
		got = []byte{}
		require.NoError(t, f.G2(t.Context(), n, in, emit))
		require.Equal(t, want2[:n*192], got, "%d of G2", n)
		got = []byte{}
		require.NoError(t, f.G1Powers(t.Context(), n, x, scale, emit))
		require.Equal(t, wantPowers[:n*96], got, "%d powers", n)
	}
	require.NoError(t, f.Close())
}

func encodeAll[A Point](c coding[A], points []A) []byte {
	out := []byte{}
	for i := range points {
		out = c.append(out, &points[i])
	}
	return out
}

func TestFixedStream(t *testing.T) {
	e := onFake(t, 36)
	streamSuite(t, e, 16, []int{1, 7, 8, 9, 15, 16, 17, 40, 48, 250})
}

// TestFixedStreamPageable: without page-locked memory everything goes through ordinary memory.
func TestFixedStreamPageable(t *testing.T) {
	fake := fakedrv.New(fakedrv.Config{PinnedBytes: 1})
	registerTwins(fake)
	e := newEnv(t, fake, 96<<20)
	e.fake = fake
	require.True(t, newFixed(t, e, 4).Pageable())
	streamSuite(t, e, 8, []int{1, 9, 20})
}

func TestFixedStreamErrors(t *testing.T) {
	e := onFake(t, 37)
	f := newFixed(t, e, 8)
	require.False(t, f.Pageable())
	ones := func(lo, hi int) []fr.Element {
		v := make([]fr.Element, hi-lo)
		for i := range v {
			v[i].SetOne()
		}
		return v
	}
	ignore := func([]byte) error { return nil }
	zero := func(lo, hi int) []fr.Element {
		v := ones(lo, hi)
		if lo <= 21 && 21 < hi {
			v[21-lo].SetZero()
		}
		return v
	}
	err := f.G1(t.Context(), 30, zero, ignore)
	require.ErrorIs(t, err, gpu.ErrArgument)
	require.ErrorContains(t, err, "scalar 21 is zero")
	short := func(lo, hi int) []fr.Element { return ones(lo, hi-1) }
	require.ErrorIs(t, f.G2(t.Context(), 30, short, ignore), gpu.ErrArgument)
	require.ErrorIs(t, f.G1Powers(t.Context(), 3, fr.Element{}, fr.One(), ignore), gpu.ErrArgument)
	require.ErrorIs(t, f.G1Powers(t.Context(), 3, fr.One(), fr.Element{}, ignore), gpu.ErrArgument)

	full := errors.New("disk full")
	count := 0
	require.ErrorIs(t, f.G1(t.Context(), 80, ones, func([]byte) error {
		if count++; count == 3 {
			return full
		}
		return nil
	}), full)
	require.Equal(t, 3, count)

	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	count = 0
	require.ErrorIs(t, f.G1(ctx, 80, ones, func([]byte) error {
		if count++; count == 2 {
			cancel(stop)
		}
		return nil
	}), stop)
	require.Equal(t, 2, count)

	// It can be used again.
	count = 0
	require.NoError(t, f.G1(t.Context(), 20, ones, func(b []byte) error { count += len(b); return nil }))
	require.Equal(t, 20*96, count)
}

// TestFixedStreamFaults lets every driver call fail in turn.
func TestFixedStreamFaults(t *testing.T) {
	for _, fault := range []struct {
		result cudrv.Result
		want   error
	}{{cudrv.Unknown, nil}, {cudrv.IllegalAddress, gpu.ErrLost}} {
		failures := 0
		for after := 0; ; after += 11 {
			fake := fakedrv.New(fakedrv.Config{})
			registerTwins(fake)
			d, err := gpu.NewSystem(fake).Open(0)
			require.NoError(t, err)
			fake.Inject(fakedrv.Rule{Card: -1, After: after, Result: fault.result, Sticky: fault.want == gpu.ErrLost})
			if err = smallStream(t.Context(), d); err == nil {
				break
			}
			failures++
			var ge *gpu.Error
			require.ErrorAs(t, err, &ge, "call %d", after)
			if fault.want != nil {
				require.ErrorIs(t, err, fault.want, "call %d", after)
			}
			st := d.Stats()
			require.Zero(t, st.Arenas+st.Streams+st.Modules+st.Events+st.Pinned, "call %d: %+v", after, st)
		}
		require.Greater(t, failures, 10)
	}
}

func smallStream(ctx context.Context, d *gpu.Device) (err error) {
	closing := func(c interface{ Close() error }) { err = errors.Join(err, c.Close()) }
	l, err := Load(d)
	if err != nil {
		return err
	}
	defer closing(l)
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer closing(s)
	a, err := d.Reserve(16 << 20)
	if err != nil {
		return err
	}
	defer closing(a)
	b1, b2 := bases()
	t1, err := NewG1Table(l, s, a, b1, 8)
	if err != nil {
		return err
	}
	t2, err := NewG2Table(l, s, a, b2, 8)
	if err != nil {
		return err
	}
	f, err := NewFixedBase(a, t1, t2, 4)
	if err != nil {
		return err
	}
	defer closing(f)
	return f.G1Powers(ctx, 10, fr.NewElement(3), fr.One(), func(b []byte) error {
		if len(b)%96 != 0 {
			return fmt.Errorf("%d bytes", len(b))
		}
		return nil
	})
}
