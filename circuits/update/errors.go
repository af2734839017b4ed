package update

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gocuzk/cuzk/internal/vanilla"
)

// What is wrong with a statement, its parameters or a proof type.
var (
	ErrNil          = errors.New("update: no statement or circuit, but a nil pointer")
	ErrSectorSize   = errors.New("update: wrong sector size")
	ErrParams       = errors.New("update: impossible parameters")
	ErrProofType    = errors.New("update: unknown registered proof")
	ErrNonCanonical = vanilla.ErrNonCanonical
	ErrNoPartition  = errors.New("update: no such partition")
	ErrProofLength  = vanilla.ErrProofLength
)

// What is wrong with a vanilla proof as a document. They are found in a [DecodeError].
var (
	ErrTrailing = vanilla.ErrTrailing
	ErrCount    = vanilla.ErrCount
	ErrVariant  = vanilla.ErrVariant
	ErrRange    = vanilla.ErrRange
)

// Which relation of the circuit does not hold. They are found in a [CheckError].
var (
	ErrMissing       = errors.New("update: vanilla proofs for another number of partitions")
	ErrShape         = errors.New("update: vanilla proof of another shape")
	ErrPartition     = errors.New("update: vanilla proof of another partition")
	ErrChallenge     = errors.New("update: not the node challenged by the statement")
	ErrRoot          = errors.New("update: another root than the rest of the statement")
	ErrPath          = errors.New("update: inclusion path does not lead to its root")
	ErrApex          = errors.New("update: apex leaves do not fit the data tree")
	ErrPartitionPath = errors.New("update: another path from the partition to the root than the rest")
	ErrLabel         = errors.New("update: new leaf is not the old one plus the encoded data")
	ErrHeight        = errors.New("update: new leaf is encoded with another h")
	ErrCommR         = errors.New("update: comm_r is not the hash of comm_c and the root")
)

// FieldError names the field of a [Statement] that can't be right whatever the proof is.
type FieldError struct {
	Field string // "comm_r_old", "comm_r_new" or "comm_d_new"
	Err   error  // wraps a sentinel of this package
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("update: statement: %s: %v", e.Field, bare(e.Err))
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// DecodeError tells where a vanilla proof could not be read.
type DecodeError struct {
	Partition int
	// Path is the way to the field, for instance
	// "challenge_proofs[3].proof_r_old.data.Sub.base_proof.path[2].hashes[4]". It is empty for the proof
	// as a whole.
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
	return fmt.Sprintf("update: vanilla proof of partition %d: %sat byte %d: %v", e.Partition, path, e.Offset, bare(e.Err))
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// CheckError tells which part of which vanilla proof is wrong.
type CheckError struct {
	Partition int
	Challenge int // of the partition; −1 if it concerns the partition as a whole
	// Field is the way to the part from the vanilla proof, for instance
	// "challenge_proofs[3].proof_d_new", or a commitment of the statement. It is empty for the proof as a whole.
	Field string
	Err   error // wraps a sentinel of this package, with the values
}

func (e *CheckError) Error() string {
	at := ""
	if e.Challenge >= 0 {
		at = fmt.Sprintf(" challenge %d", e.Challenge)
	}
	if e.Field != "" {
		at += ": " + e.Field
	}
	return fmt.Sprintf("update: check: partition %d%s: %v", e.Partition, at, bare(e.Err))
}

// Unwrap returns Err.
func (e *CheckError) Unwrap() error { return e.Err }

// bare is the text of an error without its package's prefix, for use inside a longer message.
func bare(err error) string { return strings.TrimPrefix(vanilla.Bare(err), "update: ") }
