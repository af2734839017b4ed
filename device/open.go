package device

import (
	"fmt"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// shared is the driver and the table of open GPUs. A process has one of each; the first use opens the driver.
var shared = opener{open: gpu.OpenSystem}

// opener opens the driver until that has succeeded once.
type opener struct {
	open func() (*gpu.System, error)

	mu     sync.Mutex
	system *gpu.System
}

func (o *opener) get() (*gpu.System, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.system != nil {
		return o.system, nil
	}
	s, err := o.open()
	if err != nil {
		return nil, Err(err)
	}
	o.system = s
	return s, nil
}

// leastWatchdog is many times what two pieces of work take, and what the driver takes to free memory: a shorter wait says
// nothing of a GPU.
const leastWatchdog = time.Second

// Options tunes a GPU. The zero value, and nil, mean the defaults. Open copies it.
type Options struct {
	// MemoryLimit is the most memory in bytes that the process may take of the GPU, context and kernels included. 0 is what
	// is free at the first use.
	MemoryLimit int64
	// Watchdog is how long work of at most 50 ms, or the driver to take memory back, may take before the GPU counts as lost.
	// 0 is 30 s, the least is 1 s.
	Watchdog time.Duration
	// DebugSync waits for each kernel, so that a fault names the one that made it. It costs much.
	DebugSync bool
}

// options are the options for package gpu; nil if o is.
func (o *Options) options() (*gpu.Options, error) {
	switch {
	case o == nil:
		return nil, nil
	case o.MemoryLimit < 0:
		return nil, fmt.Errorf("device: option MemoryLimit: %d bytes", o.MemoryLimit)
	case o.Watchdog != 0 && o.Watchdog < leastWatchdog:
		return nil, fmt.Errorf("device: option Watchdog: %v is less than %v", o.Watchdog, leastWatchdog)
	}
	return &gpu.Options{MemoryLimit: uint64(o.MemoryLimit), Watchdog: o.Watchdog, DebugSync: o.DebugSync}, nil
}

// List describes all GPUs that the driver shows, in its order, without opening them. Where there is none it is empty and the
// error is ErrNoDriver or ErrNoDevice. Its first call starts the driver, which can take a second; a driver that could not be
// started is tried again by the next.
func List() ([]Info, error) {
	s, err := shared.get()
	if err != nil {
		return nil, err
	}
	return list(s)
}

func list(s *gpu.System) ([]Info, error) {
	cards, err := s.List()
	if err != nil {
		return nil, Err(err)
	}
	infos := make([]Info, len(cards))
	for i, c := range cards {
		infos[i] = infoOf(c)
	}
	return infos, nil
}

// Open opens the GPU that name names: its ordinal ("0"), its UUID or the first eight or more characters of it if no
// other GPU has them, or its bus address ("0000:3b:00.0", or "00000000:3b:00.0" as nvidia-smi writes it). The caller
// closes it.
//
// A process has each GPU once: handles opened on the same one share its memory limit and statistics. Options for a GPU
// that is open already must mean the same as those it was opened with, or be nil; the error is ErrBusy otherwise.
func Open(name string, o *Options) (Device, error) {
	s, err := shared.get()
	if err != nil {
		return nil, err
	}
	return open(s, name, o)
}

func open(s *gpu.System, name string, o *Options) (Device, error) {
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	ordinal, err := s.Find(name)
	if err != nil {
		return nil, Err(err)
	}
	d, err := s.OpenWith(ordinal, options)
	if err != nil {
		return nil, Err(err)
	}
	return Wrap(d), nil
}

// Wrap makes a Device of a GPU opened by this module, and takes over one use of it.
func Wrap(d *gpu.Device) Device { return &card{d: d} }

// card is a handle on a GPU.
type card struct {
	d *gpu.Device

	mu     sync.Mutex
	closed bool
}

// GPU is the GPU for the packages of this module. Through a handle that is closed it answers ErrClosed, also while others
// keep it open.
func (c *card) GPU() *gpu.Device {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.d.Closed()
	}
	return c.d
}

func (c *card) Info() Info { return infoOf(c.d.Info()) }

func infoOf(i gpu.Info) Info {
	return Info{
		Ordinal: i.Ordinal, UUID: i.UUID, PCI: i.PCI, Name: i.Name, MemoryBytes: int64(i.MemoryBytes),
		Capability: [2]int{i.Major, i.Minor}, Multiprocessors: i.Multiprocessors, MIG: i.MIG, CUDA: i.CUDA, Driver: i.Driver,
	}
}

func (c *card) Stats() Stats {
	s := c.d.Stats()
	return Stats{
		LeasedBytes: int64(s.LeasedBytes), PeakLeasedBytes: int64(s.PeakLeasedBytes), LimitBytes: int64(s.LimitBytes),
		BytesInUse: int64(s.ReservedBytes), PeakBytes: int64(s.PeakBytes), ProcessBytes: int64(c.d.ProcessBytes()),
		PinnedBytes: int64(s.PinnedBytes), PinnedRefused: s.PinnedRefused,
		Allocations: s.Arenas, Launches: s.Launches, Yields: s.Yields, Leaks: s.Leaks, Lost: s.Lost != nil, Cause: Err(s.Lost),
	}
}

func (c *card) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if err := c.d.Close(); err != nil {
		return Err(err)
	}
	c.closed = true
	return nil
}

func (c *card) sealed() {}
