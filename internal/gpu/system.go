package gpu

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// Identity names a card in errors and logs.
type Identity struct {
	Ordinal int
	UUID    string // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	PCI     string // "0000:1b:00.0"
	Name    string
}

func (id Identity) String() string {
	return fmt.Sprintf("device %d %s (%s, %s)", id.Ordinal, id.Name, id.UUID, id.PCI)
}

// Info describes a card.
type Info struct {
	Identity
	MemoryBytes      uint64
	Major, Minor     int // compute capability
	Multiprocessors  int
	L2Bytes          int
	SharedBlockBytes int // most shared memory of a block
	ECC              bool
	MIG              bool   // a part of a card
	CUDA             string // interface version of the driver, "13.0"
	Driver           string // version of the kernel driver, "580.95.05", or empty if it is not known
}

// System is one driver and the table of its opened cards. It is safe for concurrent use.
type System struct {
	drv cudrv.Driver
	mon cudrv.Monitor // or nil

	mu   sync.Mutex
	open map[int]*Device
}

// NewSystem makes the table for a driver.
func NewSystem(drv cudrv.Driver) *System { return &System{drv: drv, open: map[int]*Device{}} }

// OpenSystem opens the driver of this machine. The error is an Error with ErrNoDriver, ErrDriverTooOld or ErrNoDevice, or
// with none of them if there is a driver that does not start.
func OpenSystem() (*System, error) {
	drv, err := cudrv.Open("")
	if err != nil {
		return nil, openError(err)
	}
	s := NewSystem(drv)
	s.mon = cudrv.OpenMonitor("")
	return s, nil
}

// openError is the error of a driver that can't be used.
func openError(err error) error {
	e := &Error{Op: "open driver", Detail: strings.TrimPrefix(err.Error(), "cudrv: ")}
	var open *cudrv.OpenError
	if errors.As(err, &open) {
		e.Detail = strings.TrimLeft(strings.TrimPrefix(err.Error(), open.Reason.Error()), ": ")
	}
	switch {
	case errors.Is(err, cudrv.ErrNoDriver):
		e.Reason = ErrNoDriver
	case errors.Is(err, cudrv.ErrTooOld):
		e.Reason = ErrDriverTooOld
	case errors.Is(err, cudrv.ErrNoDevice):
		e.Reason = ErrNoDevice
	default:
		e.Detail = strings.TrimPrefix(err.Error(), "cudrv: ")
	}
	return e
}

// count is the number of cards, once the driver is known to be new enough.
func (s *System) count() (int, error) {
	v, r := s.drv.Version()
	if r == cudrv.Success && v < cudrv.MinVersion {
		return 0, openError(&cudrv.OpenError{Reason: cudrv.ErrTooOld, Version: v})
	}
	n := 0
	if r == cudrv.Success {
		n, r = s.drv.DeviceCount()
	}
	if r != cudrv.Success {
		return 0, &Error{Op: "cuDeviceGetCount", Result: r, Reason: reasonOf(r)}
	}
	return n, nil
}

// List describes all cards that the driver shows, in its order.
func (s *System) List() ([]Info, error) {
	n, err := s.count()
	if err != nil {
		return nil, err
	}
	list := make([]Info, 0, n)
	for i := range n {
		_, info, err := s.describe(i)
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}

func (s *System) describe(ordinal int) (cudrv.Device, Info, error) {
	info := Info{Identity: Identity{Ordinal: ordinal}}
	var first error
	note := func(op string, r cudrv.Result) {
		if r != cudrv.Success && first == nil {
			first = &Error{Device: info.Identity, Op: op, Result: r, Reason: reasonOf(r)}
		}
	}
	dev, r := s.drv.DeviceGet(ordinal)
	note("cuDeviceGet", r)
	info.Name, r = s.drv.DeviceName(dev)
	note("cuDeviceGetName", r)
	uuid, r := s.drv.DeviceUUID(dev)
	note("cuDeviceGetUuid", r)
	h := hex.EncodeToString(uuid[:])
	kind := "GPU-"
	if info.MIG = strings.Contains(info.Name, " MIG "); info.MIG { // the driver names parts "NVIDIA H200 MIG 1g.18gb"
		kind = "MIG-"
	}
	info.UUID = kind + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	info.PCI, r = s.drv.DevicePCI(dev)
	note("cuDeviceGetPCIBusId", r)
	info.MemoryBytes, r = s.drv.DeviceTotalMem(dev)
	note("cuDeviceTotalMem", r)
	for _, a := range []struct {
		attr cudrv.Attribute
		set  func(int)
	}{
		{cudrv.AttrMajor, func(v int) { info.Major = v }},
		{cudrv.AttrMinor, func(v int) { info.Minor = v }},
		{cudrv.AttrMultiprocessors, func(v int) { info.Multiprocessors = v }},
		{cudrv.AttrL2CacheBytes, func(v int) { info.L2Bytes = v }},
		{cudrv.AttrSharedPerBlockOptIn, func(v int) { info.SharedBlockBytes = v }},
		{cudrv.AttrECCEnabled, func(v int) { info.ECC = v != 0 }},
	} {
		v, r := s.drv.DeviceAttribute(a.attr, dev)
		note("cuDeviceGetAttribute", r)
		a.set(v)
	}
	v, r := s.drv.Version()
	note("cuDriverGetVersion", r)
	info.CUDA = cudrv.VersionString(v)
	if s.mon != nil {
		info.Driver = s.mon.DriverVersion()
	}
	return dev, info, first
}

// Find gives the ordinal of the card that a string names: an ordinal ("0"), an identity
// ("GPU-…", or what of it is unambiguous) or a bus address ("0000:1b:00.0").
func (s *System) Find(name string) (int, error) {
	list, err := s.List()
	if err != nil {
		return 0, err
	}
	match := -1
	for i, info := range list {
		id := strings.EqualFold(name, info.PCI) || name == fmt.Sprint(i) ||
			len(name) >= 8 && strings.HasPrefix(strings.ToLower(info.UUID), strings.ToLower(name))
		if !id {
			continue
		}
		if match >= 0 {
			return 0, &Error{Op: "find " + name, Reason: ErrNoDevice, Detail: "more than one card fits"}
		}
		match = i
	}
	if match < 0 {
		return 0, &Error{Op: "find " + name, Reason: ErrNoDevice, Detail: fmt.Sprintf("there are %d cards", len(list))}
	}
	return match, nil
}
