package groth16

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/urgency"
	"github.com/gocuzk/cuzk/pce"
)

// Prover makes proofs of one kind of statement under one key. It may be used by several goroutines.
type Prover interface {
	// Prove proves statements, the partitions of one job for instance, and verifies the proofs before it returns them.
	// An empty list is ErrEmpty, and a nil in it an error; then nothing is done and Result is nil.
	//
	// If some fail, Result is not nil and holds the good proofs, and the error joins a *PartitionError for each bad one. When ctx
	// ends, the call returns within a second, with context.Cause(ctx) in the error, and leaves nothing running.
	Prove(ctx context.Context, c []circuits.Circuit, o *ProveOptions) (*Result, error)
	// Device is where the heavy work runs.
	Device() device.Device
	// Memory says what the prover holds of its GPU.
	Memory() Memory
	// Close ends running calls of Prove, which return device.ErrClosed, and releases the prover's memory. It closes neither key
	// nor device. Closing twice does nothing.
	Close() error
}

// NewProver prepares for proofs of the statements that system describes under key. The key must stay open until the Prover is
// closed. If the two do not belong together the error is a *MismatchError. With BackendGPU, or a card that is there but
// cannot be used, the error is one of package device.
func NewProver(ctx context.Context, key *ProvingKey, system *pce.System, o *ProverOptions) (Prover, error) {
	if key == nil || key.key == nil {
		return nil, errors.New("groth16: open prover: no proving key")
	}
	p := &prover{key: key, system: system, log: slog.New(slog.DiscardHandler)}
	if o != nil {
		p.options = *o
	}
	if err := p.options.validate(system); err != nil {
		return nil, err
	}
	if p.options.Logger != nil {
		p.log = p.options.Logger
	}
	if system != nil {
		if err := key.Match(system); err != nil {
			return nil, err
		}
	}
	var err error
	if p.backend, err = openBackend(&p.options, p.log); err != nil {
		return nil, err
	}
	if p.options.Priority != 0 {
		ctx = urgency.With(ctx, p.options.Priority)
	}
	if p.loaded, err = p.backend.engine.Load(ctx, system, key.key); err != nil {
		err = errors.Join(err, p.backend.close())
		return nil, fmt.Errorf("groth16: open prover: %w", device.Err(paramsError(err)))
	}
	p.running, p.stop = context.WithCancelCause(context.Background())
	return p, nil
}

type prover struct {
	key     *ProvingKey
	system  *pce.System // nil if rows are evaluated in synthesis
	options ProverOptions
	log     *slog.Logger
	backend *backend
	loaded  engine.Loaded

	running context.Context // ends at Close
	stop    context.CancelCauseFunc
	mu      sync.RWMutex // held for reading by Prove
	closed  bool
}

// Device implements Prover.
func (p *prover) Device() device.Device { return p.backend.device }

// Memory is what a Prover holds of its GPU, in bytes. It is zero on the CPU, after Close, and, for a Prover without a
// constraint system, before its first proof.
type Memory struct {
	LeasedBytes   int64 // in all
	ResidentBytes int64 // of that, what stays between proofs: the resident part of the key, and tables
	Streamed      bool  // sections of the key are read from where it is, the file or page-locked memory, in each proof
}

// Memory implements Prover.
func (p *prover) Memory() Memory {
	m := p.loaded.Memory()
	return Memory{LeasedBytes: int64(m.Leased), ResidentBytes: int64(m.Resident), Streamed: m.Streamed}
}

// Close implements Prover.
func (p *prover) Close() error {
	p.stop(device.ErrClosed)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	return errors.Join(device.Err(p.loaded.Close()), p.backend.close())
}
