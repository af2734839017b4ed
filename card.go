package cuzk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
)

// card is one device of an Engine.
type card struct {
	index       int
	device      device.Device
	own         bool // opened here
	backend     groth16.Backend
	onlyWinning bool
	limit       int64 // bytes that can be leased; 0 for the processor
	workers     int
	standby     bool // the processor, until the last GPU is lost; under Engine.mu
	log         *slog.Logger
	shelf       *shelf
	gone        func() error   // why the device can do nothing more, by its own account; nil while it can
	running     sync.WaitGroup // workers

	// Under Engine.mu.
	lost         error // why the card was taken out
	busy         int   // partitions in work
	done, failed uint64
}

// openCards opens the devices that the options name, or none of them.
func openCards(o *Options) (_ []*card, err error) {
	var cards []*card
	defer func() {
		if err != nil {
			err = errors.Join(err, closeCards(cards))
		}
	}()
	devices, err := chooseDevices(o)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i, d := range devices {
		c, err := openCard(o, i, d)
		if err != nil {
			errs = append(errs, fmt.Errorf("cuzk: open device %d: %w", i, err))
			continue
		}
		cards = append(cards, c)
	}
	errs = append(errs, distinct(cards))
	if err := errors.Join(errs...); err != nil {
		return cards, err
	}
	if o.CPUFallback && len(cards) > 0 && !cards[0].device.Info().IsCPU() {
		c, err := openCard(o, len(cards), DeviceOptions{Device: device.CPU()})
		if err != nil {
			return cards, err
		}
		c.standby = true
		cards = append(cards, c)
	}
	return cards, nil
}

// chooseDevices lists all GPUs if the options name none, and takes the processor where the options say so.
func chooseDevices(o *Options) ([]DeviceOptions, error) {
	onCPU := []DeviceOptions{{Device: device.CPU()}}
	if o.Backend == groth16.BackendCPU {
		return onCPU, nil
	}
	if len(o.Devices) > 0 {
		return o.Devices, nil
	}
	infos, err := device.List()
	if o.Backend == groth16.BackendAuto && (errors.Is(err, device.ErrNoDriver) || errors.Is(err, device.ErrNoDevice)) {
		o.Logger.Warn("working on the processor", "reason", err)
		return onCPU, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cuzk: list devices: %w", err)
	}
	var all []DeviceOptions
	for _, i := range infos {
		all = append(all, DeviceOptions{Name: i.UUID})
	}
	return all, nil
}

func openCard(o *Options, index int, d DeviceOptions) (_ *card, err error) {
	c := &card{index: index, device: d.Device, backend: groth16.BackendGPU, onlyWinning: d.OnlyWinning, workers: d.Workers}
	if c.workers == 0 {
		c.workers = o.Workers
	}
	if d.Device == nil {
		c.own = true
		var tuned *device.Options // nil shares a device that is open already
		if d.MemoryLimit != 0 || d.Watchdog != 0 {
			tuned = &device.Options{MemoryLimit: d.MemoryLimit, Watchdog: d.Watchdog}
		}
		if c.device, err = device.Open(d.Name, tuned); err != nil {
			return nil, err
		}
	}
	_, c.limit, err = groth16.Leasable(c.device)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	usual := 2
	if c.device.Info().IsCPU() {
		c.backend, usual = groth16.BackendCPU, 1
	}
	if c.workers == 0 {
		c.workers = usual
	}
	c.gone = func() error { return gone(c.device) }
	info := c.device.Info()
	c.log = o.Logger.With("device", info.Ordinal, "name", info.Name, "uuid", info.UUID)
	c.shelf = &shelf{
		log: c.log, limit: c.limit, books: map[string]*book{},
		leased: c.leased,
		load: func(ctx context.Context, k *kind, limit int64) (groth16.Prover, error) {
			return groth16.NewProver(ctx, k.key, k.system, &groth16.ProverOptions{
				Backend: c.backend, Device: c.device, MemoryLimit: limit, DisablePCE: k.system == nil,
				Priority: priority(k.class), Logger: c.log,
			})
		},
	}
	return c, nil
}

// gone is why a device can do nothing more: it is lost, or somebody has closed it. Errors of provers are no proof of that, since
// causes of contexts and errors of circuits, which are the caller's, may be in them.
func gone(d device.Device) error {
	_, _, err := groth16.Leasable(d)
	if errors.Is(err, device.ErrLost) || errors.Is(err, device.ErrClosed) {
		return err
	}
	return nil
}

// leased is how many bytes of the card all who use it have leased. That the card is lost is said by what tries to load a
// key.
func (c *card) leased() int64 {
	free, limit, err := groth16.Leasable(c.device)
	if err != nil {
		return 0
	}
	return limit - free
}

// distinct refuses a device that is there twice.
func distinct(cards []*card) error {
	var errs []error
	for i, c := range cards {
		for _, d := range cards[:i] {
			if c.device.Info() == d.device.Info() {
				info := c.device.Info()
				errs = append(errs, fmt.Errorf("cuzk: option Devices: %s (%s) is given twice", info.Name, info.UUID))
			}
		}
	}
	return errors.Join(errs...)
}

// close closes the device if it was opened here.
func (c *card) close() error {
	if c.own {
		return c.device.Close()
	}
	return nil
}

func closeCards(cards []*card) error {
	var errs []error
	for _, c := range cards {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
