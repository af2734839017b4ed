package gpu

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
)

func TestListAndFind(t *testing.T) {
	s := NewSystem(fakedrv.New(two()))
	list := must(s.List())(t)
	if len(list) != 2 || list[1].Name != "B" ||
		list[1].Major != 9 || list[1].MemoryBytes != 1<<20 || list[1].Multiprocessors == 0 {
		t.Fatalf("%+v", list)
	}
	for name, want := range map[string]int{
		"0": 0, "1": 1, list[1].UUID: 1, strings.ToLower(list[0].UUID): 0, list[1].PCI: 1,
	} {
		if got := must(s.Find(name))(t); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
	for _, name := range []string{"2", "", "GPU-fa000000", "gpu", "0000:99:00.0"} {
		if i, err := s.Find(name); !errors.Is(err, ErrNoDevice) {
			t.Errorf("%q: %d, %v", name, i, err)
		}
	}
	if _, err := s.Open(2); !errors.Is(err, ErrNoDevice) {
		t.Error(err)
	}
	if _, err := s.Open(-1); !errors.Is(err, ErrNoDevice) {
		t.Error(err)
	}
}

// TestDriverErrors: a driver that is too old, a stub and one without cards have their own errors, from List and from Open.
func TestDriverErrors(t *testing.T) {
	for _, c := range []struct {
		cfg  fakedrv.Config
		rule fakedrv.Rule
		want error
		text string
	}{
		{cfg: fakedrv.Config{Version: 12080}, want: ErrDriverTooOld, text: "it offers CUDA 12.8, the kernels need CUDA 13.0"},
		{rule: fakedrv.Rule{Op: "DeviceCount", Result: cudrv.NoDevice}, want: ErrNoDevice, text: "CUDA_ERROR_NO_DEVICE"},
		{rule: fakedrv.Rule{Op: "Version", Result: cudrv.StubLibrary}, want: ErrNoDriver, text: "CUDA_ERROR_STUB_LIBRARY"},
	} {
		drv := fakedrv.New(c.cfg)
		c.rule.Card, c.rule.Times = -1, -1
		if c.rule.Op != "" {
			drv.Inject(c.rule)
		}
		s := NewSystem(drv)
		_, listErr := s.List()
		_, openErr := s.Open(0)
		for _, err := range []error{listErr, openErr} {
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
		}
	}
	for reason, want := range map[error]error{
		cudrv.ErrNoDriver: ErrNoDriver, cudrv.ErrTooOld: ErrDriverTooOld, cudrv.ErrNoDevice: ErrNoDevice,
	} {
		if err := openError(&cudrv.OpenError{Reason: reason, Detail: "why"}); !errors.Is(err, want) ||
			!strings.HasSuffix(err.Error(), ": why") {
			t.Error(err)
		}
	}
}

type monitor struct{}

func (monitor) DriverVersion() string { return "580.1.2" }
func (monitor) ProcessBytes(uuid string) uint64 {
	return uint64(len(uuid))
}

func TestMonitor(t *testing.T) {
	s := NewSystem(fakedrv.New(fakedrv.Config{Cards: []fakedrv.Card{{Name: "NVIDIA X MIG 1g.18gb"}, {Name: "NVIDIA MIGHTY"}}}))
	list := must(s.List())(t)
	if !list[0].MIG || list[1].MIG || !strings.HasPrefix(list[0].UUID, "MIG-fa") ||
		list[0].Driver != "" || list[0].CUDA != "13.0" {
		t.Errorf("%+v", list)
	}
	d := must(s.Open(0))(t)
	if n := d.ProcessBytes(); n != 0 {
		t.Error(n)
	}
	s.mon = monitor{}
	if list := must(s.List())(t); list[1].Driver != "580.1.2" || d.ProcessBytes() != 40 {
		t.Errorf("%+v, %d", list[1], d.ProcessBytes())
	}
	ok(t, d.Close())
}

// A card that does not describe itself is named in the error, as far as it is known, and is in nobody else's way.
func TestBrokenCard(t *testing.T) {
	const uuid, pci, result = "GPU-fa000000-0000-0000-0000-000000000001", "0000:01:00.0", "CUDA_ERROR_INVALID_DEVICE"
	for op, want := range map[string]string{
		"DeviceGet":       "gpu: cuDeviceGet: " + result + ": of device 0",
		"DeviceName":      "gpu: device 0 (" + uuid + ", " + pci + "): cuDeviceGetName: " + result,
		"DeviceUUID":      "gpu: device 0 A (" + pci + "): cuDeviceGetUuid: " + result,
		"DevicePCI":       "gpu: device 0 A (" + uuid + "): cuDeviceGetPCIBusId: " + result,
		"DeviceAttribute": "gpu: device 0 A (" + uuid + ", " + pci + "): cuDeviceGetAttribute: " + result,
	} {
		drv := fakedrv.New(two())
		drv.Inject(fakedrv.Rule{Op: op, Times: -1, Result: cudrv.InvalidDevice})
		s := NewSystem(drv)
		_, listed := s.List()
		_, opened := s.Open(0)
		_, found := s.Find("GPU-00000000")
		for _, err := range []error{listed, opened, found} {
			if err == nil || err.Error() != want {
				t.Errorf("%s: %v", op, err)
			}
		}
		for _, name := range []string{"1", "0000:02:00.0", "GPU-fa000000-0000-0000-0000-000000000002"} {
			if i, err := s.Find(name); i != 1 || err != nil {
				t.Errorf("%s: %s: %d, %v", op, name, i, err)
			}
		}
		ok(t, must(s.Open(1))(t).Close())
	}
}

// The names that the tools of the driver print are understood, and what is not is answered with what there is.
func TestNames(t *testing.T) {
	s := NewSystem(fakedrv.New(fakedrv.Config{Cards: []fakedrv.Card{
		{Name: "A", PCI: "0000:3b:00.0"}, {Name: "B", PCI: "0001:3b:00.0"},
		{Name: "C MIG 1g", PCI: "0000:5e:00.0", UUID: [16]byte{1}}, {Name: "C MIG 2g", PCI: "0000:5e:00.0", UUID: [16]byte{2}},
	}}))
	for name, want := range map[string]int{
		"00000000:3B:00.0": 0, "0000:3B:00.0": 0, "00000001:3b:00.0": 1, "MIG-0100": 2, "mig-02000000": 3,
	} {
		if i, err := s.Find(name); i != want || err != nil {
			t.Errorf("%s: %d, %v", name, i, err)
		}
	}
	for name, want := range map[string]string{
		"0000:5e:00.0": `gpu: find "0000:5e:00.0": no such device: more than one fits: devices [2 3]`,
		"GPU-fa00":     `gpu: find "GPU-fa00": no such device: more than one fits: devices [0 1]`,
	} {
		if _, err := s.Find(name); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
	const all = "there is device 0 A (GPU-fa000000-0000-0000-0000-000000000001, 0000:3b:00.0), device 1 B"
	for _, name := range []string{
		"", " 0", "00", "+1", "-1", "4", "A", "MIG-", "GPU-fa0", "3b:00.0", "0000", "0\n", "0\x00", strings.Repeat("0", 1<<16),
	} {
		_, err := s.Find(name)
		if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), all) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// noCards is a driver that starts and shows nothing.
type noCards struct{ cudrv.Driver }

func (noCards) DeviceCount() (int, cudrv.Result) { return 0, cudrv.Success }

func TestNoCards(t *testing.T) {
	s := NewSystem(noCards{fakedrv.New(fakedrv.Config{})})
	_, listed := s.List()
	_, found := s.Find("0")
	_, opened := s.Open(0)
	for _, err := range []error{listed, found, opened} {
		if !errors.Is(err, ErrNoDevice) || err.Error() != "gpu: cuDeviceGetCount: no such device: the driver shows 0" {
			t.Error(err)
		}
	}
}

// Each of many cards has names of its own.
func TestManyCards(t *testing.T) {
	s := NewSystem(fakedrv.New(fakedrv.Config{Cards: make([]fakedrv.Card, 16)}))
	list := must(s.List())(t)
	for want, info := range list {
		for _, name := range []string{strconv.Itoa(want), info.UUID, info.PCI} {
			if i, err := s.Find(name); i != want || err != nil {
				t.Errorf("%s: %d, %v", name, i, err)
			}
		}
	}
	if last := list[15].PCI; last != "0000:10:00.0" {
		t.Error(last)
	}
}
