// Package cuzk is the root of a module that makes and checks Filecoin's Groth16 proofs inside the calling process,
// bit-compatible with the reference implementation (rust-fil-proofs and bellperson): the same constraint systems,
// parameter files, verifying keys and proof bytes.
//
// The package itself verifies proofs from what the chain knows, with the reference's verdict: [VerifySeal],
// [VerifyWinningPoSt], [VerifyWindowPoSt] and [VerifyUpdate]. Below it are:
//
//   - [github.com/gocuzk/cuzk/circuits/porep]: proof of replication. It decodes a phase-1 output, checks it natively
//     and describes its circuits and public inputs.
//   - [github.com/gocuzk/cuzk/pce]: constraint systems that are recorded once, and compact witnesses for them.
//   - [github.com/gocuzk/cuzk/groth16]: keys, proofs, the prover and the verifier.
//   - [github.com/gocuzk/cuzk/circuits/post] and [github.com/gocuzk/cuzk/circuits/update]: the same for WinningPoSt and WindowPoSt, and for
//     SnapDeals.
//   - [github.com/gocuzk/cuzk/device]: GPUs, and the processor, where proofs are made.
//
// The example shows how they fit together: from a phase-1 output to a proof, and its verification from chain values.
package cuzk
