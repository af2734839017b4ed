// Package cuzk is the root of a module that makes and checks Filecoin's Groth16 proofs inside the calling process,
// bit-compatible with the reference implementation (rust-fil-proofs and bellperson): the same constraint systems,
// parameter files, verifying keys and proof bytes.
//
// # Proving
//
// An [Engine] proves on all GPUs it is given, or on the processor, for as many jobs at a time as come:
//
//	engine, err := cuzk.Open(ctx, &cuzk.Options{Params: cuzk.ParamsFolder(dir)})
//	result, err := engine.SealCommit2(ctx, c1, nil) // or WinningPoSt, WindowPoSt, SnapUpdate
//	proof := result.Bytes()
//	err = engine.Close(ctx)
//
// It opens keys and records constraint systems when they are first needed ([Engine.Preload] does it ahead), and gives the
// memory of keys that are not used back when others need it. What can't fit is refused before anything is allocated. Jobs
// go WinningPoSt first, then WindowPoSt, then the rest, also on a GPU that is busy; none waits for ever. If a GPU fails,
// its work moves to the others. No proof leaves the Engine that was not verified, and none is made on the processor in
// place of a GPU unless [Options] says so. [Engine.Submit] starts a job without waiting for it, [Engine.Stats], [Hooks]
// and [Trace] show what is going on.
//
// # Verifying
//
// [VerifySeal], [VerifyWinningPoSt], [VerifyWindowPoSt] and [VerifyUpdate] verify proofs from what the chain knows, with the
// reference's verdict. They need a verifying key and no Engine.
//
// # Packages below
//
//   - [github.com/gocuzk/cuzk/circuits/porep]: proof of replication. It decodes a phase-1 output, checks it natively
//     and describes its circuits and public inputs.
//   - [github.com/gocuzk/cuzk/circuits/post] and [github.com/gocuzk/cuzk/circuits/update]: the same for WinningPoSt and
//     WindowPoSt, and for SnapDeals.
//   - [github.com/gocuzk/cuzk/pce]: constraint systems that are recorded once, and compact witnesses for them.
//   - [github.com/gocuzk/cuzk/groth16]: keys, proofs, the prover and the verifier.
//   - [github.com/gocuzk/cuzk/device]: GPUs, and the processor, where proofs are made.
package cuzk
