package vanilla

import (
	"errors"
	"fmt"
	"strings"
)

// What is wrong with a vanilla proof as a document. They are found in an [Error]; a proof that ends
// too early has io.ErrUnexpectedEOF.
var (
	ErrTrailing     = errors.New("vanilla: data after the end of the proof")
	ErrCount        = errors.New("vanilla: wrong number of elements")
	ErrVariant      = errors.New("vanilla: wrong variant")
	ErrRange        = errors.New("vanilla: number out of range")
	ErrNonCanonical = errors.New("vanilla: not a canonical field element")
)

// ErrProofLength reports bytes that are not as many partition proofs as they should be. It is part of the API of several
// packages, which put their names before it.
var ErrProofLength = errors.New("wrong length of a proof")

// Error tells where a vanilla proof could not be read.
type Error struct {
	// Path is the way to the field, named as in the reference, for instance
	// "vanilla_proof.sectors[0].inclusion_proofs[3].data.Sub.base_proof.path[2].hashes[4]". It is empty
	// for the proof as a whole.
	Path   string
	Offset int64 // of the field's first byte
	Err    error // wraps a sentinel of this package or io.ErrUnexpectedEOF
}

func (e *Error) Error() string {
	path := e.Path
	if path != "" {
		path += " "
	}
	return fmt.Sprintf("vanilla: %sat byte %d: %s", path, e.Offset, Bare(e.Err))
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Bare is the text of an error without this package's prefix, for use inside a longer message; "" for nil.
func Bare(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "vanilla: ")
}
