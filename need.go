package cuzk

import (
	"context"
	"fmt"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/queue"
	"github.com/gocuzk/cuzk/pce"
)

// Need is the memory that partitions of a circuit take, in bytes.
type Need struct {
	Circuit  string
	KeyBytes int64        // of the parameter file, which is mapped
	Devices  []DeviceNeed // in the order of the options
}

// DeviceNeed is what a circuit takes where its proofs are made on one device. Bytes of the device are 0 for the
// processor, and not known, and 0, with option DisablePCE.
type DeviceNeed struct {
	Info device.Info
	// HostBytes is what one partition takes of the host while it is in work.
	HostBytes int64
	// LeastBytes and AmpleBytes are what the key takes of the device as long as it is loaded, however many partitions use
	// it: the first with sections streamed in each proof, the second with everything resident.
	LeastBytes, AmpleBytes int64
	// FreeBytes can be had now, and LimitBytes if nothing else were loaded.
	FreeBytes, LimitBytes int64
}

// Fits tells whether the circuit fits when nothing else is loaded on the device.
func (d *DeviceNeed) Fits() bool { return d.LeastBytes <= d.LimitBytes }

// Estimate says what partitions of a circuit take, and of which devices: one of Filecoin's, or one that a job has had. It
// opens the circuit's key, and records its constraint system if nobody has. Errors are those of Options.Params; an error
// that wraps [ErrCircuit] or [ErrClosed].
func (e *Engine) Estimate(ctx context.Context, circuit string) (*Need, error) {
	ctx, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	k, err := e.known(ctx, circuit)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return k.need(e.cards), nil
}

// known is the kind of a circuit for which there is no job at hand.
func (e *Engine) known(ctx context.Context, circuit string) (*kind, error) {
	if k, err := e.alreadyOpen(ctx, circuit); k != nil || err != nil {
		return k, err
	}
	return e.kinds.open(ctx, circuit, nil)
}

// alreadyOpen is the kind of a circuit if it is open, and nil if it is one of Filecoin's and is not.
func (e *Engine) alreadyOpen(_ context.Context, circuit string) (*kind, error) {
	k := e.kinds.get(circuit)
	if k == nil && blankOf(circuit) == nil {
		return nil, fmt.Errorf("%w: %s", ErrCircuit, circuit)
	}
	return k, nil
}

// kind is a circuit that can be proved: its key and its constraint system. It stays open until the Engine is closed.
type kind struct {
	name   string
	class  queue.Class
	system *pce.System // nil with option DisablePCE
	key    *groth16.ProvingKey
	needs  []DeviceNeed // by card, without FreeBytes
	times  times
}

// measure finds out what the circuit takes of each card.
func (k *kind) measure(cards []*card) error {
	for _, c := range cards {
		d := DeviceNeed{Info: c.device.Info(), LimitBytes: c.limit}
		if k.system == nil {
			d.HostBytes = directBytes(k.key.Counts(), d.Info.IsCPU())
		} else {
			n, err := groth16.Estimate(k.system, c.device, nil)
			if err != nil {
				return fmt.Errorf("cuzk: estimate %s: %w", k.name, err)
			}
			d.HostBytes, d.LeastBytes, d.AmpleBytes = n.HostBytes, n.LeastBytes, n.AmpleBytes
		}
		k.needs = append(k.needs, d)
	}
	return nil
}

// need is for callers: with what is free now, and without the processor where it only stands by. The caller holds Engine.mu.
func (k *kind) need(cards []*card) *Need {
	n := &Need{Circuit: k.name, KeyBytes: k.key.Bytes()}
	for i, d := range k.needs {
		if cards[i].standby {
			continue
		}
		d.FreeBytes = max(d.LimitBytes-cards[i].leased(), 0)
		n.Devices = append(n.Devices, d)
	}
	return n
}

// directBytes bounds what a partition takes of the host when rows are evaluated in synthesis, from the size of the key
// alone: the rows with room to grow, the witness twice and, on the processor, the vectors of the quotient and half a
// gigabyte.
func directBytes(c groth16.KeyCounts, onCPU bool) int64 {
	const scalar, sums = 32, 512 << 20
	domain := int64(c.H + 1)
	n := scalar * (5*domain + 2*int64(c.L))
	if onCPU {
		n += 3*scalar*domain + sums
	}
	return n
}
