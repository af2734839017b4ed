package update

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/sectorsize"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// Shape is the arities of a tree (§4).
type Shape = gadget.Shape

// Variant is which of the two circuits.
type Variant uint8

// The variants.
const (
	Sha256   Variant = iota // EmptySectorUpdate: the data tree is binary and of SHA-256
	Poseidon                // EmptySectorUpdate-Poseidon: the data tree is like the sealed ones (§7.9)
)

// String is the beginning of the circuit's name: "update" or "update-poseidon".
func (v Variant) String() string {
	switch v {
	case Sha256:
		return "update"
	case Poseidon:
		return "update-poseidon"
	}
	return fmt.Sprintf("variant %d", uint8(v))
}

// nHeights is how many values of h a circuit can choose from.
const nHeights = 6

// Params are the sizes that decide an update circuit's constraints (§7.1).
type Params struct {
	Variant    Variant
	SectorSize uint64 // bytes
	Shape      Shape  // of the sealed trees
	Partitions int    // a power of two; 1 in the Poseidon variant
	Challenges int    // per partition
	// ApexLeaves is the number of nodes of the data tree below a partition's root that the partition
	// hashes once for all its challenges, a power of two. It is 0 in the Poseidon variant.
	ApexLeaves int
	// Heights are the values of h among which the public inputs choose: c_high, on which the encoding
	// of a node depends, is the top h bits of its number.
	Heights [nHeights]int
	H       int // the one that is chosen
}

const (
	maxNodes      = 1 << 32
	maxPartitions = 1 << 8
	maxChallenges = 1 << 16 // per partition; the largest Filecoin circuit has 1,376
	maxApexLeaves = 1 << 10
	// capacity is how many bits of a digest challenges are taken from.
	capacity = 254
)

// Sizes are the sector sizes of [ParamsFor], ascending. 2 KiB, 8 MiB, 512 MiB, 32 GiB and 64 GiB have
// registered proof types; the others are test sizes with the trees between them.
func Sizes() []uint64 {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	return []uint64{1 * kib, 2 * kib, 4 * kib, 8 * kib, 16 * kib, 32 * kib, 8 * mib, 16 * mib, 512 * mib, 32 * gib, 64 * gib}
}

// ParamsFor returns the parameters of a variant for a sector size in bytes (§7.1, §7.9). Sizes that are
// not among [Sizes] answer an error that wraps [ErrSectorSize].
func ParamsFor(v Variant, sectorSize uint64) (Params, error) {
	shape, ok := gadget.SealedShape(sectorSize)
	if !ok || !slices.Contains(Sizes(), sectorSize) {
		return Params{}, fmt.Errorf("%w: no update of %s", ErrSectorSize, sectorsize.Format(sectorSize))
	}
	p := Params{
		Variant: v, SectorSize: sectorSize, Shape: shape, Partitions: 16, Challenges: 86, ApexLeaves: 128,
		Heights: [nHeights]int{7, 8, 9, 10, 11, 12}, H: 10,
	}
	switch {
	case sectorSize <= 8<<10:
		p.Partitions, p.ApexLeaves = 1, 8
	case sectorSize <= 32<<10:
		p.Partitions = 2
	case sectorSize <= 16<<20:
		p.Partitions = 4
	}
	if sectorSize <= 16<<20 {
		p.Challenges = 10
	}
	if sectorSize <= 32<<10 {
		p.Heights, p.H = [nHeights]int{1, 1, 1, 1, 1, 1}, 1
	}
	switch v {
	case Sha256:
	case Poseidon:
		p.Partitions, p.Challenges, p.ApexLeaves = 1, p.Partitions*p.Challenges, 0
	default:
		return Params{}, fmt.Errorf("%w: %v", ErrParams, v)
	}
	return p, nil
}

// Validate tells whether there is a circuit with these parameters. Errors wrap [ErrParams].
func (p Params) Validate() error {
	nodes := p.Nodes()
	if bits.OnesCount64(p.SectorSize) != 1 || nodes < 2 || nodes > maxNodes {
		return fmt.Errorf("%w: sector size %d", ErrParams, p.SectorSize)
	}
	if !p.Shape.Fits(p.LogNodes()) {
		return fmt.Errorf("%w: trees %v over %d nodes", ErrParams, p.Shape, nodes)
	}
	if !powerOfTwo(p.Partitions, maxPartitions) || p.Challenges < 1 || p.Challenges > maxChallenges {
		return fmt.Errorf("%w: %d partitions of %d challenges", ErrParams, p.Partitions, p.Challenges)
	}
	switch p.Variant {
	case Sha256:
		if !powerOfTwo(p.ApexLeaves, maxApexLeaves) || p.logPartitions()+p.logApex() >= p.LogNodes() {
			return fmt.Errorf("%w: %d partitions with %d apex leaves over %d nodes", ErrParams, p.Partitions, p.ApexLeaves, nodes)
		}
	case Poseidon:
		if p.Partitions != 1 || p.ApexLeaves != 0 {
			return fmt.Errorf("%w: %d partitions with %d apex leaves in %v", ErrParams, p.Partitions, p.ApexLeaves, p.Variant)
		}
	default:
		return fmt.Errorf("%w: %v", ErrParams, p.Variant)
	}
	for _, h := range p.Heights {
		if h < 1 || h > p.LogNodes() {
			return fmt.Errorf("%w: h %d of %d bits", ErrParams, h, p.LogNodes())
		}
	}
	if !slices.Contains(p.Heights[:], p.H) {
		return fmt.Errorf("%w: h %d is none of %v", ErrParams, p.H, p.Heights)
	}
	return nil
}

func powerOfTwo(n, limit int) bool { return n >= 1 && n <= limit && n&(n-1) == 0 }

// Nodes is the number of 32-byte nodes of a sector.
func (p Params) Nodes() uint64 { return p.SectorSize / 32 }

// LogNodes is log2 of the number of nodes, which is the number of bits of a challenge.
func (p Params) LogNodes() int { return bits.Len64(p.Nodes()) - 1 }

func (p Params) logPartitions() int { return bits.Len(uint(p.Partitions)) - 1 }

func (p Params) logApex() int { return bits.Len(uint(p.ApexLeaves)) - 1 }

// drawnBits is how many bits of a challenge are drawn; the others are the partition's number.
func (p Params) drawnBits() int { return p.LogNodes() - p.logPartitions() }

// subtreeLevels is the level of the data tree that the apex leaves are on.
func (p Params) subtreeLevels() int { return p.drawnBits() - p.logApex() }

// perDigest is how many challenges one digest gives, and digests how many a partition needs (§7.5).
func (p Params) perDigest() int { return capacity / p.drawnBits() }

func (p Params) digests() int { return (p.Challenges + p.perDigest() - 1) / p.perDigest() }

// hSelect is the choice of h: a bit at the first place that has it.
func (p Params) hSelect() uint64 { return 1 << slices.Index(p.Heights[:], p.H) }

// selector is the first public input of partition k: its number and the choice of h (§7.1).
func (p Params) selector(k int) uint64 { return uint64(k) | p.hSelect()<<p.logPartitions() }

// Levels are the arities of the levels of the sealed trees from the leaves to the root; nil for parameters that are not
// valid.
func (p Params) Levels() []int { return p.levels(p.Shape) }

func (p Params) levels(s Shape) []int {
	if p.Validate() != nil {
		return nil
	}
	return s.Levels(p.LogNodes())
}

// DataShape is the shape of the data tree.
func (p Params) DataShape() Shape {
	if p.Variant == Poseidon {
		return p.Shape
	}
	return Shape{Base: 2}
}

// DataLevels are the arities of the levels of the data tree from the leaves to the root; nil for parameters that are not
// valid.
func (p Params) DataLevels() []int { return p.levels(p.DataShape()) }

// VanillaSize is the size of a partition's vanilla proof in bytes: 561,768 for 32 GiB.
func (p Params) VanillaSize() int {
	n := 32 + 8
	if p.Variant == Sha256 {
		n += 8 + 32*p.ApexLeaves
	}
	return n + p.Challenges*(2*vanilla.MerkleSize(p.Shape, p.Levels())+vanilla.MerkleSize(p.DataShape(), p.DataLevels()))
}

// Name names the circuit, its constraint system and its key: "update-32GiB", "update-poseidon-32GiB".
func (p Params) Name() string { return p.Variant.String() + "-" + sectorsize.Format(p.SectorSize) }

// Identifier is the text whose hash names the parameter files, exactly as the reference prints its
// public parameters (§9.10). It is the same for both variants.
func (p Params) Identifier() string {
	return fmt.Sprintf("empty_sector_update::PublicParams{ sector_nodes: %d }", p.Nodes())
}

// CacheName is the name of the parameter files in the reference's cache without its extension, which
// is ".params" or ".vk" (§9.10).
func (p Params) CacheName() string {
	prefix := "v28-empty-sector-update"
	if p.Variant == Poseidon {
		prefix += "-poseidon"
	}
	return fmt.Sprintf("%s-merkletree-poseidon_hasher-%v-%x", prefix, p.Shape, sha256.Sum256([]byte(p.Identifier())))
}
