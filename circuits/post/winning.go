package post

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// WinningSector is the position of the sector that a WinningPoSt must prove, among a number of eligible
// ones (generate_winning_post_sector_challenge of the reference): the first eight bytes, little-endian,
// of SHA-256 over prover id, randomness and the number 0, modulo eligible.
//
// It returns a [FieldError] that wraps [ErrNonCanonical] for values that are no field elements, and
// [ErrNoSectors] if none is eligible.
func WinningSector(randomness, proverID [32]byte, eligible uint64) (uint64, error) {
	if _, err := canonical("randomness", randomness); err != nil {
		return 0, err
	}
	if _, err := canonical("prover_id", proverID); err != nil {
		return 0, err
	}
	if eligible == 0 {
		return 0, fmt.Errorf("%w: none is eligible", ErrNoSectors)
	}
	message := append(append([]byte(nil), proverID[:]...), randomness[:]...)
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(message, 0))
	return binary.LittleEndian.Uint64(sum[:]) % eligible, nil
}
