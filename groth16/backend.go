package groth16

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/cpu"
	enginegpu "github.com/gocuzk/cuzk/internal/engine/gpu"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// backend is an engine and where it runs.
type backend struct {
	kind   Backend // BackendGPU or BackendCPU
	engine engine.Engine
	device device.Device
	own    bool // the device was opened here
}

// close releases the engine, and the device if it was opened here.
func (b *backend) close() error {
	err := b.engine.Close()
	if b.own {
		err = errors.Join(err, b.device.Close())
	}
	return device.Err(err)
}

// openBackend decides, once for a Prover, where its work runs.
func openBackend(o *ProverOptions, log *slog.Logger) (*backend, error) {
	onCPU := &backend{kind: BackendCPU, engine: cpu.New(), device: device.CPU()}
	if o.Backend == BackendCPU || o.Device != nil && o.Device.Info().IsCPU() {
		return onCPU, nil
	}
	b, err := openGPU(o.Device)
	switch {
	case err == nil:
		return b, nil
	case o.Backend == BackendAuto && o.Device == nil && (errors.Is(err, device.ErrNoDriver) || errors.Is(err, device.ErrNoDevice)):
		log.Warn("proving on the CPU", "reason", err)
		return onCPU, nil
	}
	return nil, fmt.Errorf("groth16: open prover: %w", err)
}

// openGPU returns the engine of a GPU; of the first one if none is given.
func openGPU(d device.Device) (*backend, error) {
	b := &backend{kind: BackendGPU, device: d}
	if d == nil {
		var err error
		if b.device, err = device.Open("0", nil); err != nil {
			return nil, err
		}
		b.own = true
	}
	card, ok := b.device.(interface{ GPU() *gpu.Device })
	if !ok {
		return nil, fmt.Errorf("option Device: %s is no GPU", b.device.Info().Name)
	}
	var err error
	if b.engine, err = enginegpu.New(card.GPU()); err != nil {
		if b.own {
			err = errors.Join(err, b.device.Close())
		}
		return nil, device.Err(err)
	}
	return b, nil
}
