package groth16

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/gputest"
)

// watched notes from where copies to cards come.
type watched struct {
	cudrv.Driver
	mu   sync.Mutex
	from map[uintptr]uint64 // bytes by address
}

func (w *watched) CopyToDeviceAsync(
	c cudrv.Context, dst cudrv.DevicePtr, src unsafe.Pointer, n uint64, s cudrv.Stream,
) cudrv.Result {
	w.mu.Lock()
	w.from[uintptr(src)] = n
	w.mu.Unlock()
	return w.Driver.CopyToDeviceAsync(c, dst, src, n, s)
}

// bytesIn is how many different bytes of some memory have been copied.
func (w *watched) bytesIn(m []byte) (n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(m)))
	for p, size := range w.from {
		if from <= p && p < from+uintptr(len(m)) {
			n += size
		}
	}
	return n
}

// One page-locked copy of a key feeds the Provers of two cards, needs the file no more, gives the reference's proofs, and is
// given back.
func TestPageLockedKey(t *testing.T) {
	w := &watched{from: map[uintptr]uint64{}}
	drv, devices := gputest.Open(t, gputest.Options{
		Driver: fakedrv.Config{Cards: make([]fakedrv.Card, 2)},
		Wrap:   func(d cudrv.Driver) cudrv.Driver { w.Driver = d; return w },
	})
	v := enginetest.Small(t, "feistel")
	path := v.ParamsFile(t)
	file := openKey(t, path)
	var done, total int64
	key, err := file.PageLocked(t.Context(), devices[1], &PageLockOptions{
		MaxBytes: file.Bytes(), Progress: func(d, n int64) { done, total = d, n },
	})
	require.NoError(t, err)
	require.Equal(t, []int64{file.Bytes(), file.Bytes(), file.Bytes()}, []int64{done, total, key.Bytes()})
	require.Equal(t, file.Bytes(), devices[1].Stats().PinnedBytes)
	require.NoError(t, file.Close())
	require.NoError(t, os.Remove(path))
	require.Equal(t, []string{path, path}, []string{file.Path(), key.Path()})
	require.Same(t, file.VerifyingKey(), key.VerifyingKey())
	require.Equal(t, file.Counts(), key.Counts())
	require.NoError(t, key.Check(t.Context(), nil))
	require.ErrorIs(t, devices[1].Close(), device.ErrBusy)

	points := uint64(file.Bytes() - key.key.VerifyingKey().Size() - 5*4)
	ctx := blinding.Fix(t.Context(), blinding.Factors{R: v.R, S: v.S})
	for _, d := range devices {
		clear(w.from)
		p, err := NewProver(t.Context(), key, v.System(t), &ProverOptions{Device: d})
		require.NoError(t, err)
		require.Equal(t, points, w.bytesIn(key.memory.Slice()), "every point comes from the copy")
		r, err := p.Prove(ctx, list(v.Circuit), nil)
		require.NoError(t, err)
		require.Equal(t, v.Proof, r.Bytes())
		require.NoError(t, p.Close())
	}
	require.NoError(t, key.Close())
	require.NoError(t, key.Close())
	require.Zero(t, devices[1].Stats().PinnedBytes)
	require.Zero(t, drv.Usage().PinnedBytes)
	_, err = NewProver(t.Context(), key, v.System(t), &ProverOptions{Device: devices[0]})
	require.Error(t, err)
}

// What cannot be locked is refused with the numbers, as early as that is known, and leaves the key as it was.
func TestPageLockedRefused(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	key := openKey(t, v.ParamsFile(t))
	drv, devices := gputest.Open(t, gputest.Options{
		Driver: fakedrv.Config{Cards: make([]fakedrv.Card, 2), PinnedBytes: uint64(key.Bytes() - 1)},
	})
	ended, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	for _, c := range []struct {
		key   *ProvingKey
		d     device.Device
		ctx   context.Context
		o     *PageLockOptions
		is    error // or nil
		text  string
		calls int64 // for memory
	}{
		{(*ProvingKey)(nil), devices[0], t.Context(), nil, nil, "groth16: lock key: no proving key", 0},
		{new(ProvingKey), devices[0], t.Context(), nil, nil, "groth16: lock key: no proving key", 0},
		{key, nil, t.Context(), nil, nil, "no GPU given", 0},
		{key, device.CPU(), t.Context(), nil, nil, "no GPU given", 0},
		{key, devices[0], t.Context(), &PageLockOptions{MaxBytes: -1}, nil, "option MaxBytes: -1 bytes", 0},
		{key, devices[0], t.Context(), &PageLockOptions{MaxBytes: key.Bytes() - 1}, device.ErrMemory, "option MaxBytes is", 0},
		{key, devices[0], ended, nil, enough, "enough", 0},
		{key, devices[0], t.Context(), nil, device.ErrMemory, "cuMemHostAlloc", 1},
	} {
		before := drv.Calls()["HostAlloc"]
		_, err := c.key.PageLocked(c.ctx, c.d, c.o)
		require.ErrorContains(t, err, c.text)
		require.ErrorContains(t, err, "groth16: lock key: ")
		if c.is != nil {
			require.ErrorIs(t, err, c.is)
		}
		require.EqualValues(t, c.calls, int64(drv.Calls()["HostAlloc"])-int64(before), c.text)
	}
	p, err := NewProver(t.Context(), key, v.System(t), &ProverOptions{Device: devices[0]})
	require.NoError(t, err)
	_, err = p.Prove(t.Context(), list(v.Circuit), nil)
	require.NoError(t, err)
	require.NoError(t, p.Close())
}

// A copy that is cancelled, whose file goes away or whose progress function panics gives its memory back.
func TestPageLockedInterrupted(t *testing.T) {
	drv, devices := gputest.Cards(t, nil, fakedrv.Card{})
	path := enginetest.Small(t, "cubic").ParamsFile(t)
	key := openKey(t, path)
	_, err := key.PageLocked(t.Context(), devices[0], &PageLockOptions{Progress: func(_, _ int64) { panic("mine") }})
	require.ErrorContains(t, err, "internal error: mine")
	require.Zero(t, drv.Usage().PinnedBytes)

	require.NoError(t, os.Truncate(path, key.Bytes()-1))
	_, err = key.PageLocked(t.Context(), devices[0], nil)
	var located *ParamsError
	require.ErrorAs(t, err, &located)
	require.Equal(t, path, located.File)
	require.Zero(t, drv.Usage().PinnedBytes)
	require.Equal(t, 2, int(drv.Calls()["HostFree"]))
}

// lockAndProve locks a key, loads it on a card, proves once and gives everything back. Of the errors it answers the first one.
func lockAndProve(ctx context.Context, s *gpu.System, v *enginetest.Vector, t *testing.T) (proof []byte, err error) {
	g, err := s.Open(0)
	if err != nil {
		return nil, device.Err(err)
	}
	d := device.Wrap(g)
	defer func() { err = errors.Join(err, d.Close()) }()
	file := openKey(t, v.ParamsFile(t))
	key, err := file.PageLocked(ctx, d, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	p, err := NewProver(ctx, key, v.System(t), &ProverOptions{Device: d})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r, err := p.Prove(ctx, list(v.Circuit), nil)
	return r.Bytes(), err
}

// A fault in any call of the driver is an error of package device and leaves no page-locked memory behind, but on a card
// that is lost.
func TestPageLockedFaults(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	ctx := blinding.Fix(t.Context(), blinding.Factors{R: v.R, S: v.S})
	run := func(rule *fakedrv.Rule) (*fakedrv.Driver, []byte, error) {
		drv := fakeDriver()
		if rule != nil {
			drv.Inject(*rule)
		}
		proof, err := lockAndProve(ctx, gpu.NewSystem(drv), v, t)
		return drv, proof, err
	}
	clean, proof, err := run(nil)
	require.NoError(t, err)
	require.Equal(t, v.Proof, proof)
	calls := len(clean.Log())
	step := 17
	if testing.Short() {
		step = 101
	}
	releases := []string{"MemFree", "HostFree", "StreamDestroy", "EventDestroy", "ModuleUnload", "PrimaryRelease"}
	for _, result := range []cudrv.Result{cudrv.OutOfMemory, cudrv.IllegalAddress} {
		failures := 0
		for n := 0; n < calls; n += step {
			drv, proof, err := run(&fakedrv.Rule{Card: -1, After: n, Result: result, Sticky: result.Sticky()})
			require.Empty(t, drv.Violations(), "call %d, %v", n, result)
			if err == nil {
				require.Equal(t, v.Proof, proof, "a call whose failure costs nothing but speed")
			} else {
				var typed *device.Error
				require.ErrorAs(t, err, &typed, "call %d, %v", n, result)
				failures++
			}
			log := drv.Log()
			i := slices.IndexFunc(log, func(c fakedrv.Call) bool { return c.Result == result })
			require.GreaterOrEqual(t, i, 0, "call %d, %v", n, result)
			if !result.Sticky() && !slices.Contains(releases, log[i].Op) {
				require.Equal(t, fakedrv.Usage{}, drv.Usage(), "call %d, %s, %v", n, log[i].Op, result)
			}
		}
		require.Positive(t, failures)
	}
}
