package groth16

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/cpu"
	enginegpu "github.com/gocuzk/cuzk/internal/engine/gpu"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// place is where work runs.
type place struct {
	kind   Backend // BackendGPU or BackendCPU
	device device.Device
	card   *gpu.Device // nil on the CPU
	own    bool        // the device was opened here
}

// close closes the device if it was opened here.
func (p *place) close() error {
	if p.own {
		return p.device.Close()
	}
	return nil
}

// choosePlace decides, once for a Prover or a key, where the work runs.
func choosePlace(kind Backend, d device.Device, log *slog.Logger) (*place, error) {
	onCPU := &place{kind: BackendCPU, device: device.CPU()}
	if kind == BackendCPU || d != nil && d.Info().IsCPU() {
		return onCPU, nil
	}
	p, err := openGPU(d)
	if kind == BackendAuto && d == nil && (errors.Is(err, device.ErrNoDriver) || errors.Is(err, device.ErrNoDevice)) {
		log.Warn("working on the CPU", "reason", err)
		return onCPU, nil
	}
	return p, err
}

// openGPU returns a GPU as a place; the first one if none is given.
func openGPU(d device.Device) (*place, error) {
	p := &place{kind: BackendGPU, device: d}
	if d == nil {
		var err error
		if p.device, err = device.Open("0", nil); err != nil {
			return nil, err
		}
		p.own = true
	}
	card, ok := p.device.(interface{ GPU() *gpu.Device })
	if !ok {
		return nil, fmt.Errorf("option Device: %s is no GPU", p.device.Info().Name)
	}
	p.card = card.GPU()
	return p, nil
}

// keyMaker returns what makes n1 points of G1 and n2 of G2 there.
func (p *place) keyMaker(ctx context.Context, n1, n2 int) (engine.KeyMaker, error) {
	if p.card == nil {
		return cpu.NewKeyMaker(ctx, n1, n2)
	}
	return enginegpu.NewKeyMaker(ctx, p.card, n1, n2)
}

// backend is an engine and where it runs.
type backend struct {
	place
	engine engine.Engine
}

// close releases the engine, and the device if it was opened here.
func (b *backend) close() error {
	return device.Err(errors.Join(b.engine.Close(), b.place.close()))
}

// openBackend opens the engine of a Prover.
func openBackend(o *ProverOptions, log *slog.Logger) (*backend, error) {
	p, err := choosePlace(o.Backend, o.Device, log)
	if err != nil {
		return nil, fmt.Errorf("groth16: open prover: %w", err)
	}
	if p.card == nil {
		return &backend{place: *p, engine: cpu.New()}, nil
	}
	e, err := enginegpu.NewWith(p.card, &enginegpu.Options{MemoryLimit: uint64(o.MemoryLimit)})
	if err != nil {
		return nil, fmt.Errorf("groth16: open prover: %w", device.Err(errors.Join(err, p.close())))
	}
	return &backend{place: *p, engine: e}, nil
}
