package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Statement is what the chain knows about a sealed sector: the arguments of VerifySeal without the
// proof. Commitments are as in the APIs, 32 bytes little-endian.
type Statement struct {
	Proof        RegisteredProof
	ProverID     [32]byte // see [ProverID]
	SectorNumber uint64
	Ticket       [32]byte // sealing randomness
	Seed         [32]byte // interactive randomness
	CommR, CommD [32]byte

	// Params override the parameters that Proof has, for test sectors of other sizes. Nil: those of
	// Proof.
	Params *Params
}

// ProverID is the 32 bytes that stand for a miner: the actor id in unsigned LEB128, then zeros (spec
// §8.5).
func ProverID(actor uint64) [32]byte {
	var id [32]byte
	binary.PutUvarint(id[:], actor)
	return id
}

// Validate refuses statements that no proof can have, as the reference's verifier does: commitments of all zero bytes,
// commitments that are not field elements, unknown and unsupported registered proofs, impossible Params. A seed of all zero
// bytes is refused only where a proof is made.
//
// # Errors
//
// A [FieldError] that wraps [ErrZero] or [ErrNonCanonical]; an error that wraps [ErrNil], [ErrProofType],
// [ErrUnsupported] or [ErrParams].
func (s *Statement) Validate() error {
	_, err := s.claim()
	return err
}

// ReplicaID is the identity of the replica, from which its labels and challenges follow: SHA-256 of
// prover id, sector number (big-endian), ticket, comm_d and PoRep id, the top two bits cleared. That of nil is zero.
func (s *Statement) ReplicaID() [32]byte {
	if s == nil {
		return [32]byte{}
	}
	h := sha256.New()
	h.Write(s.ProverID[:])
	h.Write(binary.BigEndian.AppendUint64(nil, s.SectorNumber))
	h.Write(s.Ticket[:])
	h.Write(s.CommD[:])
	id := s.Proof.PoRepID()
	h.Write(id[:])
	var sum [32]byte
	h.Sum(sum[:0])
	sum[31] &= 0x3f
	return sum
}

// Challenges are the challenged nodes of each partition. Errors as for [Statement.Validate].
func (s *Statement) Challenges() ([][]uint64, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	out := make([][]uint64, c.params.Partitions)
	for k := range out {
		out[k] = c.challenger.challenges(k, c.params.Challenges)
	}
	return out, nil
}

// PublicInputs are the public inputs of each partition without ONE, in the order of the circuit
// (spec §5.5): what a verifier computes from chain values alone. Errors as for [Statement.Validate].
func (s *Statement) PublicInputs() ([][]fr.Element, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	return c.publicInputs(), nil
}

// claim validates the statement and resolves it.
func (s *Statement) claim() (*claim, error) {
	if s == nil {
		return nil, ErrNil
	}
	return newClaim(s.Proof, s.Params, s.ReplicaID(), s.CommR, s.CommD, s.Seed)
}

// claim is a validated statement in the form that a phase-1 output has too: by its replica id.
type claim struct {
	params                  Params
	replicaID, commR, commD fr.Element
	challenger              challenger
	graph                   *graph
}

// newClaim checks the values and derives the rules for challenges and parents. params may be nil.
func newClaim(p RegisteredProof, params *Params, replicaID, commR, commD, seed [32]byte) (*claim, error) {
	if err := p.Supported(); err != nil {
		return nil, err
	}
	c := &claim{}
	if err := c.setParams(p, params); err != nil {
		return nil, err
	}
	var err error
	if c.replicaID, err = canonical("replica_id", replicaID); err != nil {
		return nil, err
	}
	if c.commR, err = commitment("comm_r", commR); err != nil {
		return nil, err
	}
	if c.commD, err = commitment("comm_d", commD); err != nil {
		return nil, err
	}
	nodes := c.params.Nodes()
	c.graph = newGraph(p, nodes)
	c.challenger = interactive{nodes: nodes, replicaID: replicaID, seed: seed}
	if p.Feature() == Synthetic {
		c.challenger = newSynthetic(nodes, &replicaID, &commR, &seed)
	}
	return c, nil
}

// setParams takes the override, if there is one, or the parameters of p.
func (c *claim) setParams(p RegisteredProof, override *Params) (err error) {
	if override == nil {
		c.params, err = p.Params()
		return err
	}
	c.params = *override
	return override.Validate()
}

// expected is what a partition must show for one challenge.
type expected struct {
	node    uint64
	parents [parents]uint64
}

// expect lists what partition k must show.
func (c *claim) expect(k int) []expected {
	out := make([]expected, c.params.Challenges)
	for i, node := range c.challenger.challenges(k, c.params.Challenges) {
		out[i] = expected{node: node, parents: c.graph.parents(node)}
	}
	return out
}

// publicInputs of all partitions.
func (c *claim) publicInputs() [][]fr.Element {
	out := make([][]fr.Element, c.params.Partitions)
	for k := range out {
		out[k] = c.partitionInputs(k)
	}
	return out
}

// partitionInputs are the public inputs of partition k: the statement, then for each challenge the
// indices of its inclusion paths in the order of the circuit.
func (c *claim) partitionInputs(k int) []fr.Element {
	in := make([]fr.Element, 0, c.params.PublicInputCount())
	in = append(in, c.replicaID, c.commD, c.commR)
	for _, e := range c.expect(k) {
		node := fr.NewElement(e.node)
		in = append(in, node) // tree D
		for _, parent := range e.parents {
			in = append(in, fr.NewElement(parent))
		}
		in = append(in, node, node, node) // the challenge itself, trees R and C
	}
	return in
}

// commitment is a canonical element that is not zero.
func commitment(field string, b [32]byte) (fr.Element, error) {
	if b == ([32]byte{}) {
		return fr.Element{}, &FieldError{Field: field, Err: ErrZero}
	}
	return canonical(field, b)
}

// canonical reads a field element, 32 bytes little-endian.
func canonical(field string, b [32]byte) (fr.Element, error) {
	e, err := fr.LittleEndian.Element(&b)
	if err != nil {
		return e, &FieldError{Field: field, Err: fmt.Errorf("%w: %x", ErrNonCanonical, b)}
	}
	return e, nil
}
