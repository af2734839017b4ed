package update

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/pce"
)

// Circuit is one partition of an empty sector update (§7.3), or the Poseidon variant of the whole
// (§7.9).
type Circuit struct {
	Params             Params
	Partition          int
	CommROld, CommRNew fr.Element
	CommDNew           fr.Element
	// Vanilla is the partition's vanilla proof. The roots of the sealed trees and the path from the
	// partition's part of the data tree to its root are those of the first challenge.
	Vanilla Vanilla
	// Public are the public inputs computed natively from what a verifier knows, without ONE. They are
	// nil in a blank circuit.
	Public []fr.Element

	origin *partition // what the circuit was made from; nil if it was put together by hand
}

// Blank is a circuit without values, for recording and key generation. With parameters that are not valid it is one that
// Synthesize refuses.
func Blank(p Params) *Circuit {
	if p.Validate() != nil {
		return &Circuit{Params: p}
	}
	c := &Circuit{Params: p, Vanilla: Vanilla{
		ApexLeaves: make([]fr.Element, p.ApexLeaves), Challenges: make([]Challenge, p.Challenges),
	}}
	sealed, data := gadget.BlankPath(p.Levels()), gadget.BlankPath(p.DataLevels())
	for i := range c.Vanilla.Challenges {
		c.Vanilla.Challenges[i] = Challenge{ROld: sealed, DNew: data, RNew: sealed}
	}
	return c
}

// Circuits are the circuits of all partitions of s, in order, with their witnesses and public inputs.
// They share the vanilla proofs' memory. They are satisfied if [Statement.Check] is content; Circuits
// itself makes all its checks but those of the sealed trees' paths, which [Circuit.Witness] makes up
// for.
//
// Errors as for [Statement.Check].
func (s *Statement) Circuits(proofs []*Vanilla) ([]*Circuit, error) {
	c, err := s.match(proofs)
	if err != nil {
		return nil, err
	}
	out := make([]*Circuit, len(proofs))
	for k, v := range proofs {
		out[k] = c.partition(k, v).circuit()
	}
	return out, nil
}

// Circuit is the circuit of partition k alone. Errors as for [Statement.CheckPartition].
func (s *Statement) Circuit(k int, v *Vanilla) (*Circuit, error) {
	p, err := s.matchPartition(k, v)
	if err != nil {
		return nil, err
	}
	return p.circuit(), nil
}

func (p *partition) circuit() *Circuit {
	return &Circuit{
		Params: p.params, Partition: p.k, CommROld: p.commROld, CommRNew: p.commRNew, CommDNew: p.commDNew,
		Vanilla: *p.proof, Public: p.publicInputs(p.k), origin: p,
	}
}

// Name names the constraint system and its key, for instance "update-32GiB". That of nil is empty.
func (c *Circuit) Name() string {
	if c == nil {
		return ""
	}
	return c.Params.Name()
}

// ErrBlank reports that a blank circuit was asked for its statement.
var ErrBlank = errors.New("update: blank circuit has no public inputs")

// PublicInputs are the statement's public inputs without ONE (§7.2).
func (c *Circuit) PublicInputs() ([]fr.Element, error) {
	if c == nil || c.Public == nil {
		return nil, ErrBlank
	}
	return c.Public, nil
}

// Witness makes the witness, in which every hash meets the value that the vanilla proofs have for it:
// together with what [Statement.Circuits] has looked at before, this is [Statement.Check] without
// hashing a sealed tree twice. If a value is wrong, the native check is run to name it.
//
// # Errors
//
// A [CheckError] as from [Statement.CheckPartition] for circuits that a Statement made; those of
// pce.MakeWitness.
func (c *Circuit) Witness(ctx context.Context, o *pce.WitnessOptions) (*pce.Witness, error) {
	w, err := pce.MakeWitness(ctx, c.Synthesize, o)
	if err == nil || c == nil || c.origin == nil || ctx.Err() != nil {
		return w, err
	}
	if e := checkHashes(ctx, []*partition{c.origin}, 0); e != nil {
		return nil, e
	}
	return nil, err
}

// validate makes sure that the vanilla proof has the shape that the parameters demand, because rows
// follow from the shape.
func (c *Circuit) validate() error {
	if c == nil {
		return ErrNil
	}
	p := c.Params
	if err := p.Validate(); err != nil {
		return err
	}
	if c.Partition < 0 || c.Partition >= p.Partitions {
		return fmt.Errorf("%w: %s: %d of %d", ErrNoPartition, p.Name(), c.Partition, p.Partitions)
	}
	if err := c.Vanilla.validate(p); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrShape, p.Name(), err)
	}
	return nil
}
