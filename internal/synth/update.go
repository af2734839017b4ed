package synth

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/internal/poseidon"
)

// Update makes the vanilla proofs of all partitions of an empty sector update, and its statement. Old
// replica and data are random but the same in each stretch of nodes that have one factor rho, 1,024 of
// them in a production sector, so that the new replica is known as a whole: the challenges depend on
// all of it. params may be nil; they also choose the Poseidon variant. It takes about two seconds for
// 32 GiB.
//
// It returns the errors of update.Statement.Validate, and context.Cause(ctx) within milliseconds if ctx ends first.
func Update(
	ctx context.Context, proof update.RegisteredProof, params *update.Params, seed uint64,
) (*update.Statement, []*update.Vanilla, error) {
	s := &update.Statement{Proof: proof, Params: params}
	if err := s.Validate(); err != nil {
		return nil, nil, failed(ctx, err)
	}
	u := &updated{}
	if params != nil {
		u.params = *params
	} else {
		var err error
		if u.params, err = proof.Params(); err != nil {
			return nil, nil, failed(ctx, err)
		}
	}
	if err := u.encode(ctx, seed); err != nil {
		return nil, nil, failed(ctx, err)
	}
	s.CommROld, s.CommRNew, s.CommDNew = toBytes(u.commR(u.old)), toBytes(u.commR(u.new)), toBytes(u.data.root())
	challenges, err := s.Challenges()
	if err != nil {
		return nil, nil, failed(ctx, err)
	}
	out := make([]*update.Vanilla, len(challenges))
	for k, nodes := range challenges {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		out[k] = u.partition(k, nodes)
	}
	return s, out, nil
}

// updated is a sector before and after the update.
type updated struct {
	params         update.Params
	commC          fr.Element
	old, new, data *stripedTree
}

// encode draws the old replica and the data and makes the new replica of them (spec §7.7).
func (u *updated) encode(ctx context.Context, seed uint64) (err error) {
	rng := newRand(seed, 0)
	u.commC = element(rng)
	n := 1 << u.params.H
	old, data, encoded := make([]fr.Element, n), make([]fr.Element, n), make([]fr.Element, n)
	for i := range old {
		old[i], data[i] = element(rng), element(rng)
	}
	hash := gadget.HashData
	if u.params.Variant == update.Poseidon {
		hash = gadget.HashSealed
	}
	if u.old, err = newStripedTree(ctx, u.params.Levels(), old, gadget.HashSealed); err != nil {
		return err
	}
	if u.data, err = newStripedTree(ctx, u.params.DataLevels(), data, hash); err != nil {
		return err
	}
	random := poseidon.WithTag(2, poseidon.GenRandomnessTag)
	phi := random.Hash([]fr.Element{u.data.root(), u.commR(u.old)})
	for i := range encoded {
		rho := random.Hash([]fr.Element{phi, fr.NewElement(uint64(i))})
		encoded[i].Add(&old[i], rho.Mul(&rho, &data[i]))
	}
	u.new, err = newStripedTree(ctx, u.params.Levels(), encoded, gadget.HashSealed)
	return err
}

// commR is the commitment to a sealed tree.
func (u *updated) commR(t *stripedTree) fr.Element {
	return gadget.HashSealed([]fr.Element{u.commC, t.root()})
}

// partition is the vanilla proof of partition k.
func (u *updated) partition(k int, nodes []uint64) *update.Vanilla {
	v := &update.Vanilla{CommC: u.commC}
	if n := u.params.ApexLeaves; n > 0 {
		level := u.params.LogNodes() - log2(u.params.Partitions) - log2(n)
		for i := range n {
			v.ApexLeaves = append(v.ApexLeaves, u.data.at(level, uint64(k*n+i)))
		}
	}
	for _, node := range nodes {
		v.Challenges = append(v.Challenges, update.Challenge{ROld: u.old.path(node), DNew: u.data.path(node), RNew: u.new.path(node)})
	}
	return v
}
