package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// Engine makes the parts of proofs. It may be used by several goroutines.
type Engine interface {
	// Load prepares for proofs of one constraint system under one key, which must belong together. The system may be nil:
	// then only AssignRows works. Neither is closed by the engine.
	Load(ctx context.Context, sys *pce.System, key *srs.Key) (Loaded, error)
	// Close releases the engine; everything loaded must be closed before. Closing twice does nothing.
	Close() error
}

// Loaded is a constraint system with its key. Its methods may be called from several goroutines, for different
// assignments. All heed ctx within a second and then return context.Cause(ctx), and none leaves work behind.
type Loaded interface {
	// Assign evaluates the rows for a witness. It returns an error that is pce.ErrLayout if the witness is another system's.
	// The witness must not change before the assignment is released.
	Assign(ctx context.Context, w *pce.Witness) (Assignment, error)
	// AssignRows takes rows that are evaluated already, for the same witness, to which applies what Assign says. The rows must
	// not change before it returns, and are the caller's again then, whatever the error.
	AssignRows(ctx context.Context, w *pce.Witness, r *pce.Rows) (Assignment, error)
	// Quotient returns the coefficients of h = (A·B − C)/(x^m − 1). It uses the rows up: it can be called once for an
	// assignment. If a row is not satisfied the result is an *UnsatisfiedError.
	Quotient(ctx context.Context, a Assignment, m Meter) (Scalars, error)
	// Sums returns the sums of the key's points for an assignment and its quotient. A malformed point
	// gives an *srs.Error.
	Sums(ctx context.Context, a Assignment, h Scalars, m Meter) (*PartialSums, error)
	// Work is the number of units that Quotient and Sums report together for one assignment.
	Work() uint64
	// Memory says what the key and its proofs take of the engine's card. It is zero where there is no card.
	Memory() Memory
	// Close releases what was loaded. Closing twice does nothing.
	Close() error
}

// Memory is a share of a card's memory, in bytes.
type Memory struct {
	Leased   uint64 // in all
	Resident uint64 // of that, what stays between proofs
	Streamed bool   // sections of the key come from the host in each proof
}

// Assignment is a witness and, until Quotient has used them, the values of the rows.
type Assignment interface {
	// Times says how long the engine's card has worked on the assignment so far, as its own clock has it: from the first to
	// the last command of each step. It is zero where there is no card.
	Times() Times
	// Release frees the assignment's memory. Releasing twice does nothing.
	Release()
}

// Times are the durations of the steps.
type Times struct{ Assign, Quotient, Sums time.Duration }

// Scalars are field elements in the engine's memory.
type Scalars interface {
	// Release frees the scalars' memory. Releasing twice does nothing.
	Release()
}

// Meter takes the number of units of work that were done since it was called last. It may be called from several
// goroutines at a time. A nil Meter is not called.
type Meter func(units uint64)

// Add reports units.
func (m Meter) Add(units uint64) {
	if m != nil {
		m(units)
	}
}

// PartialSums are the points that a proof is assembled from (circuits.md §9.4). Any of them may be at infinity.
type PartialSums struct {
	H  bls12381.G1Affine // Σ hᵢ·Hᵢ
	L  bls12381.G1Affine // Σ zₖ·Lₖ over private variables
	A  bls12381.G1Affine // Σ zₖ·Aₖ over all variables
	B1 bls12381.G1Affine // Σ zₖ·Bₖ
	B2 bls12381.G2Affine // the same in G2
}

// UnsatisfiedError is a row that the witness does not satisfy. It is a pce.ErrUnsatisfied.
type UnsatisfiedError struct {
	Row int // the first such row, in the order of emission
}

func (e *UnsatisfiedError) Error() string {
	return fmt.Sprintf("row %d: %v", e.Row, pce.ErrUnsatisfied)
}

func (e *UnsatisfiedError) Unwrap() error { return pce.ErrUnsatisfied }

var (
	// ErrClosed reports the use of something that was closed or released.
	ErrClosed = errors.New("engine: use of closed handle")
	// ErrForeign reports a value that another engine, or another Loaded, made.
	ErrForeign = errors.New("engine: value does not belong here")
	// ErrUsed reports a second Quotient of one assignment.
	ErrUsed = errors.New("engine: rows of the assignment are used up")
)
