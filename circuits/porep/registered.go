package porep

import (
	"encoding/binary"
	"fmt"

	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// RegisteredProof is a registered seal proof: which sector size, graph and challenges a replica has.
// The numbers are those of the chain (RegisteredSealProof): for each of five rules 2 KiB, 8 MiB,
// 512 MiB, 32 GiB and 64 GiB in this order.
type RegisteredProof uint8

// The first registered proof of each rule, 2 KiB; the other sizes follow.
const (
	StackedDrg2KiBV1   RegisteredProof = 5 * iota // API 1.0.0
	StackedDrg2KiBV1_1                            // API 1.1.0: other parents
	StackedDrg2KiBV1_1Synthetic
	StackedDrg2KiBV1_2NonInteractive

	registeredProofs // how many there are
)

// APIVersion is the version of the proofs API that a registered proof follows. Only the order and the
// expander parents of the graph depend on it.
type APIVersion uint8

// The API versions, in order.
const (
	APIv1_0 APIVersion = iota
	APIv1_1
	APIv1_2
)

// String is the version as the reference writes it, "1.1.0".
func (v APIVersion) String() string { return fmt.Sprintf("1.%d.0", uint8(v)) }

// Feature is the rule by which a registered proof draws its challenges.
type Feature uint8

// The features.
const (
	Interactive    Feature = iota // from the seed
	Synthetic                     // from the seed, out of a set that the replica id and comm_r give
	NonInteractive                // from the replica id and comm_r alone (FIP-92)
)

// String is the name of the feature: "interactive", "synthetic" or "non-interactive".
func (f Feature) String() string {
	switch f {
	case Interactive:
		return "interactive"
	case Synthetic:
		return "synthetic"
	case NonInteractive:
		return "non-interactive"
	}
	return fmt.Sprintf("feature %d", uint8(f))
}

// RegisteredProofs are all registered proofs in the order of their numbers.
func RegisteredProofs() []RegisteredProof {
	all := make([]RegisteredProof, registeredProofs)
	for i := range all {
		all[i] = RegisteredProof(i)
	}
	return all
}

// RegisteredProofFor is the registered proof of a sector size (bytes), API version and feature.
// Combinations that are not registered answer an error that wraps [ErrProofType].
func RegisteredProofFor(sectorSize uint64, v APIVersion, f Feature) (RegisteredProof, error) {
	for _, p := range RegisteredProofs() {
		if p.SectorSize() == sectorSize && p.APIVersion() == v && p.Feature() == f {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w: %s, API %v, %v", ErrProofType, sectorsize.Format(sectorSize), v, f)
}

// ParseRegisteredProof reads a name as the reference writes it, for instance
// "StackedDrg32GiBV1_1_Feat_SyntheticPoRep". Errors wrap [ErrProofType].
func ParseRegisteredProof(name string) (RegisteredProof, error) {
	for _, p := range RegisteredProofs() {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("%w %q", ErrProofType, name)
}

// Valid tells whether p is one of the registered proofs 0 to 19.
func (p RegisteredProof) Valid() bool { return p < registeredProofs }

// String is the reference's name of p.
func (p RegisteredProof) String() string {
	if !p.Valid() {
		return fmt.Sprintf("registered proof %d", uint8(p))
	}
	return p.variant() + [...]string{"", "_1", "_1_Feat_SyntheticPoRep", "_2_Feat_NonInteractivePoRep"}[p/5]
}

// variant is the name under which a phase-1 output files the vanilla proofs of p: that of the first
// registered proof of the size (spec §8.2).
func (p RegisteredProof) variant() string {
	return "StackedDrg" + sectorsize.Format(p.SectorSize()) + "V1"
}

// SectorSize is in bytes; 0 if p is not valid.
func (p RegisteredProof) SectorSize() uint64 {
	if !p.Valid() {
		return 0
	}
	return [...]uint64{2 << 10, 8 << 20, 512 << 20, 32 << 30, 64 << 30}[p%5]
}

// APIVersion is the version of the rules for the graph.
func (p RegisteredProof) APIVersion() APIVersion {
	switch {
	case p < StackedDrg2KiBV1_1:
		return APIv1_0
	case p < StackedDrg2KiBV1_1Synthetic:
		return APIv1_1
	}
	return APIv1_2
}

// Feature is the rule for the challenges.
func (p RegisteredProof) Feature() Feature {
	switch {
	case p < StackedDrg2KiBV1_1Synthetic:
		return Interactive
	case p < StackedDrg2KiBV1_2NonInteractive:
		return Synthetic
	}
	return NonInteractive
}

// PoRepID is the 32 bytes that go into graph and replica id: the number of p and the nonce 0, both
// u64 little-endian, then zeros.
func (p RegisteredProof) PoRepID() [32]byte {
	var id [32]byte
	binary.LittleEndian.PutUint64(id[:], uint64(p))
	return id
}

// Params are the parameters of p's circuits. A non-interactive proof has the circuit of its sector
// size and more partitions (spec §5.1). Errors wrap [ErrProofType].
func (p RegisteredProof) Params() (Params, error) {
	if !p.Valid() {
		return Params{}, fmt.Errorf("%w: number %d", ErrProofType, uint8(p))
	}
	params, err := ParamsFor(p.SectorSize())
	if err == nil && p.Feature() == NonInteractive {
		params.Partitions = 13
		if params.Layers == 11 {
			params.Partitions = 126
		}
	}
	return params, err
}

// Supported is nil if proofs of p can be made and checked here, an [UnsupportedError] for the
// non-interactive ones, and an error that wraps [ErrProofType] if p is not valid.
func (p RegisteredProof) Supported() error {
	if !p.Valid() {
		return fmt.Errorf("%w: number %d", ErrProofType, uint8(p))
	}
	if p.Feature() == NonInteractive {
		return &UnsupportedError{Proof: p}
	}
	return nil
}
