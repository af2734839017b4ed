// Package groth16 makes and checks Groth16 proofs over BLS12-381, bit-compatible with bellperson: the same
// parameter files, verifying keys and proof bytes. It knows statements as [circuits.Circuit] and
// nothing of Filecoin.
//
//	key, err := groth16.OpenProvingKey("porep.params")
//	…
//	defer key.Close()
//	prover, err := groth16.NewProver(ctx, key, system, nil)
//	…
//	defer prover.Close()
//	result, err := prover.Prove(ctx, statements, nil)
//
// A Prover verifies each proof, against public inputs that are computed from the statement and not
// from the witness, before it returns it. This cannot be turned off.
//
// # Errors
//
// "Malformed" and "false" are told apart: bytes that are no proof or no key give an error that is [ErrEncoding];
// a well-formed proof of something else gives [ErrInvalidProof]. Faults in parameter files are [*ParamsError] and say
// where. No function panics on bad input.
//
// # Keys for tests
//
// [WriteTestKey] makes keys whose secrets the caller knows or could have known. Proofs under such keys prove
// nothing to anyone else.
package groth16
