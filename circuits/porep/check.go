package porep

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// Check computes everything that the circuits of c will assert, without a circuit: that each
// partition shows the nodes that the statement challenges, and for each of them that
//
//   - its data leaf is in tree D under comm_d, its column in tree C, its encoding in tree R;
//   - its parents are those of the graph, and their columns are in tree C;
//   - its labels follow from the replica id and the parents' labels, layer by layer;
//   - the encoding is the last label plus the data;
//   - the roots are the same for the whole partition, and comm_r is the hash of both.
//
// A document that passes gives satisfied circuits. workers bounds the goroutines; 0 or less means one
// per CPU. Cost: about 20 ms of one core for a challenge of 32 GiB.
//
// # Errors
//
// A [CheckError] that names the first partition, challenge and field that is wrong and wraps a
// sentinel of this package; for values that no statement has, the errors of [Statement.Validate];
// context.Cause(ctx) if ctx ends first.
func (c *C1) Check(ctx context.Context, workers int) error {
	if c == nil {
		return ErrNil
	}
	return c.check(ctx, 0, len(c.Partitions), workers)
}

// CheckPartition is [C1.Check] for partition k alone. A partition that is not there answers an error
// that wraps [ErrCount].
func (c *C1) CheckPartition(ctx context.Context, k, workers int) error {
	if c == nil {
		return ErrNil
	}
	if k < 0 || k >= len(c.Partitions) {
		return fmt.Errorf("%w: no partition %d of %d", ErrCount, k, len(c.Partitions))
	}
	return c.check(ctx, k, k+1, workers)
}

// check partitions from ≤ k < to.
func (c *C1) check(ctx context.Context, from, to, workers int) error {
	cl, err := c.claim()
	if err != nil {
		return err
	}
	if err := c.shaped(); err != nil {
		return err
	}
	var tasks []checker
	for k := from; k < to; k++ {
		p := c.Partitions[k]
		want := cl.expect(k)
		common := &roots{claim: cl, commC: p[0].CPath.Root, commRLast: p[0].RPath.Root}
		for i := range p {
			tasks = append(tasks, checker{roots: common, partition: k, index: i, proof: &p[i], want: want[i]})
		}
	}
	return vanilla.FirstError(ctx, len(tasks), workers, func(i int) error { return tasks[i].run() })
}

// shaped makes sure that a C1 that was not decoded but built has the shape of its parameters.
func (c *C1) shaped() error {
	if len(c.Partitions) != c.Params.Partitions {
		return fmt.Errorf("%w: %d partitions, want %d", ErrCount, len(c.Partitions), c.Params.Partitions)
	}
	for k, p := range c.Partitions {
		if len(p) != c.Params.Challenges {
			return fmt.Errorf("%w: partition %d: %d challenges, want %d", ErrCount, k, len(p), c.Params.Challenges)
		}
		for i := range p {
			err := p[i].validate(c.Params)
			if n := len(p[i].Labels); err == nil && n != 0 && n != c.Params.Layers {
				err = fmt.Errorf("%d labels, want %d", n, c.Params.Layers)
			}
			if err != nil {
				return fmt.Errorf("%w: partition %d challenge %d: %w", ErrCount, k, i, err)
			}
		}
	}
	return nil
}

// roots are what the proofs of one partition share.
type roots struct {
	*claim
	commC, commRLast fr.Element
}

// checker checks the vanilla proof of one challenge.
type checker struct {
	*roots
	partition, index int
	proof            *Challenge
	want             expected
}

// fail is a CheckError of this challenge.
func (c *checker) fail(field string, sentinel error, format string, args ...any) error {
	return &CheckError{
		Partition: c.partition, Challenge: c.index, Field: field,
		Err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...)),
	}
}

// run checks everything. The paths come first: they hold by themselves, so that whatever breaks one of
// them is in it, and the relations between fields are looked at with sound fields.
func (c *checker) run() error {
	p := c.proof
	if p.Node != c.want.node {
		return c.fail("labeling_proofs[0].node", ErrChallenge, "%d, want %d by replica_id and seed", p.Node, c.want.node)
	}
	if err := c.ownPaths(); err != nil {
		return err
	}
	for i := range p.Drg {
		if err := c.parent("drg_parents", i, &p.Drg[i], c.want.parents[i]); err != nil {
			return err
		}
	}
	for i := range p.Exp {
		if err := c.parent("exp_parents", i, &p.Exp[i], c.want.parents[drgDegree+i]); err != nil {
			return err
		}
	}
	if err := c.commitments(); err != nil {
		return err
	}
	return c.labels()
}

// ownPaths checks the three paths of the challenged node.
func (c *checker) ownPaths() error {
	p := c.proof
	if err := c.path("comm_d_proofs", &p.DPath, c.treeD(), p.Node, ErrChallenge); err != nil {
		return err
	}
	if err := c.path("comm_r_last_proof", &p.RPath, c.treeR(), p.Node, ErrChallenge); err != nil {
		return err
	}
	return c.path("replica_column_proofs.c_x.inclusion_proof", &p.CPath, c.treeC(), p.Node, ErrChallenge)
}

// parent checks that column i of a list is that of the parent want and is in tree C.
func (c *checker) parent(list string, i int, col *Column, want uint64) error {
	field := fmt.Sprintf("replica_column_proofs.%s[%d]", list, i)
	if col.Node != want {
		return c.fail(field+".column.index", ErrParent, "%d, want %d", col.Node, want)
	}
	if err := c.path(field+".inclusion_proof", &col.Path, c.treeC(), want, ErrParent); err != nil {
		return err
	}
	if got := gadget.HashSealed(col.Rows); got != col.Path.Leaf {
		return c.fail(field+".column.rows", ErrColumn, "%s, leaf %s", show(got), show(col.Path.Leaf))
	}
	return nil
}

// tree is one of the three trees.
type tree struct {
	root     fr.Element
	rootName string
	variant  string // of its paths in the document
	hash     func(children []fr.Element) fr.Element
}

func (c *checker) treeD() tree {
	return tree{root: c.commD, rootName: "comm_d", variant: Shape{Base: 2}.Variant(), hash: gadget.HashData}
}

func (c *checker) treeC() tree {
	return tree{root: c.commC, rootName: "comm_c", variant: c.params.Shape.Variant(), hash: gadget.HashSealed}
}

func (c *checker) treeR() tree {
	return tree{root: c.commRLast, rootName: "comm_r_last", variant: c.params.Shape.Variant(), hash: gadget.HashSealed}
}

// path checks that m leads from its leaf at node want to its root, and that the root is that of the
// tree. wrongNode is the sentinel for another node's path.
func (c *checker) path(field string, m *MerklePath, t tree, want uint64, wrongNode error) error {
	if got := m.Index(); got != want {
		return c.fail(field, wrongNode, "path of node %d, want %d", got, want)
	}
	if got := m.Climb(t.hash); got != m.Root {
		return c.fail(field, ErrPath, "%s, root %s", show(got), show(m.Root))
	}
	if m.Root != t.root {
		return c.fail(t.field(field, "root"), ErrRoot, "%s, %s is %s", show(m.Root), t.rootName, show(t.root))
	}
	return nil
}

// field is the way to a field of a path in the tree.
func (t tree) field(path, name string) string { return path + ".data." + t.variant + "." + name }

// commitments checks comm_r once for the partition.
func (c *checker) commitments() error {
	if c.index != 0 {
		return nil
	}
	if got := gadget.HashSealed([]fr.Element{c.commC, c.commRLast}); got != c.commR {
		return &CheckError{
			Partition: c.partition, Challenge: -1, Field: "comm_r",
			Err: fmt.Errorf("%w: %s, hash %s", ErrCommR, show(c.commR), show(got)),
		}
	}
	return nil
}

// show is an element for an error: as in the document, least significant byte first.
func show(e fr.Element) string {
	var b [fr.Bytes]byte
	fr.LittleEndian.PutElement(&b, e)
	return fmt.Sprintf("%x", b)
}
