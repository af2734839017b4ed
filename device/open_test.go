package device

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// gpuOf is how other packages of the module reach the GPU.
func gpuOf(t *testing.T, d Device) *gpu.Device {
	t.Helper()
	c, ok := d.(interface{ GPU() *gpu.Device })
	require.True(t, ok)
	return c.GPU()
}

func twoCards() *fakedrv.Driver {
	return fakedrv.New(fakedrv.Config{Cards: []fakedrv.Card{
		{Name: "A", MemoryBytes: 1 << 20, Major: 8, Minor: 6},
		{Name: "B MIG 1g", MemoryBytes: 2 << 20, UUID: [16]byte{0xbe, 0xef}},
	}})
}

func TestList(t *testing.T) {
	infos, err := list(gpu.NewSystem(twoCards()))
	require.NoError(t, err)
	require.Equal(t, []Info{
		{Ordinal: 0, UUID: "GPU-fa000000-0000-0000-0000-000000000001", PCI: "0000:01:00.0", Name: "A", MemoryBytes: 1 << 20,
			Capability: [2]int{8, 6}, Multiprocessors: 4, CUDA: "13.0"},
		{Ordinal: 1, UUID: "MIG-beef0000-0000-0000-0000-000000000000", PCI: "0000:02:00.0", Name: "B MIG 1g", MemoryBytes: 2 << 20,
			Capability: [2]int{9, 0}, Multiprocessors: 4, MIG: true, CUDA: "13.0"},
	}, infos)
}

func TestOpenByName(t *testing.T) {
	drv := twoCards()
	s := gpu.NewSystem(drv)
	for _, name := range []string{"1", "MIG-beef0000-0000-0000-0000-000000000000", "mig-beef", "0000:02:00.0"} {
		d, err := open(s, name, nil)
		require.NoError(t, err, name)
		require.Equal(t, 1, d.Info().Ordinal, name)
		require.False(t, d.Info().IsCPU())
		require.NoError(t, d.Close())
		require.NoError(t, d.Close())
	}
	require.Zero(t, drv.Usage())
}

func TestHandlesShareTheGPU(t *testing.T) {
	drv := twoCards()
	s := gpu.NewSystem(drv)
	a, err := open(s, "0", &Options{MemoryLimit: 512 << 10})
	require.NoError(t, err)
	b, err := open(s, "GPU-fa00", nil)
	require.NoError(t, err)
	require.Same(t, gpuOf(t, a), gpuOf(t, b))
	_, err = open(s, "0", &Options{MemoryLimit: 600 << 10})
	require.ErrorIs(t, err, ErrBusy)

	l, err := gpuOf(t, a).Lease(t.Context(), 100<<10, nil)
	require.NoError(t, err)
	require.Equal(t, b.Stats(), a.Stats())
	require.Equal(t, Stats{LeasedBytes: 100 << 10, PeakLeasedBytes: 100 << 10, LimitBytes: 448 << 10}, a.Stats())
	require.NoError(t, a.Close())
	require.NoError(t, a.Close()) // gives no second use back
	err = b.Close()
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorContains(t, err, "1 leases")
	require.NoError(t, l.Close())
	require.NoError(t, b.Close())
	require.Zero(t, drv.Usage())
}

func TestOptions(t *testing.T) {
	drv := twoCards()
	for _, o := range []*Options{{MemoryLimit: -1}, {Watchdog: -time.Second}, {Watchdog: 999 * time.Millisecond}} {
		_, err := open(gpu.NewSystem(drv), "0", o)
		require.ErrorContains(t, err, "device: option ")
	}
	require.Empty(t, drv.Log())
}

// TestFaults: every way in which a GPU can't be used has its own error, which says which GPU, and with what numbers.
func TestFaults(t *testing.T) {
	small := fakedrv.Card{MemoryBytes: 1 << 20}
	use := func(d Device, do func(*gpu.Device) error) error { return Err(do(gpuOf(t, d))) }
	for _, c := range []struct {
		name string
		cfg  fakedrv.Config
		rule fakedrv.Rule
		card string // to open; "" is "0"
		work func(*gpu.Device) error
		want error
		text string
	}{
		{name: "unknown ordinal", card: "3",
			want: ErrNoDevice, text: `find "3": no such device: there is device 0 Fake GPU (GPU-fa`},
		{name: "unknown UUID", card: "GPU-12345678", want: ErrNoDevice, text: `find "GPU-12345678"`},
		{name: "ambiguous", cfg: fakedrv.Config{Cards: make([]fakedrv.Card, 2)}, card: "GPU-fa00",
			want: ErrNoDevice, text: "more than one fits: devices [0 1]"},
		{name: "no card", rule: fakedrv.Rule{Op: "DeviceCount", Result: cudrv.NoDevice},
			want: ErrNoDevice, text: "CUDA_ERROR_NO_DEVICE"},
		{name: "stub", rule: fakedrv.Rule{Op: "Version", Result: cudrv.StubLibrary},
			want: ErrNoDriver, text: "CUDA_ERROR_STUB_LIBRARY"},
		{name: "old driver", cfg: fakedrv.Config{Version: 12040},
			want: ErrDriverTooOld, text: "it offers CUDA 12.4, the kernels need CUDA 13.0 or later"},
		{name: "no context", rule: fakedrv.Rule{Op: "PrimaryRetain", Result: cudrv.OutOfMemory},
			want: ErrMemory, text: "cuDevicePrimaryCtxRetain"},
		{name: "no image", cfg: fakedrv.Config{Cards: []fakedrv.Card{{NoImage: true}}},
			want: ErrUnsupported, text: "CUDA_ERROR_NO_BINARY_FOR_GPU",
			work: func(d *gpu.Device) error {
				_, err := d.Load([]byte("image"))
				return fmt.Errorf("kernels: load: %w", err)
			}},
		{name: "memory", cfg: fakedrv.Config{Cards: []fakedrv.Card{small}},
			want: ErrMemory, text: "need 1000000 bytes, 983040 free of 1048576",
			work: func(d *gpu.Device) error {
				_, err := d.Lease(context.Background(), 1000000, nil)
				return err
			}},
		{name: "lost", rule: fakedrv.Rule{Op: "MemInfo", Result: cudrv.ECCUncorrectable, Sticky: true},
			want: ErrLost, text: "CUDA_ERROR_ECC_UNCORRECTABLE",
			work: func(d *gpu.Device) error {
				_, err := d.Reserve(1)
				return err
			}},
		{name: "closed", want: ErrClosed, text: "use of closed handle",
			work: func(d *gpu.Device) error {
				s, err := d.NewStream()
				if err != nil {
					return err
				}
				return errors.Join(s.Close(), s.Wait())
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			drv := fakedrv.New(c.cfg)
			if c.rule.Op != "" {
				c.rule.Card, c.rule.Times = -1, -1
				drv.Inject(c.rule)
			}
			name := c.card
			if name == "" {
				name = "0"
			}
			d, err := open(gpu.NewSystem(drv), name, nil)
			if c.work != nil {
				require.NoError(t, err)
				err = use(d, c.work)
			}
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.text)
			require.True(t, strings.HasPrefix(err.Error(), "device: "), err)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.want, e.Reason)
			require.NotEmpty(t, e.Op)
			for _, other := range []error{
				ErrNoDriver, ErrNoDevice, ErrDriverTooOld, ErrUnsupported, ErrMemory, ErrLost, ErrClosed, ErrBusy,
			} {
				require.Equal(t, other == c.want, errors.Is(err, other), "%v is %v", err, other)
			}
			if c.work != nil {
				require.Equal(t, d.Info().UUID, e.UUID)
				require.Contains(t, err.Error(), e.PCI)
			}
			if c.name == "memory" {
				require.Equal(t, [3]int64{1000000, 983040, 1 << 20}, [3]int64{e.NeedBytes, e.FreeBytes, e.TotalBytes})
			}
			if c.want == ErrLost {
				require.True(t, d.Stats().Lost)
				require.ErrorIs(t, d.Stats().Cause, ErrLost)
			}
		})
	}
}

// Without page-locked memory everything works, and the statistics say so.
func TestPinnedRefused(t *testing.T) {
	d, err := open(gpu.NewSystem(fakedrv.New(fakedrv.Config{PinnedBytes: 1})), "0", nil)
	require.NoError(t, err)
	g := gpuOf(t, d)
	s, err := g.NewStream()
	require.NoError(t, err)
	a, err := g.Reserve(4096)
	require.NoError(t, err)
	v, err := gpu.Alloc[byte](a, 3)
	require.NoError(t, err)
	got := make([]byte, 3)
	require.NoError(t, gpu.UploadSlice(s, v, []byte{1, 2, 3}))
	require.NoError(t, gpu.DownloadSlice(s, got, v))
	require.Equal(t, []byte{1, 2, 3}, got)
	require.EqualValues(t, 1, d.Stats().PinnedRefused)
	require.Zero(t, d.Stats().PinnedBytes)
	_, err = gpu.AllocPinned[byte](g, 100)
	require.ErrorIs(t, Err(err), ErrMemory)
	require.NoError(t, errors.Join(s.Close(), a.Close(), d.Close()))
}

func TestErr(t *testing.T) {
	require.NoError(t, Err(nil))
	require.Equal(t, context.Canceled, Err(context.Canceled))
	once := Err(&gpu.Error{Op: "x", Reason: gpu.ErrMemory})
	require.Equal(t, once, Err(once))
	wrapped := fmt.Errorf("groth16: %w", once)
	require.Equal(t, wrapped, Err(wrapped))
	// What comes first decides, also if it has not been here and the second has.
	both := Err(fmt.Errorf("load: %w", errors.Join(&gpu.Error{Op: "x", Reason: gpu.ErrLost}, once)))
	require.ErrorContains(t, both, "device: load: ")
	require.Equal(t, ErrLost, both.(*Error).Reason)
	both = errors.Join(once, &gpu.Error{Op: "x", Reason: gpu.ErrLost})
	require.Equal(t, both, Err(both))
	plain := Err(&gpu.Error{Op: "cuX", Result: cudrv.InvalidValue})
	var e *Error
	require.ErrorAs(t, plain, &e)
	require.NoError(t, e.Reason)
	require.EqualError(t, plain, "device: cuX: CUDA_ERROR_INVALID_VALUE")
}

// A handle that is closed is of no use, also while another one keeps the GPU open.
func TestClosedHandle(t *testing.T) {
	drv := twoCards()
	s := gpu.NewSystem(drv)
	a, err := open(s, "0", nil)
	require.NoError(t, err)
	b, err := open(s, "0", nil)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	_, err = gpuOf(t, a).NewStream()
	require.ErrorIs(t, Err(err), ErrClosed)
	require.ErrorContains(t, err, a.Info().UUID)
	require.Equal(t, b.Info(), a.Info())
	_, err = gpuOf(t, b).Leasable()
	require.NoError(t, err)
	require.Equal(t, b.Stats(), a.Stats())
	require.NoError(t, b.Close())
	require.Zero(t, drv.Usage())
}

// A driver that could not be opened is tried again, and one that could is not.
func TestOpenerTriesAgain(t *testing.T) {
	tries := 0
	o := opener{open: func() (*gpu.System, error) {
		if tries++; tries < 3 {
			return nil, &gpu.Error{Op: "open driver", Reason: gpu.ErrNoDriver}
		}
		return gpu.NewSystem(twoCards()), nil
	}}
	for range 2 {
		_, err := o.get()
		require.ErrorIs(t, err, ErrNoDriver)
	}
	s, err := o.get()
	require.NoError(t, err)
	again, err := o.get()
	require.NoError(t, err)
	require.Same(t, s, again)
	require.Equal(t, 3, tries)
}

// TestThisMachine opens the driver of the machine the test runs on, if there is one. The checks are those that hold with
// it and without it.
func TestThisMachine(t *testing.T) {
	infos, err := List()
	if err != nil {
		require.Empty(t, infos)
		var e *Error
		require.ErrorAs(t, err, &e)
		_, openErr := Open("0", nil)
		require.Equal(t, err.Error(), openErr.Error())
		return
	}
	for i, info := range infos {
		require.Equal(t, i, info.Ordinal)
		names := []string{fmt.Sprint(i), info.UUID}
		if !info.MIG { // parts of a GPU share its address
			names = append(names, info.PCI)
		}
		for _, name := range names {
			d, err := Open(name, nil)
			require.NoError(t, err)
			require.Equal(t, info, d.Info())
			require.NoError(t, d.Close())
		}
	}
}
