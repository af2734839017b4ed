package groth16

import (
	"errors"
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

var (
	// ErrEncoding reports bytes that are not the encoding of what they should be: proof, key or parameter file.
	ErrEncoding = errors.New("groth16: malformed encoding")
	// ErrInvalidProof reports a well-formed proof that does not hold for the public inputs.
	ErrInvalidProof = errors.New("groth16: proof does not verify")
	// ErrInputs reports a wrong number of public inputs.
	ErrInputs = errors.New("groth16: wrong number of public inputs")
	// ErrEmpty reports a call without anything to prove or to verify, where success would say nothing.
	ErrEmpty = errors.New("groth16: nothing to prove or verify")
	// ErrStatement reports a witness for another statement; see StatementError.
	ErrStatement = errors.New("groth16: witness is for another statement")
	// ErrKeyMismatch reports a key and a constraint system that do not belong together; see MismatchError.
	ErrKeyMismatch = errors.New("groth16: key and constraint system do not belong together")
	// ErrUnsatisfied reports a witness that does not satisfy the constraints.
	ErrUnsatisfied = pce.ErrUnsatisfied
	// ErrLayout reports a witness that was made for another constraint system.
	ErrLayout = pce.ErrLayout
)

// ParamsError locates a fault in a parameter file or a verifying key. It is an ErrEncoding, and Err says
// what is wrong.
type ParamsError struct {
	File    string // as given; empty for a verifying key from a reader
	Section string // "vk", "h", "l", "a", "b_g1" or "b_g2"
	Index   int    // element in the section, or -1; in "vk" the six single points come first, then IC
	Offset  int64  // byte in the file
	Err     error
}

func (e *ParamsError) Error() string { return "groth16: read params: " + e.located().Error() }

func (e *ParamsError) located() *srs.Error {
	return &srs.Error{File: e.File, Section: srs.Section(e.Section), Index: e.Index, Offset: e.Offset, Err: e.Err}
}

// Unwrap makes a ParamsError an ErrEncoding.
func (e *ParamsError) Unwrap() []error { return []error{ErrEncoding, e.Err} }

// paramsError turns a located fault, if there is one in err's tree, into a *ParamsError and leaves other errors alone.
func paramsError(err error) error {
	var e *srs.Error
	if !errors.As(err, &e) {
		return err
	}
	return &ParamsError{File: e.File, Section: string(e.Section), Index: e.Index, Offset: e.Offset, Err: e.Err}
}

// ProofError is a part of a proof that is malformed. It is an ErrEncoding.
type ProofError struct {
	Part   string // "a", "b" or "c"; empty if the length is wrong
	Offset int    // byte in the input
	Err    error
}

func (e *ProofError) Error() string {
	if e.Part == "" {
		return fmt.Sprintf("groth16: read proof: %v", e.Err)
	}
	return fmt.Sprintf("groth16: read proof: point %s at offset %d: %v", e.Part, e.Offset, e.Err)
}

// Unwrap makes a ProofError an ErrEncoding.
func (e *ProofError) Unwrap() []error { return []error{ErrEncoding, e.Err} }

// ProofIndexError says which proof of several is concerned.
type ProofIndexError struct {
	Index int
	Err   error
}

func (e *ProofIndexError) Error() string {
	return fmt.Sprintf("groth16: proof %d: %s", e.Index, unprefixed(e.Err))
}

func (e *ProofIndexError) Unwrap() error { return e.Err }

// unprefixed is an error's text for use behind this package's name.
func unprefixed(err error) string { return strings.TrimPrefix(err.Error(), "groth16: ") }

// StatementError is a witness whose public inputs differ from those that the statement has. It is an ErrStatement.
type StatementError struct {
	// Index is the first public input that differs, ONE not counted, or the smaller number of inputs if one list is
	// the start of the other.
	Index int
	// Want is what the statement says, Got what the witness has; nil where a list has ended.
	Want, Got *fr.Element
}

func (e *StatementError) Error() string {
	show := func(x *fr.Element) string {
		if x == nil {
			return "none"
		}
		return x.Text(16)
	}
	return fmt.Sprintf("%v: public input %d is %s in the statement and %s in the witness",
		ErrStatement, e.Index, show(e.Want), show(e.Got))
}

func (e *StatementError) Unwrap() error { return ErrStatement }

// MismatchError says in what key and constraint system differ. It is an ErrKeyMismatch.
type MismatchError struct {
	Key, System string // file and circuit
	What        string // what was counted
	InKey       int
	InSystem    int
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%v: %s has %d %s, %s has %d", ErrKeyMismatch, e.Key, e.InKey, e.What, e.System, e.InSystem)
}

func (e *MismatchError) Unwrap() error { return ErrKeyMismatch }
