package post

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// The way to parts of a vanilla proof.
const (
	sectorField = "vanilla_proof.sectors[0]"
)

func pathField(i int) string { return fmt.Sprintf("%s.inclusion_proofs[%d]", sectorField, i) }

// Check computes everything that the circuits of s will assert, without a circuit: that there is one
// vanilla proof for each sector of s, in the same order, and for each of them that
//
//   - its comm_r is that of the statement, and the hash of its comm_c and comm_r_last;
//   - its paths are those of the challenged leaves, and lead to comm_r_last.
//
// Vanilla proofs that pass give satisfied circuits. workers bounds the goroutines; 0 or less means one
// per CPU. Cost: about 10 ms of one core for a WindowPoSt sector of 32 GiB. [Circuit.Witness] does the same
// without computing a hash twice.
//
// # Errors
//
// A [CheckError] that names the first sector, challenge and field that is wrong and wraps a sentinel
// of this package; the errors of [Statement.Validate]; context.Cause(ctx) if ctx ends first.
func (s *Statement) Check(ctx context.Context, proofs []*Vanilla, workers int) error {
	c, err := s.match(proofs)
	if err != nil {
		return err
	}
	return vanilla.FirstError(ctx, len(proofs), workers, func(i int) error { return c.hashes(i, proofs[i]) })
}

// match validates the statement and everything of the vanilla proofs that costs no Poseidon hash: which
// sectors and leaves they are about.
func (s *Statement) match(proofs []*Vanilla) (*claim, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	if err := c.sectors(proofs); err != nil {
		return nil, err
	}
	levels := c.params.Levels()
	for i, v := range proofs {
		if err := v.validate(c.params, levels); err != nil {
			return nil, c.fail(i, -1, sectorField, ErrShape, "%v", err)
		}
		if err := c.leaves(i, v); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// sectors makes sure that there is one vanilla proof for each sector of the statement, in its order.
func (c *claim) sectors(proofs []*Vanilla) error {
	for i, v := range proofs {
		switch {
		case v == nil:
			return fmt.Errorf("%w: vanilla proof %d is nil", ErrShape, i)
		case i >= len(c.Sectors):
			return c.stranger(i, v)
		case v.SectorID != c.Sectors[i].ID:
			return c.mismatch(i, v)
		case v.CommR != c.commR[i]:
			return c.fail(i, -1, "comm_r", ErrCommR, "%s, statement %s", show(v.CommR), show(c.commR[i]))
		}
	}
	if n := len(proofs); n < len(c.Sectors) {
		return c.sectorError(n, ErrSkipped, "%d vanilla proofs for %d sectors", n, len(c.Sectors))
	}
	return nil
}

// mismatch says why vanilla proof i is not that of sector number i. Both lists ascend.
func (c *claim) mismatch(i int, v *Vanilla) error {
	want := c.Sectors[i].ID
	if v.SectorID > want && c.has(v.SectorID) {
		return c.sectorError(i, ErrSkipped, "vanilla proof %d is of sector %d", i, v.SectorID)
	}
	return c.stranger(i, v)
}

// stranger says why there is no place for vanilla proof i.
func (c *claim) stranger(i int, v *Vanilla) error {
	e := &CheckError{Sector: i, SectorID: v.SectorID, Challenge: -1, Field: "sector_id"}
	if c.has(v.SectorID) {
		e.Err = fmt.Errorf("%w: vanilla proof %d", ErrDuplicate, i)
	} else {
		e.Err = fmt.Errorf("%w: vanilla proof %d", ErrSector, i)
	}
	return e
}

func (c *claim) has(id uint64) bool {
	for _, s := range c.Sectors {
		if s.ID == id {
			return true
		}
	}
	return false
}

// leaves checks that the paths are those of the challenged leaves in the tree with root comm_r_last.
func (c *claim) leaves(i int, v *Vanilla) error {
	for n, want := range c.challenges(i) {
		if got := v.Paths[n].Index(); got != want {
			if k, ok := c.answered(i, v); ok {
				return c.fail(i, n, pathField(n), ErrOtherPartition, "partition %d", k)
			}
			return c.fail(i, n, pathField(n), ErrChallenge, "path of leaf %d, want %d", got, want)
		}
		if got := v.Paths[n].Root; got != v.CommRLast {
			field := pathField(n) + ".data." + c.params.Shape.Variant() + ".root"
			return c.fail(i, n, field, ErrRoot, "%s, comm_r_last %s", show(got), show(v.CommRLast))
		}
	}
	return nil
}

// maxSearched is among how many partitions answered looks; a deadline has far fewer.
const maxSearched = 128

// answered is the partition whose challenges the vanilla proof of sector number i answers, if there is one. Only in API
// 1.0.0 do challenges depend on the partition.
func (c *claim) answered(i int, v *Vanilla) (partition int, ok bool) {
	if c.params.Kind != Window || c.Proof.APIVersion() != APIv1_0 {
		return 0, false
	}
	per := c.params.SectorsPerPartition()
	for k := range maxSearched {
		if answers(v, c.challengesAt(i, k*per+i%per)) {
			return k, true
		}
	}
	return 0, false
}

// answers tells whether the paths of v are those of the given leaves.
func answers(v *Vanilla, leaves []uint64) bool {
	for n := range leaves {
		if v.Paths[n].Index() != leaves[n] {
			return false
		}
	}
	return true
}

// hashes checks the paths, then comm_r: whatever breaks a path is in it, and the relation between the
// commitments is looked at with a sound root.
func (c *claim) hashes(i int, v *Vanilla) error {
	for n := range v.Paths {
		if got := v.Paths[n].Climb(gadget.HashSealed); got != v.CommRLast {
			return c.fail(i, n, pathField(n), ErrPath, "%s, comm_r_last %s", show(got), show(v.CommRLast))
		}
	}
	if got := gadget.HashSealed([]fr.Element{v.CommC, v.CommRLast}); got != v.CommR {
		return c.fail(i, -1, "comm_r", ErrCommR, "%s, hash of comm_c and comm_r_last %s", show(v.CommR), show(got))
	}
	return nil
}

// show is an element for an error: as in the vanilla proof, least significant byte first.
func show(e fr.Element) string { return fmt.Sprintf("%x", vanilla.Bytes(e)) }
