package gpu

import (
	"errors"
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
