package gpu

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

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
	opts   Options
	users  int // under sys.mu
	closed atomic.Bool
	lost   atomic.Pointer[Error]
	gone   chan struct{} // closed when the card is lost
	life   sync.Mutex    // held while the card is closed, and while a child is counted
	budget ledger
	gate   gate

	counts   [kinds]atomic.Int64 // open children
	leaks    atomic.Int64
	launches atomic.Int64
	reserved atomic.Uint64
	peak     atomic.Uint64
	pinned   atomic.Uint64
	refused  atomic.Int64
}

// Open opens a card by ordinal with the default options, or shares it with the options it was opened with.
func (s *System) Open(ordinal int) (*Device, error) { return s.OpenWith(ordinal, nil) }

// OpenWith opens a card by ordinal. Nothing is allocated on it beyond the driver's context. If it is open already, o must be
// nil or mean the same as the options it was opened with.
func (s *System) OpenWith(ordinal int, o *Options) (*Device, error) {
	opts := o.withDefaults()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[ordinal]; d != nil {
		if err := d.alive("open"); err != nil {
			return nil, err
		}
		if o != nil && opts != d.opts {
			return nil, &Error{Device: d.info.Identity, Op: "open", Reason: ErrBusy,
				Detail: fmt.Sprintf("open with other options: %+v, not %+v", d.opts, opts)}
		}
		d.users++
		return d, nil
	}
	n, err := s.count()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= n {
		return nil, &Error{Device: Identity{Ordinal: ordinal}, Op: "open", Reason: ErrNoDevice,
			Detail: fmt.Sprintf("there are %d cards", n)}
	}
	dev, info, err := s.describe(ordinal)
	if err != nil {
		return nil, err
	}
	if opts.Piece < 0 || opts.Watchdog < 0 || opts.Patience < 0 {
		return nil, &Error{Device: info.Identity, Op: "open", Reason: ErrArgument,
			Detail: fmt.Sprintf("negative time in %+v", opts)}
	}
	d := &Device{sys: s, drv: s.drv, dev: dev, info: info, opts: opts, gone: make(chan struct{}), users: 1}
	var r cudrv.Result
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
	LeasedBytes, PeakLeasedBytes, LimitBytes         uint64 // the limit is 0 before the first lease
	ReservedBytes, PeakBytes                         uint64
	PinnedBytes                                      uint64 // on a lost card it never falls: the card may still write there
	PinnedRefused                                    int64  // streams that had to do without page-locked memory
	Leases, Arenas, Pinned, Streams, Events, Modules int64
	Launches                                         int64
	Yields                                           int64 // pieces that waited for more urgent work
	Leaks                                            int64 // handles that the collector had to close
	Lost                                             error // the first fatal error, or nil
}

// Stats is a snapshot; its numbers may be of slightly different moments.
func (d *Device) Stats() Stats {
	s := Stats{
		ReservedBytes: d.reserved.Load(), PeakBytes: d.peak.Load(),
		PinnedBytes: d.pinned.Load(), PinnedRefused: d.refused.Load(),
		Leases: d.counts[kindLease].Load(), Arenas: d.counts[kindArena].Load(), Pinned: d.counts[kindPinned].Load(),
		Streams: d.counts[kindStream].Load(), Events: d.counts[kindEvent].Load(),
		Modules: d.counts[kindModule].Load(), Launches: d.launches.Load(), Leaks: d.leaks.Load(),
	}
	d.budget.mu.Lock()
	s.LeasedBytes, s.PeakLeasedBytes, s.LimitBytes = d.budget.leased, d.budget.peak, d.budget.limit
	d.budget.mu.Unlock()
	d.gate.mu.Lock()
	s.Yields = d.gate.yields
	d.gate.mu.Unlock()
	if e := d.lost.Load(); e != nil {
		s.Lost = e
	}
	return s
}

// Memory is what the driver says about the card's memory now.
func (d *Device) Memory() (free, total uint64, err error) {
	if err := d.adopt(kindCall, "cuMemGetInfo"); err != nil {
		return 0, 0, err
	}
	defer d.disown(kindCall)
	free, total, r := d.drv.MemInfo(d.ctx)
	return free, total, d.check(r, "cuMemGetInfo", "", nil)
}

// ProcessBytes is what this process has of the card's memory, context and modules included, or 0 if it is not known.
func (d *Device) ProcessBytes() uint64 {
	if d.sys.mon == nil {
		return 0
	}
	return d.sys.mon.ProcessBytes(d.info.UUID)
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
	if err := d.shut(); err != nil {
		return err
	}
	var err error
	if d.lost.Load() == nil {
		err = d.await(d.opts.Watchdog, "cuDevicePrimaryCtxRelease", func() cudrv.Result { return d.drv.PrimaryRelease(d.dev) })
	}
	if d.lost.Load() == nil { // a lost one stays in the table: the card can't be opened again in this process
		delete(d.sys.open, d.info.Ordinal)
	}
	return err
}

// shut lets every later call answer ErrClosed. It fails with ErrBusy while children are open, or being made.
func (d *Device) shut() error {
	d.life.Lock()
	defer d.life.Unlock()
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
	return nil
}

// Closed is a handle on the card whose every call answers ErrClosed.
func (d *Device) Closed() *Device {
	c := &Device{sys: d.sys, drv: d.drv, info: d.info, opts: d.opts, gone: make(chan struct{})}
	c.closed.Store(true)
	return c
}
