package groth16

import (
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/device"
	enginegpu "github.com/gocuzk/cuzk/internal/engine/gpu"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
	"github.com/gocuzk/cuzk/pce"
)

// EstimateOptions tunes [Estimate]. The zero value, and nil, mean the defaults.
type EstimateOptions struct {
	// DisablePCE is that of ProverOptions.
	DisablePCE bool
}

// Need is the memory that a Prover takes, in bytes.
type Need struct {
	// LeastBytes and AmpleBytes are what a Prover leases of a GPU for as long as it is open: never less than the first, with
	// sections of the key streamed in each proof, and the second if it can, with the whole key resident. They are 0 on the CPU.
	LeastBytes, AmpleBytes int64
	// HostBytes bounds what one proof holds of the host's memory: the packed witness and what it is made from, and rows that
	// are not evaluated on a GPU. Each of several proofs at a time takes as much; what the collector has not found yet comes
	// on top.
	HostBytes int64
	// KeyBytes is the size of the parameter file. It is mapped, so the system can take its pages back. A page-locked copy takes
	// as much of the host, and the system can't take that back.
	KeyBytes int64
}

// Estimate says what a Prover of system would take on d. It needs no key and asks no driver, since the sizes of a key
// follow from the constraint system. It costs as much as the tables that a Prover makes of the system.
func Estimate(system *pce.System, d device.Device, o *EstimateOptions) (*Need, error) {
	if err := checkSystem("estimate", system); err != nil {
		return nil, err
	}
	if d == nil {
		return nil, errors.New("groth16: estimate: no device given")
	}
	direct := o != nil && o.DisablePCE
	n := &Need{KeyBytes: keyBytes(system.Layout()), HostBytes: witnessBytes(system.Counts())}
	if direct {
		n.HostBytes += directBytes(system)
	}
	if d.Info().IsCPU() {
		n.HostBytes += cpuBytes(system.Counts())
		return n, nil
	}
	need := enginegpu.Estimate(system, d.Info().Multiprocessors)
	n.LeastBytes, n.AmpleBytes = int64(need.Least), int64(need.Ample)
	return n, nil
}

// Leasable says how many bytes of a GPU a Prover could lease now, and how many if there were no other. Both are 0 on the
// CPU. The first use of a GPU fixes the latter.
func Leasable(d device.Device) (free, limit int64, err error) {
	if d == nil {
		return 0, 0, errors.New("groth16: leasable: no device given")
	}
	card, ok := d.(interface{ GPU() *gpu.Device })
	if !ok {
		return 0, 0, nil
	}
	now, err := card.GPU().Leasable()
	if err != nil {
		return 0, 0, fmt.Errorf("groth16: leasable: %w", device.Err(err))
	}
	return int64(now), int64(card.GPU().Stats().LimitBytes), nil // the device's own account: no driver is asked
}

const scalarBytes = int64(unsafe.Sizeof(fr.Element{}))

// witnessBytes is the packed witness, and once more the parts that it is put together from.
func witnessBytes(c pce.Counts) int64 {
	return 2 * (int64(c.Inputs+c.Dense)*scalarBytes + int64(c.Bits+7)/8)
}

// directBytes are rows that were evaluated in synthesis: three lists that grow, so that each has room for a quarter more
// and is moved now and then, and the structure beside them. PoRep of 2 KiB takes 6.3 numbers a row.
func directBytes(system *pce.System) int64 { return 7 * int64(system.FullRows()) * scalarBytes }

// cpuBytes is what the engine on the processor takes: the vectors of the quotient, and room for tables, points and
// buckets, which is bounded and less for small domains.
func cpuBytes(c pce.Counts) int64 {
	const most, perPoint = 256 << 20, 1 << 10
	m := int64(domainSize(c))
	return 3*m*scalarBytes + min(most, m*perPoint)
}

// domainSize is the number of points in the domain of a circuit.
func domainSize(c pce.Counts) int { return 1 << bits.Len(uint(c.Rows+c.Inputs-1)) }

// keyBytes is the size of the parameter file: verifying key, and five lists that begin with their counts.
func keyBytes(layout *pce.Layout) int64 {
	const countBytes = 4
	c, d := layout.Counts, &layout.Densities
	vk := srs.VerifyingKey{IC: make([]bls12381.G1Affine, c.Inputs)}
	b := d.BInput.Count() + d.BAux.Count()
	g1 := domainSize(c) - 1 + c.Aux + c.Inputs + d.AAux.Count() + b
	return vk.Size() + 5*countBytes + int64(g1)*wire.G1Size + int64(b)*wire.G2Size
}
