package post

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/sectorsize"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// Shape is the arities of tree R, whose root is comm_r_last (§4).
type Shape = gadget.Shape

// Params are the sizes that decide a PoSt circuit's constraints (§6.1). They are the circuit's: a
// WinningPoSt circuit has its one sector as often as there are challenges, with one challenge each.
type Params struct {
	Kind       Kind
	SectorSize uint64 // bytes
	Shape      Shape
	Sectors    int // per partition
	Challenges int // per sector
}

const (
	winningChallenges = 66
	windowChallenges  = 10

	maxNodes         = 1 << 32
	maxPerPartition  = 1 << 18 // challenges; the largest Filecoin circuit has 23,490
	maxSectorsOfAJob = 1 << 26 // so that the numbers of challenges can't overflow
)

// Sizes are the sector sizes of [ParamsFor], ascending. 2 KiB, 8 MiB, 512 MiB, 32 GiB and 64 GiB have
// registered proof types; the others are test sizes with the trees between them.
func Sizes() []uint64 {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	return []uint64{2 * kib, 4 * kib, 16 * kib, 32 * kib, 8 * mib, 16 * mib, 512 * mib, 1 * gib, 32 * gib, 64 * gib}
}

// ParamsFor returns the parameters of a kind of PoSt for a sector size in bytes (§6.1). Sizes that are
// not among [Sizes] answer an error that wraps [ErrSectorSize].
func ParamsFor(k Kind, sectorSize uint64) (Params, error) {
	shape, ok := gadget.SealedShape(sectorSize)
	if !ok || !slices.Contains(Sizes(), sectorSize) {
		return Params{}, fmt.Errorf("%w: no PoSt of %s", ErrSectorSize, sectorsize.Format(sectorSize))
	}
	p := Params{Kind: k, SectorSize: sectorSize, Shape: shape}
	switch k {
	case Winning:
		p.Sectors, p.Challenges = winningChallenges, 1
	case Window:
		p.Sectors, p.Challenges = windowSectors(sectorSize), windowChallenges
	default:
		return Params{}, fmt.Errorf("%w: %v", ErrParams, k)
	}
	return p, nil
}

// windowSectors is how many sectors fill a partition of WindowPoSt.
func windowSectors(sectorSize uint64) int {
	switch sectorSize {
	case 32 << 30:
		return 2349
	case 64 << 30:
		return 2300
	}
	return 2
}

// Validate tells whether there is a circuit with these parameters: a power of two of nodes, at least
// two and at most 2^32, that the tree divides evenly, and a sensible number of sectors and challenges,
// one challenge each for WinningPoSt. Errors wrap [ErrParams].
func (p Params) Validate() error {
	nodes := p.Nodes()
	if bits.OnesCount64(p.SectorSize) != 1 || nodes < 2 || nodes > maxNodes {
		return fmt.Errorf("%w: sector size %d", ErrParams, p.SectorSize)
	}
	if !p.Shape.Fits(bits.Len64(nodes) - 1) {
		return fmt.Errorf("%w: tree %v over %d nodes", ErrParams, p.Shape, nodes)
	}
	if p.Kind > Window {
		return fmt.Errorf("%w: %v", ErrParams, p.Kind)
	}
	if p.Sectors < 1 || p.Challenges < 1 || p.Sectors > maxPerPartition/p.Challenges ||
		p.Kind == Winning && p.Challenges != 1 {
		return fmt.Errorf("%w: %d sectors of %d challenges", ErrParams, p.Sectors, p.Challenges)
	}
	return nil
}

// Nodes is the number of 32-byte nodes of a sector.
func (p Params) Nodes() uint64 { return p.SectorSize / 32 }

// Levels are the arities of the levels of tree R from the leaves to the root; nil for parameters that are not valid.
func (p Params) Levels() []int {
	if p.Validate() != nil {
		return nil
	}
	return p.Shape.Levels(bits.Len64(p.Nodes()) - 1)
}

// PathsPerProof is how many inclusion proofs a sector's vanilla proof has.
func (p Params) PathsPerProof() int { return p.Challenges * p.repeats() }

// repeats is how often the circuit has a sector, each time with its next challenges.
func (p Params) repeats() int {
	if p.Kind == Winning {
		return p.Sectors
	}
	return 1
}

// SectorsPerPartition is how many different sectors a partition holds: 1 for WinningPoSt.
func (p Params) SectorsPerPartition() int {
	if p.Kind == Winning {
		return 1
	}
	return p.Sectors
}

// VanillaSize is the size of a sector's vanilla proof in bytes: 24,960 for WindowPoSt of 32 GiB.
func (p Params) VanillaSize() int {
	return 8 + 32 + 8 + 8 + p.PathsPerProof()*vanilla.MerkleSize(p.Shape, p.Levels()) + 2*32
}

// PublicInputCount is the number of public inputs of a partition without ONE: for each sector comm_r
// and its challenges (§6.3).
func (p Params) PublicInputCount() int { return p.Sectors * (1 + p.Challenges) }

// Name names the circuit, its constraint system and its key: "winning-post-2KiB", "window-post-32GiB".
func (p Params) Name() string {
	return p.Kind.String() + "-post-" + sectorsize.Format(p.SectorSize)
}

// Identifier is the text whose hash names the parameter files, exactly as the reference prints its
// public parameters (§9.10).
func (p Params) Identifier() string {
	return fmt.Sprintf("FallbackPoSt::PublicParams{sector_size: %d, challenge_count: %d, sector_count: %d}",
		p.SectorSize, p.Challenges, p.Sectors)
}

// CacheName is the name of the parameter files in the reference's cache without its extension, which
// is ".params" or ".vk" (§9.10).
func (p Params) CacheName() string {
	return fmt.Sprintf("v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-%v-%x",
		p.Shape, sha256.Sum256([]byte(p.Identifier())))
}
