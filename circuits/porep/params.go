package porep

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/internal/sectorsize"
)

const (
	drgDegree     = 6 // parents in the node's own layer
	expDegree     = 8 // parents in the layer before
	parents       = drgDegree + expDegree
	totalParents  = 37 // parents hashed into a label, with repetitions
	maxChallenges = 18 // per partition, the reference's limit
	maxNodes      = 1 << 32
)

// Sizes are the sector sizes of [ParamsFor], ascending. 2 KiB, 8 MiB, 512 MiB, 32 GiB and 64 GiB have
// registered proof types; the others are test sizes with the trees between them.
func Sizes() []uint64 {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	return []uint64{2 * kib, 4 * kib, 16 * kib, 32 * kib, 8 * mib, 16 * mib, 512 * mib, 1 * gib, 32 * gib, 64 * gib}
}

// ParamsFor returns the parameters of interactive PoRep for a sector size in bytes (spec §5.1).
// Sizes that are not among [Sizes] answer an error that wraps [ErrSectorSize].
func ParamsFor(sectorSize uint64) (Params, error) {
	shape, ok := gadget.SealedShape(sectorSize)
	if !ok || !slices.Contains(Sizes(), sectorSize) {
		return Params{}, fmt.Errorf("%w: no PoRep of %s", ErrSectorSize, sectorsize.Format(sectorSize))
	}
	p := Params{SectorSize: sectorSize, Shape: shape, Layers: 2, Partitions: 1, Challenges: 2}
	if sectorSize >= 32<<30 {
		p.Layers, p.Partitions, p.Challenges = 11, 10, 18
	}
	return p, nil
}

// Validate tells whether there is a circuit with these parameters: a power of two of nodes, at least
// two and at most 2^32, that the trees divide evenly, a number of layers that has a column hash, at
// least one partition, and 1 to 18 challenges in each. Errors wrap [ErrParams].
func (p Params) Validate() error {
	nodes := p.Nodes()
	if bits.OnesCount64(p.SectorSize) != 1 || nodes < 2 || nodes > maxNodes {
		return fmt.Errorf("%w: sector size %d", ErrParams, p.SectorSize)
	}
	if !p.Shape.Fits(bits.Len64(nodes) - 1) {
		return fmt.Errorf("%w: trees %v over %d nodes", ErrParams, p.Shape, nodes)
	}
	if !poseidon.Supported(p.Layers) {
		return fmt.Errorf("%w: %d layers", ErrParams, p.Layers)
	}
	if p.Partitions < 1 || p.Challenges < 1 || p.Challenges > maxChallenges {
		return fmt.Errorf("%w: %d partitions of %d challenges", ErrParams, p.Partitions, p.Challenges)
	}
	return nil
}

// LogNodes is log2 of the number of nodes, which is also the number of levels of tree D.
func (p Params) LogNodes() int { return bits.Len64(p.Nodes()) - 1 }

// Levels are the arities of the levels of trees C and R from the leaves to the root: the base levels,
// then sub and top if there are any (spec §4); nil for parameters that are not valid.
func (p Params) Levels() []int {
	if p.Validate() != nil {
		return nil
	}
	return p.Shape.Levels(p.LogNodes())
}

// PublicInputCount is the number of public inputs of a partition without ONE: replica_id, comm_d,
// comm_r and 18 for each challenge (spec §5.5).
func (p Params) PublicInputCount() int { return 3 + (4+parents)*p.Challenges }

// Name names the circuit, its constraint system and its key: "porep-32GiB".
func (p Params) Name() string { return "porep-" + sectorsize.Format(p.SectorSize) }

// Identifier is the text whose hash names the parameter files, exactly as the reference prints its
// public parameters (spec §9.10).
func (p Params) Identifier() string {
	return fmt.Sprintf("layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: %d "+
		"base_graph: drgraph::BucketGraph{size: %d; degree: %d; hasher: poseidon_hasher} }, "+
		"challenges: LayerChallenges { layers: %d, max_count: %d }, tree: %s }",
		expDegree, p.Nodes(), drgDegree, p.Layers, p.Challenges, p.treeName())
}

// CacheName is the name of the parameter files in the reference's cache without its extension, which
// is ".params" or ".vk" (spec §9.10).
func (p Params) CacheName() string {
	return fmt.Sprintf("v28-stacked-proof-of-replication-%s-sha256_hasher-%x", p.treeName(), sha256.Sum256([]byte(p.Identifier())))
}

func (p Params) treeName() string { return "merkletree-poseidon_hasher-" + p.Shape.String() }
