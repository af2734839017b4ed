package groth16

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/cpu"
)

// backend is an engine and where it runs.
type backend struct {
	kind   Backend // BackendGPU or BackendCPU
	engine engine.Engine
	device device.Device
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

// openGPU returns the engine of a GPU. No engine of this build drives one.
func openGPU(device.Device) (*backend, error) { return nil, device.ErrNoDriver }
