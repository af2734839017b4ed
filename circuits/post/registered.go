package post

import (
	"fmt"

	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// RegisteredProof is a registered PoSt proof: which statement, sector size and rule for challenges. The
// numbers are those of the chain (RegisteredPoStProof): for each of three rules 2 KiB, 8 MiB, 512 MiB,
// 32 GiB and 64 GiB in this order.
type RegisteredProof uint8

// The first registered proof of each rule, 2 KiB; the other sizes follow. The chain's Go types call the
// last group "V1_1", the reference "V1_2".
const (
	Winning2KiBV1  RegisteredProof = 5 * iota // API 1.0.0
	Window2KiBV1                              // API 1.0.0
	Window2KiBV1_2                            // API 1.2.0

	registeredProofs // how many there are
)

// Kind is which of the two proofs of spacetime.
type Kind uint8

// The kinds.
const (
	Winning Kind = iota // one sector, for the right to make a block
	Window              // all sectors of a deadline, partition by partition
)

// String is "winning" or "window".
func (k Kind) String() string {
	switch k {
	case Winning:
		return "winning"
	case Window:
		return "window"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// APIVersion is the version of the proofs API that a registered proof follows. Only challenges depend
// on it (§6.3).
type APIVersion uint8

// The API versions that PoSt has.
const (
	APIv1_0 APIVersion = iota // a challenge's number counts through all sectors
	APIv1_2                   // a challenge's number starts anew in each sector
)

// String is the version as the reference writes it, "1.2.0".
func (v APIVersion) String() string {
	switch v {
	case APIv1_0:
		return "1.0.0"
	case APIv1_2:
		return "1.2.0"
	}
	return fmt.Sprintf("API version %d", uint8(v))
}

// RegisteredProofs are all registered proofs in the order of their numbers.
func RegisteredProofs() []RegisteredProof {
	all := make([]RegisteredProof, registeredProofs)
	for i := range all {
		all[i] = RegisteredProof(i)
	}
	return all
}

// RegisteredProofFor is the registered proof of a kind, sector size (bytes) and API version.
// Combinations that are not registered answer an error that wraps [ErrProofType].
func RegisteredProofFor(k Kind, sectorSize uint64, v APIVersion) (RegisteredProof, error) {
	for _, p := range RegisteredProofs() {
		if p.Kind() == k && p.SectorSize() == sectorSize && p.APIVersion() == v {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w: %v, %s, API %v", ErrProofType, k, sectorsize.Format(sectorSize), v)
}

// ParseRegisteredProof reads a name as the reference writes it, for instance
// "StackedDrgWindow32GiBV1_2". Errors wrap [ErrProofType].
func ParseRegisteredProof(name string) (RegisteredProof, error) {
	for _, p := range RegisteredProofs() {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w %q", ErrProofType, name)
}

// OneProofType is the registered proof that all of a list are: a job has one. An empty list answers
// [ErrNoSectors], different ones an error that wraps [ErrMixed].
func OneProofType(proofs ...RegisteredProof) (RegisteredProof, error) {
	if len(proofs) == 0 {
		return 0, ErrNoSectors
	}
	for i, p := range proofs {
		if p != proofs[0] {
			return 0, fmt.Errorf("%w: %v, but number %d is %v", ErrMixed, proofs[0], i, p)
		}
	}
	return proofs[0], proofs[0].check()
}

// Valid tells whether p is one of the registered proofs 0 to 14.
func (p RegisteredProof) Valid() bool { return p < registeredProofs }

// check is nil for a valid p, else an error that wraps ErrProofType.
func (p RegisteredProof) check() error {
	if !p.Valid() {
		return fmt.Errorf("%w: number %d", ErrProofType, uint8(p))
	}
	return nil
}

// String is the reference's name of p.
func (p RegisteredProof) String() string {
	if !p.Valid() {
		return fmt.Sprintf("registered proof %d", uint8(p))
	}
	rule := [...][2]string{{"Winning", "V1"}, {"Window", "V1"}, {"Window", "V1_2"}}[p/5]
	return "StackedDrg" + rule[0] + sectorsize.Format(p.SectorSize()) + rule[1]
}

// SectorSize is in bytes; 0 if p is not valid.
func (p RegisteredProof) SectorSize() uint64 {
	if !p.Valid() {
		return 0
	}
	return [...]uint64{2 << 10, 8 << 20, 512 << 20, 32 << 30, 64 << 30}[p%5]
}

// Kind is which of the two proofs p is.
func (p RegisteredProof) Kind() Kind {
	if p < Window2KiBV1 {
		return Winning
	}
	return Window
}

// APIVersion is the version of the rule for challenges.
func (p RegisteredProof) APIVersion() APIVersion {
	if p < Window2KiBV1_2 {
		return APIv1_0
	}
	return APIv1_2
}

// Params are the parameters of p's circuit. Errors wrap [ErrProofType].
func (p RegisteredProof) Params() (Params, error) {
	if err := p.check(); err != nil {
		return Params{}, err
	}
	return ParamsFor(p.Kind(), p.SectorSize())
}
