package cuzk

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/groth16"
)

// ErrProofLength reports a proof that does not have [groth16.ProofSize] bytes for each partition of its statement.
var ErrProofLength = post.ErrProofLength

// ErrVerify reports that a Verify function was called without a key or a statement.
var ErrVerify = errors.New("cuzk: verify: no verifying key or no statement")

// VerifySeal tells whether proof shows that s is sealed. The verdict is the reference's: false for well-formed
// values that do not belong together, and an error for what the reference does not come to a verdict about
// (malformed proofs, zero or non-canonical commitments, a key of another circuit). All partitions are verified
// as one batch; it takes a few milliseconds and 30 µs a public input.
//
// # Errors
//
// Those of [porep.Statement.Validate]; a *groth16.ProofError, in a *groth16.ProofIndexError, for malformed
// proofs; errors that wrap [ErrProofLength], groth16.ErrInputs or [ErrVerify]; context.Cause(ctx) if ctx
// ends first. A non-interactive PoRep is an error; a zero seed is not, though no proof can be made for it.
func VerifySeal(ctx context.Context, vk *groth16.VerifyingKey, s *porep.Statement, proof []byte) (bool, error) {
	if s == nil {
		return false, ErrVerify
	}
	return verify(ctx, vk, proof, s.PublicInputs)
}

// VerifyWinningPoSt is [VerifySeal] for a WinningPoSt, which is about one sector. Like the reference it takes the
// last of several sectors with the same number.
//
// Errors are those of VerifySeal with [post.Statement.Validate] in place of porep's; a statement of a WindowPoSt
// answers an error that wraps post.ErrProofType.
func VerifyWinningPoSt(ctx context.Context, vk *groth16.VerifyingKey, s *post.Statement, proof []byte) (bool, error) {
	return verifyPoSt(ctx, vk, s, proof, post.Winning)
}

// VerifyWindowPoSt is [VerifySeal] for all partitions of a WindowPoSt, or for those that s is about. Like the
// reference it sorts the sectors by number, and takes the last of those with the same number; s is not changed.
//
// Errors are those of VerifySeal with [post.Statement.Validate] in place of porep's; a statement of a WinningPoSt
// answers an error that wraps post.ErrProofType.
func VerifyWindowPoSt(ctx context.Context, vk *groth16.VerifyingKey, s *post.Statement, proof []byte) (bool, error) {
	return verifyPoSt(ctx, vk, s, proof, post.Window)
}

func verifyPoSt(
	ctx context.Context, vk *groth16.VerifyingKey, s *post.Statement, proof []byte, kind post.Kind,
) (bool, error) {
	if s == nil {
		return false, ErrVerify
	}
	if s.Proof.Valid() && s.Proof.Kind() != kind {
		return false, fmt.Errorf("cuzk: verify: %w: %v is no %vPoSt", post.ErrProofType, s.Proof, kind)
	}
	return verify(ctx, vk, proof, s.Normalized().PublicInputs)
}

// VerifyUpdate is [VerifySeal] for an empty sector update (SnapDeals), all partitions of it. With the Params of
// the Poseidon variant in s it verifies that variant. Commitments of zero are values like any others, as in
// the reference.
//
// Errors are those of VerifySeal with [update.Statement.Validate] in place of porep's; non-canonical
// commitments, for which the reference panics, are among them.
func VerifyUpdate(ctx context.Context, vk *groth16.VerifyingKey, s *update.Statement, proof []byte) (bool, error) {
	if s == nil {
		return false, ErrVerify
	}
	return verify(ctx, vk, proof, s.PublicInputs)
}

// verify verifies the proofs of all partitions, whose public inputs are computed by inputs.
func verify(
	ctx context.Context, vk *groth16.VerifyingKey, proof []byte, inputs func() ([][]fr.Element, error),
) (bool, error) {
	if vk == nil {
		return false, ErrVerify
	}
	public, err := inputs()
	if err != nil {
		return false, err
	}
	if want := len(public) * groth16.ProofSize; len(proof) != want {
		return false, fmt.Errorf("cuzk: verify: %w: %d, want %d", ErrProofLength, len(proof), want)
	}
	proofs, err := groth16.ParseProofs(proof)
	if err != nil {
		return false, err
	}
	err = groth16.VerifyBatch(ctx, vk, proofs, public, nil)
	if errors.Is(err, groth16.ErrInvalidProof) {
		return false, nil
	}
	return err == nil, err
}
