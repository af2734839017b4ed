package gpu

import (
	"errors"
	"fmt"
	"strconv"
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

// String leaves out what is not known.
func (id Identity) String() string {
	s := fmt.Sprintf("device %d", id.Ordinal)
	if id.Name != "" {
		s += " " + id.Name
	}
	switch {
	case id.UUID != "" && id.PCI != "":
		s += " (" + id.UUID + ", " + id.PCI + ")"
	case id.UUID+id.PCI != "":
		s += " (" + id.UUID + id.PCI + ")"
	}
	return s
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

	locked lockedMemory

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
	if r != cudrv.Success {
		return 0, &Error{Op: "cuDriverGetVersion", Result: r, Reason: reasonOf(r)}
	}
	n, r := s.drv.DeviceCount()
	if r != cudrv.Success {
		return 0, &Error{Op: "cuDeviceGetCount", Result: r, Reason: reasonOf(r)}
	}
	if n < 1 {
		return 0, &Error{Op: "cuDeviceGetCount", Reason: ErrNoDevice, Detail: fmt.Sprintf("the driver shows %d", n)}
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

// describe asks the driver for all that is known of a card. Of a card that does not answer it gives what it learned.
func (s *System) describe(ordinal int) (cudrv.Device, Info, error) {
	info := Info{Identity: Identity{Ordinal: ordinal}}
	var first *Error
	note := func(op string, r cudrv.Result) {
		if r != cudrv.Success && first == nil {
			first = &Error{Op: op, Result: r, Reason: reasonOf(r), Detail: fmt.Sprintf("of device %d", ordinal)}
		}
	}
	dev, r := s.drv.DeviceGet(ordinal)
	note("cuDeviceGet", r)
	if first != nil {
		return dev, info, first
	}
	info.Name, r = s.drv.DeviceName(dev)
	note("cuDeviceGetName", r)
	info.MIG = strings.Contains(info.Name, " MIG ") // the driver names parts "NVIDIA H200 MIG 1g.18gb"
	uuid, r := s.drv.DeviceUUID(dev)
	note("cuDeviceGetUuid", r)
	if r == cudrv.Success {
		info.UUID = formatUUID(uuid, info.MIG)
	}
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
	if first != nil {
		if info.Identity != (Identity{Ordinal: ordinal}) {
			first.Device, first.Detail = info.Identity, ""
		}
		return dev, info, first
	}
	if s.mon != nil {
		info.Driver = s.mon.DriverVersion()
	}
	return dev, info, nil
}

// formatUUID writes a UUID as the driver's tools do.
func formatUUID(uuid [16]byte, mig bool) string {
	kind := "GPU"
	if mig {
		kind = "MIG"
	}
	return fmt.Sprintf("%s-%x-%x-%x-%x-%x", kind, uuid[:4], uuid[4:6], uuid[6:8], uuid[8:10], uuid[10:])
}

// named tells whether a string names the card; see [System.Find].
func (id Identity) named(name string) bool {
	address := strings.EqualFold(name, id.PCI) || strings.EqualFold(name, "0000"+id.PCI)
	return name == strconv.Itoa(id.Ordinal) || id.PCI != "" && address ||
		len(name) >= 8 && strings.HasPrefix(strings.ToLower(id.UUID), strings.ToLower(name))
}

// Find gives the ordinal of the card that a string names: an ordinal ("0"), an identity ("GPU-…", or what of it is
// unambiguous) or a bus address ("0000:1b:00.0", or with the domain in eight digits). A card that does not answer is in the
// way of its own name only.
func (s *System) Find(name string) (int, error) {
	n, err := s.count()
	if err != nil {
		return 0, err
	}
	var fits []int
	var shown []string
	var broken error
	for i := range n {
		_, info, err := s.describe(i)
		if info.named(name) {
			fits = append(fits, i)
		}
		if broken == nil {
			broken = err
		}
		shown = append(shown, info.Identity.String())
	}
	missing := &Error{Op: fmt.Sprintf("find %q", name), Reason: ErrNoDevice}
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(fits) > 1:
		missing.Detail = fmt.Sprintf("more than one fits: devices %v", fits)
	case broken != nil:
		return 0, broken
	default:
		missing.Detail = "there is " + strings.Join(shown, ", ")
	}
	return 0, missing
}
