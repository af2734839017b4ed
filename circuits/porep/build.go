package porep

import (
	"context"
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/pce"
)

// claim validates the statement of c.
func (c *C1) claim() (*claim, error) {
	if c == nil {
		return nil, ErrNil
	}
	if c.Seed == [32]byte{} { // the reference's prover refuses it, its verifier does not
		return nil, &FieldError{Field: "seed", Err: ErrZero}
	}
	return newClaim(c.Proof, &c.Params, c.ReplicaID, c.CommR, c.CommD, c.Seed)
}

// Statement is the statement that c proves, if it is of the given sector of the given miner. If it is
// not, the replica id differs and the error wraps [ErrReplicaID]; nil answers [ErrNil].
func (c *C1) Statement(actor, sector uint64) (*Statement, error) {
	if c == nil {
		return nil, ErrNil
	}
	params := c.Params
	s := &Statement{
		Proof: c.Proof, ProverID: ProverID(actor), SectorNumber: sector,
		Ticket: c.Ticket, Seed: c.Seed, CommR: c.CommR, CommD: c.CommD, Params: &params,
	}
	if got := s.ReplicaID(); got != c.ReplicaID {
		return nil, fmt.Errorf("%w: %x, but miner %d sector %d gives %x", ErrReplicaID, c.ReplicaID, actor, sector, got)
	}
	return s, nil
}

// PublicInputs are the public inputs of each partition without ONE, computed from the replica id, the
// commitments and the seed of c alone; the vanilla proofs have no part in them. Errors as for
// [Statement.Validate].
func (c *C1) PublicInputs() ([][]fr.Element, error) {
	cl, err := c.claim()
	if err != nil {
		return nil, err
	}
	return cl.publicInputs(), nil
}

// Circuits are the circuits of all partitions, in order, with their witnesses and public inputs. They
// share the vanilla proofs of c. They are satisfied if [C1.Check] is content; Circuits itself only
// checks that everything has the right shape.
//
// # Errors
//
// Those of [Statement.Validate]; an error that wraps [ErrCount] for a C1 that does not have the shape
// of its parameters, which decoding never gives.
func (c *C1) Circuits() ([]*Circuit, error) {
	cl, err := c.shapedClaim()
	if err != nil {
		return nil, err
	}
	out := make([]*Circuit, len(c.Partitions))
	for k := range out {
		out[k] = c.circuit(cl, k)
	}
	return out, nil
}

// shapedClaim validates the statement of c and its shape.
func (c *C1) shapedClaim() (*claim, error) {
	cl, err := c.claim()
	if err != nil {
		return nil, err
	}
	return cl, c.shaped()
}

// circuit is the circuit of partition k.
func (c *C1) circuit(cl *claim, k int) *Circuit {
	p := c.Partitions[k]
	return &Circuit{
		Params:    c.Params,
		ReplicaID: cl.replicaID, CommD: cl.commD, CommR: cl.commR,
		CommRLast: p[0].RPath.Root, CommC: p[0].CPath.Root,
		Challenges: p,
		Public:     cl.partitionInputs(k),
	}
}

// Witness makes the packed witness of partition k and checks it on the way: every root, label, column and
// encoding that the circuit asserts is computed once, for both. If one is wrong, or the paths are not those
// of the statement, the error is what [C1.CheckPartition] says, which names the field.
func (c *C1) Witness(ctx context.Context, k int, o *pce.WitnessOptions) (*pce.Witness, error) {
	cl, err := c.shapedClaim()
	if err != nil {
		return nil, err
	}
	if k < 0 || k >= len(c.Partitions) {
		return nil, fmt.Errorf("%w: partition %d of %d", ErrParams, k, len(c.Partitions))
	}
	circuit := c.circuit(cl, k)
	w, err := pce.MakeWitness(ctx, circuit.Synthesize, o)
	if err == nil && slices.Equal(w.Inputs[1:], circuit.Public) {
		return w, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if e := c.CheckPartition(ctx, k, 0); e != nil {
		return nil, e
	}
	if err == nil {
		err = fmt.Errorf("%w: public inputs differ from the statement's", pce.ErrUnsatisfied)
	}
	return nil, err
}
