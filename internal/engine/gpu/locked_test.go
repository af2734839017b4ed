package gpu

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/hostmem"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// sources notes where copies to cards come from.
type sources struct {
	*fakedrv.Driver
	before func(n int) // called before copy n, or nil
	back   func()      // called before a copy to the host, or nil

	mu  sync.Mutex
	all []uintptr
}

func (s *sources) CopyToDeviceAsync(
	c cudrv.Context, dst cudrv.DevicePtr, src unsafe.Pointer, n uint64, stream cudrv.Stream,
) cudrv.Result {
	s.mu.Lock()
	at := len(s.all)
	s.all = append(s.all, uintptr(src))
	s.mu.Unlock()
	if s.before != nil {
		s.before(at)
	}
	return s.Driver.CopyToDeviceAsync(c, dst, src, n, stream)
}

func (s *sources) CopyToHostAsync(
	c cudrv.Context, dst unsafe.Pointer, src cudrv.DevicePtr, n uint64, stream cudrv.Stream,
) cudrv.Result {
	if s.back != nil {
		s.back()
	}
	return s.Driver.CopyToHostAsync(c, dst, src, n, stream)
}

// in counts the copies that came from some memory.
func in[T any](s *sources, m []T) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(m)))
	to := from + uintptr(len(m))*unsafe.Sizeof(m[0])
	for _, p := range s.all {
		if from <= p && p < to {
			n++
		}
	}
	return n
}

// lockedProof is a proof whose rows, witness and key are in page-locked memory.
type lockedProof struct {
	memory  *gpu.Pinned[byte] // of the key
	key     *srs.Key
	values  *gpu.Pinned[fr.Element] // of rows and witness
	bits    *gpu.Pinned[uint64]
	witness *pce.Witness
	rows    *pce.Rows
}

// newLockedProof puts what b's proof needs into page-locked memory. What it answers beside an error is closed.
func newLockedProof(t *testing.T, d *gpu.Device, b *enginetest.Bench) (_ *lockedProof, err error) {
	p := new(lockedProof)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.memory, err = gpu.AllocPinned[byte](d, int(b.Key().Bytes())); err != nil {
		return nil, err
	}
	if p.key, err = b.Key().CopyTo(t.Context(), p.memory.Slice(), nil); err != nil {
		return nil, err
	}
	if p.witness, p.rows, err = pce.Direct(t.Context(), b.Circuit().Synthesize); err != nil {
		return nil, err
	}
	if p.bits, err = gpu.AllocPinned[uint64](d, len(p.witness.Bits)); err != nil {
		return nil, err
	}
	copy(p.bits.Slice(), p.witness.Bits)
	p.witness.Bits = p.bits.Slice()
	all := []*[]fr.Element{&p.rows.A, &p.rows.B, &p.rows.C, &p.witness.Inputs, &p.witness.Dense}
	n := 0
	for _, v := range all {
		n += len(*v)
	}
	if p.values, err = gpu.AllocPinned[fr.Element](d, n); err != nil {
		return nil, err
	}
	at := 0
	for _, v := range all {
		to := p.values.Slice()[at : at+len(*v) : at+len(*v)]
		at += copy(to, *v)
		*v = to
	}
	return p, nil
}

// prove loads the key, proves once and closes what was loaded. Rows are overwritten as soon as they are free again, and
// the key at the end: a copy that is still on its way then is a violation.
func (p *lockedProof) prove(ctx context.Context, e engine.Engine, sys *pce.System) (sums *engine.PartialSums, err error) {
	defer func() {
		err = errors.Join(err, p.key.Close())
		clear(p.memory.Slice())
	}()
	l, err := e.Load(ctx, sys, p.key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	a, err := l.AssignRows(ctx, p.witness, p.rows)
	for _, v := range [][]fr.Element{p.rows.A, p.rows.B, p.rows.C} {
		clear(v)
	}
	if err != nil {
		return nil, err
	}
	defer a.Release()
	h, err := l.Quotient(ctx, a, nil)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	return l.Sums(ctx, a, h, nil)
}

func (p *lockedProof) close() (err error) {
	if p.values != nil {
		err = p.values.Close()
	}
	if p.bits != nil {
		err = errors.Join(err, p.bits.Close())
	}
	if p.memory != nil {
		err = errors.Join(err, p.memory.Close())
	}
	return err
}

// streaming lets nothing of a key stay on the card.
var streaming = options{segmentBytes: 4 << 10, stream: true}

// proveLocked opens the first card and makes one proof from page-locked memory there. Of errors it answers the first.
func proveLocked(ctx context.Context, t *testing.T, s *gpu.System, b *enginetest.Bench) (sums *engine.PartialSums, err error) {
	d, err := s.Open(0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	e, err := newEngine(d, streaming)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	p, err := newLockedProof(t, d, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return p.prove(ctx, e, b.System())
}

// Rows, a witness and a key in page-locked memory go to the card from where they are, in each proof, and give the same sums.
func TestLockedMemory(t *testing.T) {
	b := enginetest.NewBench(t, 300)
	drv := &sources{Driver: fake(fakedrv.Config{})}
	d, err := gpu.NewSystem(drv).Open(0)
	require.NoError(t, err)
	e, err := newEngine(d, streaming)
	require.NoError(t, err)
	p, err := newLockedProof(t, d, b)
	require.NoError(t, err)
	l, err := e.Load(t.Context(), b.System(), p.key)
	require.NoError(t, err)
	segments := 0
	for _, q := range l.(*loaded).desk.queries {
		segments += len(q.segments)
	}
	require.Greater(t, segments, 5)
	for i := range 3 {
		from, values, bits := in(drv, p.memory.Slice()), in(drv, p.values.Slice()), in(drv, p.bits.Slice())
		if i == 0 {
			require.Equal(t, 1, from, "a rehearsal")
		}
		a, err := l.AssignRows(t.Context(), p.witness, p.rows)
		require.NoError(t, err)
		require.Equal(t, 5, in(drv, p.values.Slice())-values, "three lists of rows and two of the witness")
		require.Equal(t, 1, in(drv, p.bits.Slice())-bits)
		h, err := l.Quotient(t.Context(), a, nil)
		require.NoError(t, err)
		sums, err := l.Sums(t.Context(), a, h, nil)
		require.NoError(t, err)
		b.Require(t, sums)
		h.Release()
		a.Release()
		require.Equal(t, segments, in(drv, p.memory.Slice())-from)
	}
	require.NoError(t, errors.Join(l.Close(), e.Close(), p.key.Close(), p.close(), d.Close()))
	require.Empty(t, drv.Violations())
	require.Equal(t, fakedrv.Usage{}, drv.Usage())
}

// A fault in any call of the driver leaves no page-locked memory behind, nor a copy from it.
func TestLockedMemoryFaults(t *testing.T) {
	b := enginetest.NewBench(t, 20)
	drv := fake(fakedrv.Config{})
	sums, err := proveLocked(t.Context(), t, gpu.NewSystem(drv), b)
	require.NoError(t, err)
	b.Require(t, sums)
	require.Equal(t, fakedrv.Usage{}, drv.Usage())
	calls, step := len(drv.Log()), 61
	switch {
	case *slow:
		step = 1
	case testing.Short():
		step = 307
	}
	for _, result := range []cudrv.Result{cudrv.OutOfMemory, cudrv.IllegalAddress} {
		failures := 0
		for n := 0; n < calls; n += step {
			drv := fake(fakedrv.Config{})
			drv.Inject(fakedrv.Rule{Card: -1, After: n, Result: result, Sticky: result.Sticky()})
			sums, err := proveLocked(t.Context(), t, gpu.NewSystem(drv), b)
			require.Empty(t, drv.Violations(), "call %d, %v", n, result)
			if err == nil {
				b.Require(t, sums)
			} else {
				var typed *gpu.Error
				require.ErrorAs(t, err, &typed, "call %d, %v", n, result)
				failures++
			}
			log := drv.Log()
			i := slices.IndexFunc(log, func(c fakedrv.Call) bool { return c.Result == result })
			require.GreaterOrEqual(t, i, 0, "call %d did not fail", n)
			if !result.Sticky() && !releases(log[i].Op) {
				require.Equal(t, fakedrv.Usage{}, drv.Usage(), "call %d, %s, %v", n, log[i].Op, result)
			}
		}
		require.Positive(t, failures)
	}
}

// At whichever copy the context ends, no copy is on its way when the call returns.
func TestLockedMemoryCancelled(t *testing.T) {
	b := enginetest.NewBench(t, 20)
	cause := errors.New("enough")
	for at, step := 0, 3; ; at += step {
		ctx, cancel := context.WithCancelCause(t.Context())
		drv := &sources{Driver: fake(fakedrv.Config{}), before: func(n int) {
			if n == at {
				cancel(cause)
			}
		}}
		_, err := proveLocked(ctx, t, gpu.NewSystem(drv), b)
		require.Empty(t, drv.Violations(), "copy %d", at)
		require.Equal(t, fakedrv.Usage{}, drv.Usage(), "copy %d", at)
		if ctx.Err() == nil { // there is no such copy
			require.NoError(t, err)
			require.Greater(t, at, 20)
			cancel(nil)
			return
		}
		if err != nil {
			require.ErrorIs(t, err, cause, "copy %d", at)
		}
	}
}

// A key that is closed in the middle of a proof is an error, and Close waits for the copies from its memory.
func TestLockedKeyClosed(t *testing.T) {
	b := enginetest.NewBench(t, 100)
	drv := &sources{Driver: fake(fakedrv.Config{})}
	d, err := gpu.NewSystem(drv).Open(0)
	require.NoError(t, err)
	e, err := newEngine(d, streaming)
	require.NoError(t, err)
	p, err := newLockedProof(t, d, b)
	require.NoError(t, err)
	l, err := e.Load(t.Context(), b.System(), p.key)
	require.NoError(t, err)
	a, err := l.AssignRows(t.Context(), p.witness, p.rows)
	require.NoError(t, err)
	h, err := l.Quotient(t.Context(), a, nil)
	require.NoError(t, err)

	var closing atomic.Bool
	closed := make(chan struct{})
	third := in(drv, p.memory.Slice()) + 3
	drv.before = func(int) {
		if in(drv, p.memory.Slice()) == third && closing.CompareAndSwap(false, true) {
			go func() {
				defer close(closed)
				if err := p.key.Close(); err != nil {
					t.Error(err)
				}
				clear(p.memory.Slice())
			}()
		}
	}
	drv.back = func() {
		if closing.Load() {
			<-closed // before anybody waits for the copies
		}
	}
	_, err = l.Sums(t.Context(), a, h, nil)
	require.ErrorIs(t, err, hostmem.ErrClosed)
	<-closed
	h.Release()
	a.Release()
	require.NoError(t, errors.Join(l.Close(), e.Close(), p.close(), d.Close()))
	require.Empty(t, drv.Violations())
	require.Equal(t, fakedrv.Usage{}, drv.Usage())
}

// A card that hangs while it reads memory of another one: that memory is kept, and the other card goes on.
func TestLockedMemoryOfHungReader(t *testing.T) {
	b := enginetest.NewBench(t, 20)
	drv := fake(fakedrv.Config{Cards: make([]fakedrv.Card, 2)})
	s := gpu.NewSystem(drv)
	owner, err := s.Open(0)
	require.NoError(t, err)
	hung, err := s.OpenWith(1, &gpu.Options{Watchdog: 50 * time.Millisecond})
	require.NoError(t, err)
	p, err := newLockedProof(t, owner, b)
	require.NoError(t, err)
	e, err := newEngine(hung, streaming)
	require.NoError(t, err)
	l, err := e.Load(t.Context(), b.System(), p.key)
	require.NoError(t, err)
	drv.Inject(fakedrv.Rule{Op: "CopyToDeviceAsync", Card: 1, Hang: true})
	_, err = l.AssignRows(t.Context(), p.witness, p.rows)
	require.ErrorIs(t, err, gpu.ErrLost)
	require.NoError(t, errors.Join(l.Close(), e.Close(), hung.Close()))

	healthy, err := newEngine(owner, streaming)
	require.NoError(t, err)
	sums, err := p.prove(t.Context(), healthy, b.System())
	require.NoError(t, err)
	b.Require(t, sums)
	kept := uint64(len(p.memory.Slice()) + len(p.values.Slice())*fr.Bytes + len(p.bits.Slice())*8)
	require.NoError(t, errors.Join(healthy.Close(), p.close()))
	require.Equal(t, kept, owner.Stats().PinnedBytes)
	require.NoError(t, owner.Close())
	require.Equal(t, kept+hung.Stats().PinnedBytes, drv.Usage().PinnedBytes)
}
