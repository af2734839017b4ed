package post

import (
	"fmt"

	"github.com/gocuzk/cuzk/internal/vanilla"
)

// ProofSize is the size of the proof of one partition in bytes.
const ProofSize = vanilla.ProofSize

// Proof is a proof of spacetime, or of one of its partitions, as the chain has it.
type Proof struct {
	Type  RegisteredProof
	Bytes []byte // ProofSize bytes a partition
}

// Merge joins the proofs of the partitions of a WindowPoSt, in order: they are concatenated.
//
// Errors wrap [ErrNoSectors], [ErrMixed], [ErrProofType] or [ErrProofLength].
func Merge(parts []Proof) (Proof, error) {
	types, bytes := make([]RegisteredProof, len(parts)), make([][]byte, len(parts))
	for k, p := range parts {
		types[k], bytes[k] = p.Type, p.Bytes
	}
	t, err := OneProofType(types...)
	if err != nil {
		return Proof{}, err
	}
	if t.Kind() == Winning && len(parts) != 1 {
		return Proof{}, fmt.Errorf("post: %w: %d partitions of %v", ErrProofLength, len(parts), t)
	}
	joined, err := vanilla.Join(bytes)
	if err != nil {
		return Proof{}, fmt.Errorf("post: %w", err)
	}
	return Proof{Type: t, Bytes: joined}, nil
}

// Split takes a proof apart into those of its partitions, of which there must be as many as the
// statement has. They share p's memory. Errors wrap [ErrMixed] or [ErrProofLength], or are those of
// [Statement.Validate].
func (s *Statement) Split(p Proof) ([][]byte, error) {
	if s != nil && p.Type != s.Proof {
		return nil, fmt.Errorf("%w: proof is %v, statement %v", ErrMixed, p.Type, s.Proof)
	}
	n, err := s.PartitionCount()
	if err != nil {
		return nil, err
	}
	parts, err := vanilla.Split(p.Bytes, n)
	if err != nil {
		return nil, fmt.Errorf("post: %w", err)
	}
	return parts, nil
}
