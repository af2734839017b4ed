package pce

import (
	"errors"
	"fmt"
	"runtime/debug"
)

var (
	// ErrBlockDiffers reports a block whose instances do not emit the same rows.
	ErrBlockDiffers = errors.New("instances of the block differ")
	// ErrForeignVariable reports the use of a variable that is older than the block using it and not
	// among its arguments.
	ErrForeignVariable = errors.New("variable from outside the block that is not among its arguments")
	// ErrFunction reports a Function whose values are not those of its rows.
	ErrFunction = errors.New("function and its rows disagree")
	// ErrTooLarge reports a system beyond the format's limits.
	ErrTooLarge = errors.New("constraint system too large")
	// ErrLayout reports a witness that was made for other rows; see LayoutError.
	ErrLayout = errors.New("witness layout differs from the constraint system's")
	// ErrUnsatisfied reports a witness that does not satisfy the constraints; see RowError.
	ErrUnsatisfied = errors.New("constraint not satisfied")
	// ErrFormat reports a file that is no constraint system, or a damaged one; see FormatError.
	ErrFormat = errors.New("not a valid constraint system file")
	// ErrPanic reports a broken invariant of circuit code or of this package.
	ErrPanic = errors.New("internal error")
)

// BlockError is a fault found while a block was recorded.
type BlockError struct {
	Block    string // name, empty at the top of the circuit
	Instance int    // 0 is the first one recorded
	Row      int    // own row of the block, nested blocks not counted
	Err      error
}

func (e *BlockError) Error() string {
	return fmt.Sprintf("block %q instance %d row %d: %v", e.Block, e.Instance, e.Row, e.Err)
}

func (e *BlockError) Unwrap() error { return e.Err }

// LayoutError is a witness that does not belong to a constraint system. It is an ErrLayout.
type LayoutError struct {
	Want, Got             [32]byte
	WantCounts, GotCounts Counts // Rows is 0 in GotCounts: a witness has none
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("pce: witness layout %x with %d inputs, %d bits, %d dense; constraint system layout %x with %d inputs, %d bits, %d dense",
		e.Got[:8], e.GotCounts.Inputs, e.GotCounts.Bits, e.GotCounts.Dense,
		e.Want[:8], e.WantCounts.Inputs, e.WantCounts.Bits, e.WantCounts.Dense)
}

func (e *LayoutError) Unwrap() error { return ErrLayout }

// RowError is the first constraint that a witness does not satisfy. It is an ErrUnsatisfied.
type RowError struct {
	Row  int    // in the order of emission
	Path string // names of blocks and scopes around the row
}

func (e *RowError) Error() string {
	return fmt.Sprintf("pce: row %d in %s: %v", e.Row, e.Path, ErrUnsatisfied)
}

func (e *RowError) Unwrap() error { return ErrUnsatisfied }

// FormatError is a fault in a constraint system file. It is an ErrFormat.
type FormatError struct {
	File    string
	Section string
	Offset  int64 // in the file
	Err     error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("pce: %s: section %s at offset %d: %v", e.File, e.Section, e.Offset, e.Err)
}

func (e *FormatError) Unwrap() []error { return []error{ErrFormat, e.Err} }

func panicError(p any) error {
	return fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
}
