package vanilla

import "fmt"

// ProofSize is the size of the proof of one partition in bytes.
const ProofSize = 192

// Join concatenates the proofs of partitions, in order. Each must have [ProofSize] bytes. Errors wrap
// [ErrProofLength].
func Join(parts [][]byte) ([]byte, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: no partition", ErrProofLength)
	}
	out := make([]byte, 0, len(parts)*ProofSize)
	for k, p := range parts {
		if len(p) != ProofSize {
			return nil, fmt.Errorf("%w: partition %d has %d bytes, want %d", ErrProofLength, k, len(p), ProofSize)
		}
		out = append(out, p...)
	}
	return out, nil
}

// Split is the inverse of [Join] for a known number of partitions. The parts share proof's memory.
func Split(proof []byte, partitions int) ([][]byte, error) {
	if partitions < 1 || len(proof)/ProofSize != partitions || len(proof)%ProofSize != 0 {
		return nil, fmt.Errorf("%w: %d bytes for %d partitions of %d", ErrProofLength, len(proof), partitions, ProofSize)
	}
	out := make([][]byte, partitions)
	for k := range out {
		out[k] = proof[k*ProofSize : (k+1)*ProofSize : (k+1)*ProofSize]
	}
	return out, nil
}
