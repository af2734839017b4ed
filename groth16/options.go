package groth16

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/pce"
)

// Backend says where the heavy work of proofs and keys runs.
type Backend int

// The backends.
const (
	// BackendAuto is the GPU, and the CPU, with one warning, only where there is no driver or no card.
	BackendAuto Backend = iota
	// BackendGPU is the GPU or an error.
	BackendGPU
	// BackendCPU never touches a driver.
	BackendCPU
)

func (b Backend) String() string {
	switch b {
	case BackendAuto:
		return "auto"
	case BackendGPU:
		return "gpu"
	case BackendCPU:
		return "cpu"
	}
	return fmt.Sprintf("backend %d", int(b))
}

// ProverOptions tunes a Prover. The zero value, and nil, mean the defaults. NewProver copies it.
type ProverOptions struct {
	// Backend picks where the heavy work runs.
	Backend Backend
	// Device is the GPU to use. The Prover does not close it. It must be nil, or the CPU, for BackendCPU.
	Device device.Device
	// DisablePCE evaluates rows while the circuit is run, without its constraint system, which may then be nil. It is slower and
	// takes more memory.
	DisablePCE bool
	// MemoryLimit is the most memory of the GPU in bytes that the Prover may lease, for its key and its proofs. 0 is
	// whatever can be leased when it is made. A limit that no plan fits into is a device.ErrMemory. It means nothing on the
	// CPU.
	MemoryLimit int64
	// Priority is the urgency of the loading of the key, as that of ProveOptions.
	Priority int
	// Logger receives warnings and debug records. Nil means none.
	Logger *slog.Logger
}

// validate returns all problems.
func (o *ProverOptions) validate(system *pce.System) error {
	errs := []error{checkPlace(o.Backend, o.Device)}
	if o.MemoryLimit < 0 {
		errs = append(errs, fmt.Errorf("groth16: option MemoryLimit: %d bytes", o.MemoryLimit))
	}
	if system == nil && !o.DisablePCE {
		errs = append(errs, errors.New("groth16: no constraint system given, and option DisablePCE is not set"))
	}
	return errors.Join(errs...)
}

// checkPlace returns an error for a backend that is none, or that does not fit the device, which may be nil.
func checkPlace(b Backend, d device.Device) error {
	if b < BackendAuto || b > BackendCPU {
		return fmt.Errorf("groth16: option Backend: %d is not one of 0 to %d", int(b), int(BackendCPU))
	}
	if d != nil {
		isCPU := d.Info().IsCPU()
		if b == BackendCPU && !isCPU || b == BackendGPU && isCPU {
			return fmt.Errorf("groth16: option Device: %s does not fit backend %v", d.Info().Name, b)
		}
	}
	return nil
}

// ProveOptions tunes one call of Prove. The zero value, and nil, mean the defaults.
type ProveOptions struct {
	// Check runs each circuit bit by bit first and names the first row that is not satisfied. It costs about as much
	// as DisablePCE and is meant for finding faults.
	Check bool
	// Priority says how urgent the call is; higher ones go first. While the GPU works for it, work of calls with a lower
	// priority on the same GPU pauses at the edge of a piece, that is within some 100 ms, and goes on piece by piece once a
	// second at least. Of calls that wait for one Prover's memory the most urgent comes next. It means nothing on the CPU.
	Priority int
	// Hooks observes the work. Nil means none.
	Hooks *Hooks
}

// Phase is a step of a proof.
type Phase string

// The phases, in the order in which a partition goes through them. PhaseVerify is for all partitions at once.
const (
	PhaseWitness  Phase = "witness"
	PhaseAssign   Phase = "assign"
	PhaseQuotient Phase = "quotient"
	PhaseSums     Phase = "sums"
	PhaseAssemble Phase = "assemble"
	PhaseVerify   Phase = "verify"
)

// PhaseInfo says what a hook is called for.
type PhaseInfo struct {
	Phase      Phase
	Circuit    string
	Partition  int // or -1 for all
	Partitions int
}

// Hooks observes a call of Prove. Any field may be nil. Functions are called one at a time on the goroutine that
// called Prove; a slow one slows the proof. Phases of different partitions may overlap. A hook must not close the
// Prover, nor call its Prove, since both wait for the call that the hook is part of.
type Hooks struct {
	PhaseStart func(PhaseInfo)
	PhaseEnd   func(PhaseInfo, error)
	// Progress is called at most every 100 ms while there is progress, and when all is done. done never falls, and total is
	// the same in all calls.
	Progress func(done, total uint64)
}
