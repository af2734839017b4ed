package update

import (
	"fmt"

	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// RegisteredProof is a registered update proof, which is a sector size. The numbers are those of the
// chain (RegisteredUpdateProof): 2 KiB, 8 MiB, 512 MiB, 32 GiB and 64 GiB in this order.
type RegisteredProof uint8

// The registered proofs.
const (
	StackedDrg2KiBV1 RegisteredProof = iota
	StackedDrg8MiBV1
	StackedDrg512MiBV1
	StackedDrg32GiBV1
	StackedDrg64GiBV1

	registeredProofs // how many there are
)

// RegisteredProofs are all registered proofs in the order of their numbers.
func RegisteredProofs() []RegisteredProof {
	all := make([]RegisteredProof, registeredProofs)
	for i := range all {
		all[i] = RegisteredProof(i)
	}
	return all
}

// RegisteredProofFor is the registered proof of a sector size (bytes). Errors wrap [ErrProofType].
func RegisteredProofFor(sectorSize uint64) (RegisteredProof, error) {
	for _, p := range RegisteredProofs() {
		if p.SectorSize() == sectorSize {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w: %s", ErrProofType, sectorsize.Format(sectorSize))
}

// ParseRegisteredProof reads a name as the reference writes it, for instance "StackedDrg32GiBV1".
// Errors wrap [ErrProofType].
func ParseRegisteredProof(name string) (RegisteredProof, error) {
	for _, p := range RegisteredProofs() {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w %q", ErrProofType, name)
}

// Valid tells whether p is one of the registered proofs 0 to 4.
func (p RegisteredProof) Valid() bool { return p < registeredProofs }

// String is the reference's name of p.
func (p RegisteredProof) String() string {
	if !p.Valid() {
		return fmt.Sprintf("registered proof %d", uint8(p))
	}
	return "StackedDrg" + sectorsize.Format(p.SectorSize()) + "V1"
}

// SectorSize is in bytes; 0 if p is not valid.
func (p RegisteredProof) SectorSize() uint64 {
	if !p.Valid() {
		return 0
	}
	return [...]uint64{2 << 10, 8 << 20, 512 << 20, 32 << 30, 64 << 30}[p]
}

// Params are the parameters of p's circuit, that of EmptySectorUpdate: the Poseidon variant has no
// registered proofs. Errors wrap [ErrProofType].
func (p RegisteredProof) Params() (Params, error) {
	if !p.Valid() {
		return Params{}, fmt.Errorf("%w: number %d", ErrProofType, uint8(p))
	}
	return ParamsFor(Sha256, p.SectorSize())
}
