package update

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// Check computes everything that the circuits of s will assert, without a circuit: that there is a
// vanilla proof for each partition, in order, and that in each of them
//
//   - comm_r_old and comm_r_new are the hashes of comm_c and one old and one new root;
//   - the paths are those of the challenged nodes, and lead to comm_d_new and to these roots;
//   - a new leaf is the old one plus the data times rho;
//   - the apex leaves are nodes of the data tree.
//
// Vanilla proofs that pass give satisfied circuits. workers bounds the goroutines; 0 or less means one
// per CPU. Cost: some 0.1 s of one core for a partition of 32 GiB. [Circuit.Witness] does the same without
// computing a hash of the sealed trees twice.
//
// # Errors
//
// A [CheckError] that names the first partition, challenge and field that is wrong and wraps a
// sentinel of this package; the errors of [Statement.Validate]; context.Cause(ctx) if ctx ends first.
func (s *Statement) Check(ctx context.Context, proofs []*Vanilla, workers int) error {
	c, err := s.match(proofs)
	if err != nil {
		return err
	}
	var all []*partition
	for k, v := range proofs {
		all = append(all, c.partition(k, v))
	}
	return checkHashes(ctx, all, workers)
}

// CheckPartition is [Statement.Check] for partition k alone. A partition that is not there answers an
// error that wraps [ErrNoPartition].
func (s *Statement) CheckPartition(ctx context.Context, k int, v *Vanilla, workers int) error {
	p, err := s.matchPartition(k, v)
	if err != nil {
		return err
	}
	return checkHashes(ctx, []*partition{p}, workers)
}

// match validates the statement and everything but the hashes of the sealed trees.
func (s *Statement) match(proofs []*Vanilla) (*claim, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	if len(proofs) != c.params.Partitions {
		return nil, fmt.Errorf("%w: %d, want %d", ErrMissing, len(proofs), c.params.Partitions)
	}
	for k, v := range proofs {
		if err := c.partition(k, v).match(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// matchPartition is match for partition k alone.
func (s *Statement) matchPartition(k int, v *Vanilla) (*partition, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	if k < 0 || k >= c.params.Partitions {
		return nil, fmt.Errorf("%w: %d of %d", ErrNoPartition, k, c.params.Partitions)
	}
	p := c.partition(k, v)
	return p, p.match()
}

// partition is a partition of a statement with its vanilla proof.
type partition struct {
	*claim
	k     int
	proof *Vanilla
	nodes []uint64 // challenged
}

func (c *claim) partition(k int, v *Vanilla) *partition {
	return &partition{claim: c, k: k, proof: v, nodes: c.challenges(k)}
}

// fail is a CheckError of this partition.
func (p *partition) fail(challenge int, field string, sentinel error, format string, args ...any) error {
	return &CheckError{
		Partition: p.k, Challenge: challenge, Field: field,
		Err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...)),
	}
}

// field is the way to a proof of challenge i.
func field(i int, name string) string { return fmt.Sprintf("challenge_proofs[%d].%s", i, name) }

// rootField is the way to the root of a proof of challenge i.
func rootField(i int, name string, shape Shape) string {
	return field(i, name) + ".data." + shape.Variant() + ".root"
}

// match checks everything but the hashes of the sealed trees: the commitments, which nodes the paths are of, that their
// roots agree, the encoding, and the data tree if it is of SHA-256. Commitments come first, because challenges and
// encoding depend on them.
func (p *partition) match() error {
	if p.proof == nil {
		return p.fail(-1, "", ErrShape, "nil")
	}
	if err := p.proof.validate(p.params); err != nil {
		return p.fail(-1, "", ErrShape, "%v", err)
	}
	if err := p.commitments(); err != nil {
		return err
	}
	for i := range p.proof.Challenges {
		for _, check := range []func(int, *Challenge) error{p.positions, p.roots, p.encoding, p.data} {
			if err := check(i, &p.proof.Challenges[i]); err != nil {
				return err
			}
		}
	}
	return p.apex()
}

// positions checks that the paths are of the challenged node.
func (p *partition) positions(i int, c *Challenge) error {
	want := p.nodes[i]
	for _, f := range []struct {
		name string
		path *MerklePath
	}{{"proof_r_old", &c.ROld}, {"proof_d_new", &c.DNew}, {"proof_r_new", &c.RNew}} {
		got := f.path.Index()
		if k := got >> p.params.drawnBits(); k != uint64(p.k) {
			return p.fail(i, field(i, f.name), ErrPartition, "path of node %d, which is in partition %d", got, k)
		}
		if got != want {
			return p.fail(i, field(i, f.name), ErrChallenge, "path of node %d, want %d", got, want)
		}
	}
	return nil
}

// roots checks that all challenges are in the same three trees.
func (p *partition) roots(i int, c *Challenge) error {
	first := &p.proof.Challenges[0]
	for _, f := range []struct {
		name      string
		shape     Shape
		got, want fr.Element
	}{
		{"proof_r_old", p.params.Shape, c.ROld.Root, first.ROld.Root},
		{"proof_d_new", p.params.DataShape(), c.DNew.Root, p.commDNew},
		{"proof_r_new", p.params.Shape, c.RNew.Root, first.RNew.Root},
	} {
		if f.got != f.want {
			return p.fail(i, rootField(i, f.name, f.shape), ErrRoot, "%s, want %s", show(f.got), show(f.want))
		}
	}
	return nil
}

// encoding checks the new leaf (§7.7).
func (p *partition) encoding(i int, c *Challenge) error {
	got, want := c.RNew.Leaf, p.newLeaf(i, c, p.params.H)
	if got == want {
		return nil
	}
	at := field(i, "proof_r_new") + ".data." + p.params.Shape.Variant() + ".leaf"
	for _, h := range p.params.Heights {
		if got == p.newLeaf(i, c, h) {
			return p.fail(i, at, ErrHeight, "h is %d, want %d", h, p.params.H)
		}
	}
	return p.fail(i, at, ErrLabel, "%s, want %s", show(got), show(want))
}

// newLeaf is what the old leaf and the data make with a value of h.
func (p *partition) newLeaf(i int, c *Challenge, h int) fr.Element {
	leaf := p.rho(p.nodes[i], h)
	leaf.Mul(&leaf, &c.DNew.Leaf)
	return *leaf.Add(&leaf, &c.ROld.Leaf)
}

// data checks a path in the data tree and that it passes through its apex leaf. The circuit takes the
// path above the partition from the first challenge, so the others must have the same.
func (p *partition) data(i int, c *Challenge) error {
	if p.params.Variant != Sha256 {
		return nil
	}
	if got := c.DNew.Climb(gadget.HashData); got != p.commDNew {
		return p.fail(i, field(i, "proof_d_new"), ErrPath, "%s, comm_d_new %s", show(got), show(p.commDNew))
	}
	first := p.proof.Challenges[0].DNew.Levels
	for level := p.params.drawnBits(); level < len(first); level++ {
		if c.DNew.Levels[level].Siblings[0] != first[level].Siblings[0] {
			return p.fail(i, field(i, "proof_d_new"), ErrPartitionPath, "level %d", level)
		}
	}
	at := p.params.subtreeLevels()
	leaf := int(p.nodes[i]>>at) & (p.params.ApexLeaves - 1)
	if got := c.DNew.Node(at, gadget.HashData); got != p.proof.ApexLeaves[leaf] {
		return p.fail(i, fmt.Sprintf("apex_leafs[%d]", leaf), ErrApex, "%s, want %s", show(p.proof.ApexLeaves[leaf]), show(got))
	}
	return nil
}

// apex checks that the apex leaves are under comm_d_new.
func (p *partition) apex() error {
	if p.params.Variant != Sha256 {
		return nil
	}
	row := append([]fr.Element(nil), p.proof.ApexLeaves...)
	for ; len(row) > 1; row = row[:len(row)/2] {
		for i := range len(row) / 2 {
			row[i] = gadget.HashData(row[2*i : 2*i+2])
		}
	}
	upper := MerklePath{Leaf: row[0], Levels: p.proof.Challenges[0].DNew.Levels[p.params.drawnBits():]}
	if got := upper.Climb(gadget.HashData); got != p.commDNew {
		return p.fail(-1, "apex_leafs", ErrApex, "they lead to %s, comm_d_new %s", show(got), show(p.commDNew))
	}
	return nil
}

// checkHashes checks the hashes of the sealed trees, challenge by challenge.
func checkHashes(ctx context.Context, all []*partition, workers int) error {
	per := all[0].params.Challenges
	return vanilla.FirstError(ctx, len(all)*per, workers, func(n int) error {
		p, i := all[n/per], n%per
		return p.paths(i, &p.proof.Challenges[i])
	})
}

func (p *partition) paths(i int, c *Challenge) error {
	list := []struct {
		name string
		path *MerklePath
	}{{"proof_r_old", &c.ROld}, {"proof_r_new", &c.RNew}, {"proof_d_new", &c.DNew}}
	if p.params.Variant == Sha256 {
		list = list[:2] // the data tree has been looked at
	}
	for _, f := range list {
		if got := f.path.Climb(gadget.HashSealed); got != f.path.Root {
			return p.fail(i, field(i, f.name), ErrPath, "%s, root %s", show(got), show(f.path.Root))
		}
	}
	return nil
}

// commitments checks the commitments against the roots of the first challenge, with which [partition.roots] compares the
// others'.
func (p *partition) commitments() error {
	first := &p.proof.Challenges[0]
	for _, f := range []struct {
		name       string
		root, want fr.Element
	}{{"comm_r_old", first.ROld.Root, p.commROld}, {"comm_r_new", first.RNew.Root, p.commRNew}} {
		if got := gadget.HashSealed([]fr.Element{p.proof.CommC, f.root}); got != f.want {
			return p.fail(-1, f.name, ErrCommR, "%s, hash of comm_c and the root %s", show(f.want), show(got))
		}
	}
	return nil
}

// show is an element for an error: as in the vanilla proof, least significant byte first.
func show(e fr.Element) string { return fmt.Sprintf("%x", vanilla.Bytes(e)) }
