package update

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// Statement is what the chain knows about an update: the arguments of VerifyReplicaUpdate without the
// proof. Commitments are as in the APIs, 32 bytes little-endian.
type Statement struct {
	Proof              RegisteredProof
	CommROld, CommRNew [32]byte
	CommDNew           [32]byte

	// Params override the parameters that Proof has, for test sectors of other sizes and for the
	// Poseidon variant. Nil: those of Proof.
	Params *Params
}

// Validate refuses statements that no proof can have: commitments that are not field elements, unknown
// registered proofs, impossible Params. A commitment of zero is a field element, as in the reference.
//
// # Errors
//
// A [FieldError] that wraps [ErrNonCanonical]; an error that wraps [ErrNil], [ErrProofType] or [ErrParams].
func (s *Statement) Validate() error {
	_, err := s.claim()
	return err
}

// PartitionCount is the number of partitions. Errors as for [Statement.Validate].
func (s *Statement) PartitionCount() (int, error) {
	c, err := s.claim()
	if err != nil {
		return 0, err
	}
	return c.params.Partitions, nil
}

// Challenges are the challenged nodes of each partition. Errors as for [Statement.Validate].
func (s *Statement) Challenges() ([][]uint64, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	out := make([][]uint64, c.params.Partitions)
	for k := range out {
		out[k] = c.challenges(k)
	}
	return out, nil
}

// PublicInputs are the public inputs of each partition without ONE, in the order of the circuit
// (§7.2): what a verifier computes from chain values alone. Errors as for [Statement.Validate].
func (s *Statement) PublicInputs() ([][]fr.Element, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	out := make([][]fr.Element, c.params.Partitions)
	for k := range out {
		out[k] = c.publicInputs(k)
	}
	return out, nil
}

// Join concatenates the proofs of all partitions, in order, [ProofSize] bytes each. Errors wrap
// [ErrProofLength], or are those of [Statement.Validate].
func (s *Statement) Join(parts [][]byte) ([]byte, error) {
	n, err := s.PartitionCount()
	if err != nil {
		return nil, err
	}
	if len(parts) != n {
		return nil, fmt.Errorf("update: %w: %d partitions, want %d", ErrProofLength, len(parts), n)
	}
	proof, err := vanilla.Join(parts)
	if err != nil {
		return nil, fmt.Errorf("update: %w", err)
	}
	return proof, nil
}

// Split takes a proof apart into those of its partitions. They share proof's memory. Errors as for
// [Statement.Join].
func (s *Statement) Split(proof []byte) ([][]byte, error) {
	n, err := s.PartitionCount()
	if err != nil {
		return nil, err
	}
	parts, err := vanilla.Split(proof, n)
	if err != nil {
		return nil, fmt.Errorf("update: %w", err)
	}
	return parts, nil
}

// ProofSize is the size of the proof of one partition in bytes.
const ProofSize = vanilla.ProofSize

// claim is a validated statement.
type claim struct {
	params                       Params
	commROld, commRNew, commDNew fr.Element
	random                       *poseidon.Params // the hash that randomness comes from
	phi                          fr.Element
}

func (s *Statement) claim() (*claim, error) {
	if s == nil {
		return nil, ErrNil
	}
	c := &claim{random: randomness()}
	var err error
	if c.params, err = s.Proof.Params(); err != nil {
		return nil, err
	}
	if s.Params != nil {
		c.params = *s.Params
		if err := c.params.Validate(); err != nil {
			return nil, err
		}
	}
	for _, f := range []struct {
		name string
		from [32]byte
		to   *fr.Element
	}{
		{"comm_r_old", s.CommROld, &c.commROld}, {"comm_d_new", s.CommDNew, &c.commDNew}, {"comm_r_new", s.CommRNew, &c.commRNew},
	} {
		if *f.to, err = fr.LittleEndian.Element(&f.from); err != nil {
			return nil, &FieldError{Field: f.name, Err: fmt.Errorf("%w: %x", ErrNonCanonical, f.from)}
		}
	}
	c.phi = c.random.Hash([]fr.Element{c.commDNew, c.commROld})
	return c, nil
}

// randomness is the hash from which phi, the challenges and rho come (§3.1).
func randomness() *poseidon.Params { return poseidon.WithTag(2, poseidon.GenRandomnessTag) }

// challenges are the challenged nodes of partition k (§7.5): bits of digests, and above them k.
func (c *claim) challenges(k int) []uint64 {
	p := c.params
	out := make([]uint64, 0, p.Challenges)
	for j := 0; len(out) < p.Challenges; j++ {
		number := fr.NewElement(uint64(k*p.digests() + j))
		digest := c.random.Hash([]fr.Element{c.commRNew, number})
		words := digest.Bits()
		for i := 0; i < p.perDigest() && len(out) < p.Challenges; i++ {
			drawn := bitsOf(words, i*p.drawnBits(), p.drawnBits())
			out = append(out, drawn|uint64(k)<<p.drawnBits())
		}
	}
	return out
}

// bitsOf is the number that n ≤ 63 bits of a 256-bit number make, from bit at on.
func bitsOf(words [4]uint64, at, n int) uint64 {
	v := words[at/64] >> (at % 64)
	if at%64+n > 64 {
		v |= words[at/64+1] << (64 - at%64)
	}
	return v & (1<<n - 1)
}

// rho is the factor of the data in the encoding of a node with a value of h (§7.7).
func (c *claim) rho(node uint64, h int) fr.Element {
	high := fr.NewElement(node >> (c.params.LogNodes() - h))
	return c.random.Hash([]fr.Element{c.phi, high})
}

// publicInputs of partition k.
func (c *claim) publicInputs(k int) []fr.Element {
	return []fr.Element{fr.NewElement(c.params.selector(k)), c.commROld, c.commDNew, c.commRNew}
}
