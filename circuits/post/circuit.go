package post

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/internal/vanilla"
	"github.com/gocuzk/cuzk/pce"
)

// Circuit is one partition of a proof of spacetime (§6.2).
type Circuit struct {
	Params  Params
	Sectors []SectorProof // Params.Sectors of them
	// Public are the public inputs computed natively from what a verifier knows, without ONE. They are
	// nil in a blank circuit.
	Public []fr.Element

	origin *origin // what the sectors were taken from; nil if the circuit was put together by hand
}

// SectorProof is what the circuit has at one of its places: a sector with Params.Challenges of its
// paths.
type SectorProof struct {
	CommR, CommC, CommRLast fr.Element
	Paths                   []MerklePath
}

// origin leads from places in the circuit back to the statement.
type origin struct {
	claim  *claim
	proofs []*Vanilla
	slots  []slot
}

// Blank is a circuit without values, for recording and key generation. With parameters that are not valid it is one that
// Synthesize refuses.
func Blank(p Params) *Circuit {
	if p.Validate() != nil {
		return &Circuit{Params: p}
	}
	c := &Circuit{Params: p, Sectors: make([]SectorProof, p.Sectors)}
	path := gadget.BlankPath(p.Levels())
	paths := make([]MerklePath, p.Challenges)
	for i := range paths {
		paths[i] = path
	}
	for i := range c.Sectors {
		c.Sectors[i].Paths = paths
	}
	return c
}

// Circuits are the circuits of all partitions of s, in order, with their witnesses and public inputs.
// They share the vanilla proofs' memory. They are satisfied if [Statement.Check] is content; Circuits
// itself makes all its checks but those of hashes, which [Circuit.Witness] makes up for.
//
// Errors as for [Statement.Check].
func (s *Statement) Circuits(proofs []*Vanilla) ([]*Circuit, error) {
	c, err := s.match(proofs)
	if err != nil {
		return nil, err
	}
	out := make([]*Circuit, c.partitions)
	for k := range out {
		o := &origin{claim: c, proofs: proofs, slots: c.slots(k)}
		out[k] = &Circuit{Params: c.params, Sectors: make([]SectorProof, len(o.slots)), Public: c.partitionInputs(k), origin: o}
		for i, p := range o.slots {
			v := proofs[p.sector]
			out[k].Sectors[i] = SectorProof{CommR: v.CommR, CommC: v.CommC, CommRLast: v.CommRLast, Paths: v.Paths[p.from:p.to]}
		}
	}
	return out, nil
}

// Name names the constraint system and its key, for instance "window-post-32GiB". That of nil is empty.
func (c *Circuit) Name() string {
	if c == nil {
		return ""
	}
	return c.Params.Name()
}

// ErrBlank reports that a blank circuit was asked for its statement.
var ErrBlank = errors.New("post: blank circuit has no public inputs")

// PublicInputs are the statement's public inputs without ONE (§6.3).
func (c *Circuit) PublicInputs() ([]fr.Element, error) {
	if c == nil || c.Public == nil {
		return nil, ErrBlank
	}
	return c.Public, nil
}

// Witness makes the witness, in which every hash meets the value that the vanilla proofs have for it:
// together with what [Statement.Circuits] has looked at before, this is [Statement.Check] without
// hashing anything twice. If a value is wrong, the native check is run to name it.
//
// # Errors
//
// A [CheckError] as from [Statement.Check] for circuits that Statement.Circuits made; those of
// pce.MakeWitness.
func (c *Circuit) Witness(ctx context.Context, o *pce.WitnessOptions) (*pce.Witness, error) {
	w, err := pce.MakeWitness(ctx, c.Synthesize, o)
	if err == nil || c == nil || c.origin == nil || ctx.Err() != nil {
		return w, err
	}
	if e := c.origin.check(ctx); e != nil {
		return nil, e
	}
	return nil, err
}

// check is the native check of the hashes of the circuit's sectors.
func (o *origin) check(ctx context.Context) error {
	first, last := o.slots[0].sector, o.slots[len(o.slots)-1].sector
	return vanilla.FirstError(ctx, last-first+1, 0, func(i int) error {
		return o.claim.hashes(first+i, o.proofs[first+i])
	})
}

// Synthesize describes the partition (§6.2).
func (c *Circuit) Synthesize(b pce.Builder) error {
	if err := c.validate(); err != nil {
		return err
	}
	b.Blocks("sector", len(c.Sectors),
		func(int) []pce.Arg { return nil },
		func(b pce.Builder, i int, _ []pce.Arg) []pce.Arg {
			c.Sectors[i].synthesize(b)
			return nil
		})
	return nil
}

// synthesize is §6.2, S1–S5.
func (s *SectorProof) synthesize(b pce.Builder) {
	commRLast := b.Alloc(s.CommRLast)
	commC := b.Alloc(s.CommC)
	commR := b.Alloc(s.CommR)
	b.Inputize(commR)
	b.Equal(commR, gadget.Poseidon(b, poseidon.ForArity(2), []pce.Num{commC, commRLast}))
	for i := range s.Paths {
		leaf := b.Alloc(s.Paths[i].Leaf)
		gadget.Inclusion(b, gadget.PoseidonTree(), leaf, s.Paths[i].Levels, commRLast)
	}
}

// validate makes sure that the vanilla proofs have the shape that the parameters demand, because rows
// follow from the shape.
func (c *Circuit) validate() error {
	if c == nil {
		return ErrNil
	}
	p := c.Params
	if err := p.Validate(); err != nil {
		return err
	}
	if len(c.Sectors) != p.Sectors {
		return fmt.Errorf("%w: %s: %d sectors, want %d", ErrShape, p.Name(), len(c.Sectors), p.Sectors)
	}
	levels := p.Levels()
	for i := range c.Sectors {
		if n := len(c.Sectors[i].Paths); n != p.Challenges {
			return fmt.Errorf("%w: %s: sector %d: %d inclusion proofs, want %d", ErrShape, p.Name(), i, n, p.Challenges)
		}
		for k := range c.Sectors[i].Paths {
			if err := c.Sectors[i].Paths[k].Validate(levels); err != nil {
				return fmt.Errorf("%w: %s: sector %d: inclusion proof %d: %w", ErrShape, p.Name(), i, k, err)
			}
		}
	}
	return nil
}
