package gpu

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

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
}

// System is one driver and the table of its opened cards. It is safe for concurrent use.
type System struct {
	drv cudrv.Driver

	mu   sync.Mutex
	open map[int]*Device
}

// NewSystem makes the table for a driver.
func NewSystem(drv cudrv.Driver) *System { return &System{drv: drv, open: map[int]*Device{}} }

// List describes all cards that the driver shows, in its order.
func (s *System) List() ([]Info, error) {
	n, r := s.drv.DeviceCount()
	if r != cudrv.Success {
		return nil, &Error{Op: "cuDeviceGetCount", Result: r, Reason: reasonOf(r)}
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
	info.UUID = "GPU-" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
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

// Device is one opened card with its primary context. It is safe for concurrent use.
//
// A card has one Device in a System: a second Open gives the same one and counts it; it is closed
// when each user has closed it.
type Device struct {
	sys    *System
	drv    cudrv.Driver
	dev    cudrv.Device
	ctx    cudrv.Context
	info   Info
	users  int // under sys.mu
	closed atomic.Bool
	lost   atomic.Pointer[Error]

	counts   [kinds]atomic.Int64 // open children
	leaks    atomic.Int64
	launches atomic.Int64
	reserved atomic.Uint64
	peak     atomic.Uint64
	pinned   atomic.Uint64
}

// kind is a kind of child.
type kind int

const (
	kindArena kind = iota
	kindPinned
	kindStream
	kindEvent
	kindModule
	kinds
)

var kindNames = [kinds]string{"arenas", "pinned buffers", "streams", "events", "modules"}

// Open opens a card by ordinal. Nothing is allocated on it beyond the driver's context.
func (s *System) Open(ordinal int) (*Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[ordinal]; d != nil {
		if err := d.alive("open"); err != nil {
			return nil, err
		}
		d.users++
		return d, nil
	}
	n, r := s.drv.DeviceCount()
	if r != cudrv.Success {
		return nil, &Error{Op: "cuDeviceGetCount", Result: r, Reason: reasonOf(r)}
	}
	if ordinal < 0 || ordinal >= n {
		return nil, &Error{Device: Identity{Ordinal: ordinal}, Op: "open", Reason: ErrNoDevice,
			Detail: fmt.Sprintf("there are %d cards", n)}
	}
	dev, info, err := s.describe(ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{sys: s, drv: s.drv, dev: dev, info: info, users: 1}
	if d.ctx, r = s.drv.PrimaryRetain(dev); r != cudrv.Success {
		return nil, d.check(r, "cuDevicePrimaryCtxRetain", "", nil)
	}
	s.open[ordinal] = d
	return d, nil
}

// Info describes the card.
func (d *Device) Info() Info { return d.info }

// Stats is a snapshot of what a Device holds.
type Stats struct {
	ReservedBytes, PeakBytes, PinnedBytes    uint64
	Arenas, Pinned, Streams, Events, Modules int64
	Launches                                 int64
	Leaks                                    int64 // handles that the collector had to close
	Lost                                     error // the first fatal error, or nil
}

// Stats is a snapshot; its numbers may be of slightly different moments.
func (d *Device) Stats() Stats {
	s := Stats{
		ReservedBytes: d.reserved.Load(), PeakBytes: d.peak.Load(), PinnedBytes: d.pinned.Load(),
		Arenas: d.counts[kindArena].Load(), Pinned: d.counts[kindPinned].Load(),
		Streams: d.counts[kindStream].Load(), Events: d.counts[kindEvent].Load(),
		Modules: d.counts[kindModule].Load(), Launches: d.launches.Load(), Leaks: d.leaks.Load(),
	}
	if e := d.lost.Load(); e != nil {
		s.Lost = e
	}
	return s
}

// Memory is what the driver says about the card's memory now.
func (d *Device) Memory() (free, total uint64, err error) {
	if err := d.alive("cuMemGetInfo"); err != nil {
		return 0, 0, err
	}
	free, total, r := d.drv.MemInfo(d.ctx)
	return free, total, d.check(r, "cuMemGetInfo", "", nil)
}

// Close gives one use of the card back. The last one releases the context; it fails with ErrBusy,
// naming them, while children are open. On a lost card the driver is not called again.
func (d *Device) Close() error {
	d.sys.mu.Lock()
	defer d.sys.mu.Unlock()
	if d.closed.Load() {
		return nil
	}
	if d.users > 1 {
		d.users--
		return nil
	}
	var open []string
	for k := range kinds {
		if n := d.counts[k].Load(); n != 0 {
			open = append(open, fmt.Sprintf("%d %s", n, kindNames[k]))
		}
	}
	if len(open) > 0 {
		return &Error{Device: d.info.Identity, Op: "close", Reason: ErrBusy, Detail: strings.Join(open, ", ")}
	}
	d.closed.Store(true)
	if d.lost.Load() != nil {
		return nil // stays in the table: the card can't be opened again in this process
	}
	delete(d.sys.open, d.info.Ordinal)
	return d.check(d.drv.PrimaryRelease(d.dev), "cuDevicePrimaryCtxRelease", "", nil)
}

// handle is what all children share: a device, a kind, and a way to give the resource back that
// runs once.
type handle struct {
	d       *Device
	kind    kind
	op      string
	release func() cudrv.Result
	once    sync.Once
	err     error
}

func (d *Device) child(k kind, op string, release func() cudrv.Result) *handle {
	d.counts[k].Add(1)
	return &handle{d: d, kind: k, op: op, release: release}
}

// close gives the resource back. On a lost card only the books are put right.
func (h *handle) close() error {
	h.once.Do(func() {
		h.d.counts[h.kind].Add(-1)
		if h.d.lost.Load() == nil {
			h.err = h.d.check(h.release(), h.op, "", nil)
		}
	})
	if h.err != nil && errors.Is(h.err, ErrLost) {
		return nil // the loss is reported by the call that needs the card, not by a close
	}
	return h.err
}

// leaked runs when the collector finds an unclosed child.
func leaked(h *handle) {
	h.once.Do(func() {
		h.d.leaks.Add(1)
		h.d.counts[h.kind].Add(-1)
		if h.d.lost.Load() == nil {
			h.err = h.d.check(h.release(), h.op, "", nil)
		}
	})
}
