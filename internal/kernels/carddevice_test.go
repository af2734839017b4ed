package kernels_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
)

// chain is a stream on which kernels of a known time run.
type chain struct {
	d      *gpu.Device
	m      *gpu.Module
	f      *gpu.Function
	s      *gpu.Stream
	a      *gpu.Arena
	in     gpu.View[fr.Element]
	out    gpu.View[fr.Element]
	rounds int // of a kernel of about 10 ms
}

func newChain(t *testing.T, s *gpu.System, o *gpu.Options) *chain {
	t.Helper()
	const kernel = "chain_fr_mul"
	c := &chain{rounds: 1000}
	m, err := kernels.ReadManifest()
	require.NoError(t, err)
	image, err := os.ReadFile(filepath.Join("fatbin", m.Kernels[kernel].Fatbin+".fatbin"))
	require.NoError(t, err)
	c.d, err = s.OpenWith(0, o)
	require.NoError(t, err)
	c.m, err = c.d.Load(image)
	require.NoError(t, err)
	c.f, err = c.m.Function(kernel)
	require.NoError(t, err)
	c.s, err = c.d.NewStream()
	require.NoError(t, err)
	c.a, err = c.d.Reserve(64 << 20)
	require.NoError(t, err)
	const n = 1 << 18
	c.in, err = gpu.Alloc[fr.Element](c.a, 2*n)
	require.NoError(t, err)
	c.out, err = gpu.Alloc[fr.Element](c.a, n)
	require.NoError(t, err)
	values := make([]fr.Element, 2*n)
	for i := range values {
		values[i].SetUint64(uint64(i + 2))
	}
	require.NoError(t, gpu.UploadSlice(c.s, c.in, values))
	begin, err := c.d.NewEvent()
	require.NoError(t, err)
	end, err := c.d.NewEvent()
	require.NoError(t, err)
	require.NoError(t, c.run()) // warm
	require.NoError(t, errors.Join(begin.Record(c.s), c.run(), end.Record(c.s), end.Wait()))
	took, err := end.Since(begin)
	require.NoError(t, err)
	c.rounds = int(float64(c.rounds) * float64(10*time.Millisecond) / float64(took))
	require.NoError(t, errors.Join(begin.Close(), end.Close()))
	return c
}

// run enqueues one kernel, which says that it takes 10 ms.
func (c *chain) run() error {
	p := struct {
		in, out   uint64
		n, rounds uint32
	}{c.in.Ptr(), c.out.Ptr(), uint32(c.out.Len()), uint32(c.rounds)}
	return gpu.Launch(c.s, c.f, gpu.Grid{Blocks: c.out.Len() / 256, Threads: 256, Micros: 10_000}, &p)
}

func (c *chain) close(t *testing.T) {
	t.Helper()
	require.NoError(t, errors.Join(c.a.Close(), c.s.Close(), c.m.Close(), c.d.Close()))
}

func TestCardDeviceOpen(t *testing.T) {
	realSystem(t)
	infos, err := device.List()
	require.NoError(t, err)
	for _, info := range infos {
		require.NotEmpty(t, info.Name)
		require.Positive(t, info.MemoryBytes)
		t.Logf("%+v", info)
	}
	for _, name := range []string{"0", infos[0].UUID, infos[0].UUID[:12], infos[0].PCI} {
		d, err := device.Open(name, nil)
		require.NoError(t, err, name)
		require.Equal(t, infos[0], d.Info())
		require.NoError(t, d.Close())
	}
	_, err = device.Open("GPU-00000000", nil)
	require.ErrorIs(t, err, device.ErrNoDevice)
}

func TestCardDeviceStats(t *testing.T) {
	realSystem(t)
	d, err := device.Open("0", nil)
	require.NoError(t, err)
	g := d.(interface{ GPU() *gpu.Device }).GPU()
	free, total, err := g.Memory()
	require.NoError(t, err)
	t.Logf("open: %d bytes free of %d, the process has %d", free, total, d.Stats().ProcessBytes)
	l, err := kernels.Load(g)
	require.NoError(t, err)
	after, _, err := g.Memory()
	require.NoError(t, err)
	t.Logf("kernels loaded: %d bytes free, %d less, the process has %d", after, int64(free-after), d.Stats().ProcessBytes)
	a, err := g.Reserve(1 << 30)
	require.NoError(t, err)
	st := d.Stats()
	t.Logf("1 GiB reserved: %+v", st)
	require.EqualValues(t, 1<<30, st.LeasedBytes)
	require.EqualValues(t, 1<<30, st.BytesInUse)
	_, err = g.Reserve(total)
	require.ErrorIs(t, device.Err(err), device.ErrMemory)
	require.ErrorIs(t, d.Close(), device.ErrBusy)
	require.NoError(t, errors.Join(a.Close(), l.Close(), d.Close()))
}

// TestCardDeviceCopies copies ordinary memory in both directions, with the watchdog at a second.
func TestCardDeviceCopies(t *testing.T) {
	d, err := realSystem(t).OpenWith(0, &gpu.Options{Watchdog: time.Second})
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	a, err := d.Reserve(1 << 30)
	require.NoError(t, err)
	v, err := gpu.Alloc[byte](a, 1<<30)
	require.NoError(t, err)
	src, got := make([]byte, v.Len()), make([]byte, v.Len())
	for i := range src {
		src[i] = byte(i ^ i>>8 ^ i>>20)
	}
	for range 3 {
		clear(got)
		t0 := time.Now()
		require.NoError(t, gpu.UploadSlice(s, v, src))
		t1 := time.Now()
		require.NoError(t, gpu.DownloadSlice(s, got, v))
		t2 := time.Now()
		require.True(t, bytes.Equal(src, got))
		t.Logf("1 GiB of ordinary memory: up %v, down %v", t1.Sub(t0), t2.Sub(t1))
	}
	t0 := time.Now()
	for range 1000 {
		require.NoError(t, gpu.UploadSlice(s, v.Slice(0, 8), src[:8]))
	}
	t1 := time.Now()
	for range 1000 {
		require.NoError(t, gpu.DownloadSlice(s, got[:8], v.Slice(0, 8)))
	}
	t.Logf("8 bytes: up and waited for %v, down %v", t1.Sub(t0)/1000, time.Since(t1)/1000)
	require.Zero(t, d.Stats().PinnedRefused)
	require.NoError(t, errors.Join(a.Close(), s.Close(), d.Close()))
}

// TestCardDeviceLockedCopies copies page-locked memory, which needs no detour.
func TestCardDeviceLockedCopies(t *testing.T) {
	d, err := realSystem(t).Open(0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	a, err := d.Reserve(1 << 30)
	require.NoError(t, err)
	v, err := gpu.Alloc[byte](a, 1<<30)
	require.NoError(t, err)
	src, err := gpu.AllocPinned[byte](d, v.Len())
	require.NoError(t, err)
	for i := range src.Slice() {
		src.Slice()[i] = byte(i ^ i>>8 ^ i>>20)
	}
	begin, end := newEvents(t, d)
	for range 3 {
		require.NoError(t, errors.Join(begin.Record(s), gpu.StageBytes(s, v, src.Slice()), end.Record(s), end.Wait()))
		took, err := end.Since(begin)
		require.NoError(t, err)
		t.Logf("1 GiB of page-locked memory: up in %v", took)
	}
	got := make([]byte, v.Len())
	require.NoError(t, gpu.DownloadSlice(s, got, v))
	require.True(t, bytes.Equal(src.Slice(), got))
	require.NoError(t, errors.Join(begin.Close(), end.Close(), src.Close(), a.Close(), s.Close(), d.Close()))
}

func newEvents(t *testing.T, d *gpu.Device) (begin, end *gpu.Event) {
	t.Helper()
	begin, err := d.NewEvent()
	require.NoError(t, err)
	end, err = d.NewEvent()
	require.NoError(t, err)
	return begin, end
}

// TestCardDevicePace runs seconds of kernels under a watchdog of one second, with and without pieces, and ends them early.
func TestCardDevicePace(t *testing.T) {
	for _, piece := range []time.Duration{50 * time.Millisecond, time.Hour} {
		c := newChain(t, realSystem(t), &gpu.Options{Piece: piece, Watchdog: 10 * time.Second})
		for range 2 {
			t0 := time.Now()
			for range 100 {
				require.NoError(t, c.run())
			}
			t1 := time.Now()
			require.NoError(t, c.s.Wait())
			t.Logf("pieces of %v: 100 kernels of 10 ms queued in %v, done in %v", piece, t1.Sub(t0), time.Since(t0))
		}
		ctx, cancel := context.WithCancel(t.Context())
		c.s.Bind(ctx)
		var ended time.Time
		timer := time.AfterFunc(300*time.Millisecond, func() {
			ended = time.Now()
			cancel()
		})
		var err error
		n := 0
		for ; n < 200 && err == nil; n++ {
			err = c.run()
		}
		stopped := time.Now()
		require.NoError(t, c.s.Wait())
		if piece < time.Second {
			require.ErrorIs(t, err, context.Canceled)
			t.Logf("cancelled: the launch %d answered after %v, the card was idle after %v",
				n, stopped.Sub(ended), time.Since(ended))
		}
		timer.Stop()
		cancel()
		c.s.Bind(context.Background())
		c.close(t)
	}
}

// TestCardDeviceWatchdog takes a kernel that runs longer than the watchdog allows for a hang. It is the last use of its
// System, but the card works on.
func TestCardDeviceWatchdog(t *testing.T) {
	c := newChain(t, realSystem(t), &gpu.Options{Watchdog: 200 * time.Millisecond})
	c.rounds *= 100
	require.NoError(t, c.run())
	t0 := time.Now()
	err := device.Err(c.s.Wait())
	t.Logf("after %v: %v", time.Since(t0), err)
	require.ErrorIs(t, err, device.ErrLost)
	require.ErrorContains(t, err, "nothing completed for 200ms: last launches: ")
	require.ErrorIs(t, c.run(), gpu.ErrLost)
	c.close(t) // quiet
	time.Sleep(2 * time.Second)
	again := newChain(t, realSystem(t), nil)
	require.NoError(t, again.run())
	again.close(t)
}
