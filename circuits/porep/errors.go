package porep

import (
	"errors"
	"fmt"
	"strings"
)

// What is wrong with a statement, its parameters or a proof type.
var (
	ErrNil          = errors.New("porep: nil instead of a statement, phase-1 output, circuit, reader or writer")
	ErrSectorSize   = errors.New("porep: wrong sector size")
	ErrParams       = errors.New("porep: impossible parameters")
	ErrProofType    = errors.New("porep: unknown registered proof")
	ErrUnsupported  = errors.New("porep: registered proof not supported")
	ErrZero         = errors.New("porep: all zero")
	ErrNonCanonical = errors.New("porep: not a canonical field element")
	ErrReplicaID    = errors.New("porep: replica id of another statement")
)

// What is wrong with a phase-1 output as a document. They are found in a [DecodeError].
var (
	ErrSyntax    = errors.New("porep: malformed JSON")
	ErrTrailing  = errors.New("porep: data after the end of the document")
	ErrDepth     = errors.New("porep: nested too deep")
	ErrBase64    = errors.New("porep: malformed base64")
	ErrType      = errors.New("porep: wrong JSON type")
	ErrRange     = errors.New("porep: number out of range")
	ErrMissing   = errors.New("porep: missing field")
	ErrDuplicate = errors.New("porep: duplicate field")
	ErrCount     = errors.New("porep: wrong number of elements")
	ErrVariant   = errors.New("porep: wrong variant")
	ErrIndex     = errors.New("porep: index of another node or layer")
)

// Which relation of the circuit does not hold. They are found in a [CheckError].
var (
	ErrChallenge = errors.New("porep: not the node challenged by the statement")
	ErrParent    = errors.New("porep: not a parent of the challenged node")
	ErrRoot      = errors.New("porep: another root than the rest of the partition")
	ErrPath      = errors.New("porep: inclusion path does not lead to its root")
	ErrColumn    = errors.New("porep: column hash differs from the leaf of its path")
	ErrLabel     = errors.New("porep: label differs from the one its parents give")
	ErrEncoding  = errors.New("porep: replica leaf is not label plus data")
	ErrCommR     = errors.New("porep: comm_r is not the hash of comm_c and comm_r_last")
)

// UnsupportedError names a registered proof that is known but can't be proved here. It matches
// [ErrUnsupported].
type UnsupportedError struct{ Proof RegisteredProof }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%v: %v (%d)", ErrUnsupported, e.Proof, uint8(e.Proof))
}

// Is reports whether target is ErrUnsupported.
func (e *UnsupportedError) Is(target error) bool { return target == ErrUnsupported }

// FieldError names the field of a [Statement] that can't be right whatever the proof is.
type FieldError struct {
	Field string // as in the reference: "comm_r", "comm_d", "seed", …
	Err   error  // wraps a sentinel of this package
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("porep: statement: %s: %v", e.Field, bare(e.Err))
}

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// DecodeError tells where a phase-1 output could not be read.
type DecodeError struct {
	// Path is the way to the field, for instance
	// "vanilla_proofs.StackedDrg2KiBV1[0][1].comm_r_last_proof.data.Single.path.path[0].hashes[3]".
	// Inside Lotus's wrapper it begins with "Phase1Out". It is empty for the document itself.
	Path string
	// Offset is how many bytes of the JSON document had been read; inside Lotus's wrapper, of the
	// decoded Phase1Out.
	Offset int64
	// Err wraps a sentinel of this package, io.ErrUnexpectedEOF for a truncated document, or the
	// error of the reader.
	Err error
}

func (e *DecodeError) Error() string {
	path := e.Path
	if path != "" {
		path += " "
	}
	return fmt.Sprintf("porep: c1: %sat byte %d: %v", path, e.Offset, bare(e.Err))
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// CheckError tells which part of a vanilla proof breaks a relation that the circuit asserts.
type CheckError struct {
	Partition int
	Challenge int // within the partition; −1 if it concerns the partition as a whole
	// Field is the way to the part from the proof of the challenge, named as in the phase-1 output,
	// for instance "replica_column_proofs.drg_parents[3].inclusion_proof".
	Field string
	Err   error // wraps a sentinel of this package, with the values
}

func (e *CheckError) Error() string {
	if e.Challenge < 0 {
		return fmt.Sprintf("porep: check: partition %d: %s: %v", e.Partition, e.Field, bare(e.Err))
	}
	return fmt.Sprintf("porep: check: partition %d challenge %d: %s: %v", e.Partition, e.Challenge, e.Field, bare(e.Err))
}

// Unwrap returns Err.
func (e *CheckError) Unwrap() error { return e.Err }

// bare is the text of an error without this package's prefix, for use inside a longer message; "" for nil.
func bare(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "porep: ")
}
