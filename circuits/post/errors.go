package post

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gocuzk/cuzk/internal/vanilla"
)

// What is wrong with a statement, its parameters or a proof type.
var (
	ErrNil            = errors.New("post: no statement or circuit, but a nil pointer")
	ErrSectorSize     = errors.New("post: wrong sector size")
	ErrParams         = errors.New("post: impossible parameters")
	ErrProofType      = errors.New("post: unknown registered proof")
	ErrMixed          = errors.New("post: mixed proof types")
	ErrZero           = errors.New("post: all zero")
	ErrNonCanonical   = vanilla.ErrNonCanonical
	ErrNoSectors      = errors.New("post: no sectors")
	ErrTooManySectors = errors.New("post: more sectors than the partitions hold")
	ErrPartition      = errors.New("post: no such partition")
	ErrProofLength    = vanilla.ErrProofLength
)

// What is wrong with a vanilla proof as a document. They are found in a [DecodeError].
var (
	ErrTrailing = vanilla.ErrTrailing
	ErrCount    = vanilla.ErrCount
	ErrVariant  = vanilla.ErrVariant
	ErrRange    = vanilla.ErrRange
)

// What is wrong with the sectors, or which relation of the circuit does not hold. They are found in a
// [CheckError].
var (
	ErrOrder     = errors.New("post: sectors not in ascending order")
	ErrDuplicate = errors.New("post: sector occurs twice")
	ErrSkipped   = errors.New("post: no vanilla proof of a sector")
	ErrSector    = errors.New("post: vanilla proof of a sector that is not part of the statement")
	ErrShape     = errors.New("post: vanilla proof of another shape")
	ErrChallenge = errors.New("post: not the leaf challenged by the statement")
	ErrRoot      = errors.New("post: root is not comm_r_last")
	ErrPath      = errors.New("post: inclusion path does not lead to its root")
	ErrCommR     = errors.New("post: wrong comm_r")
	// ErrOtherPartition says that the leaves are those of which the sector would have to show paths in another
	// partition.
	ErrOtherPartition = errors.New("post: answer to the challenges of another partition")
)

// FieldError names the field of a [Statement] that can't be right whatever the proof is.
type FieldError struct {
	Field string // for instance "randomness" or "sectors[2].comm_r"
	Err   error  // wraps a sentinel of this package
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("post: statement: %s: %v", e.Field, bare(e.Err))
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// DecodeError tells where a vanilla proof could not be read.
type DecodeError struct {
	Proof int // its position among those given
	// Path is the way to the field, for instance
	// "vanilla_proof.sectors[0].inclusion_proofs[3].data.Sub.base_proof.path[2].hashes[4]". It is empty
	// for the proof as a whole.
	Path   string
	Offset int64 // of the field's first byte
	// Err wraps a sentinel of this package, or io.ErrUnexpectedEOF for a proof that was cut short.
	Err error
}

func (e *DecodeError) Error() string {
	path := e.Path
	if path != "" {
		path += " "
	}
	return fmt.Sprintf("post: vanilla proof %d: %sat byte %d: %v", e.Proof, path, e.Offset, bare(e.Err))
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// CheckError tells which part of which vanilla proof is wrong.
type CheckError struct {
	Sector    int    // position in the statement
	SectorID  uint64 // what the statement has there
	Challenge int    // of the sector; −1 if it concerns the sector as a whole
	// Field is the way to the part from the vanilla proof, for instance
	// "vanilla_proof.sectors[0].inclusion_proofs[3]".
	Field string
	Err   error // wraps a sentinel of this package, with the values
}

func (e *CheckError) Error() string {
	at := ""
	if e.Challenge >= 0 {
		at = fmt.Sprintf(" challenge %d", e.Challenge)
	}
	return fmt.Sprintf("post: check: sector %d (number %d)%s: %s: %v", e.SectorID, e.Sector, at, e.Field, bare(e.Err))
}

// Unwrap returns Err.
func (e *CheckError) Unwrap() error { return e.Err }

// bare is the text of an error without its package's prefix, for use inside a longer message.
func bare(err error) string { return strings.TrimPrefix(vanilla.Bare(err), "post: ") }
