// Package post is Filecoin's proof of spacetime: WinningPoSt and WindowPoSt, their statements, vanilla
// proofs and circuit (FallbackPoSt).
//
//	params, err := proof.Params()                       // of a RegisteredProof
//	vanilla, err := post.DecodeAll(params, blobs)       // one for each sector
//	statement := post.StatementOf(proof, randomness, vanilla) // or from chain values
//	err = statement.Check(ctx, vanilla, 0)              // every relation that the circuits will assert
//	circuits, err := statement.Circuits(vanilla)        // one for each partition, to be proved
//
// A verifier needs no vanilla proofs: [Statement.PublicInputs] computes the public inputs of all
// partitions from VerifyWinningPoSt's or VerifyWindowPoSt's arguments. It should take
// [Statement.Normalized] first, because the reference's verifier sorts the sectors.
//
// [Circuit.Witness] makes witness and checks in one pass, so that each hash is computed once.
//
// The package neither makes nor verifies proofs. Sections (§) refer to the circuit specification.
package post
