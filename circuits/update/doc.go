// Package update is Filecoin's empty sector update (SnapDeals): the proof that a sealed sector without
// data was turned into one with data, by adding to each node of the old replica the node of the data
// times a factor that depends on both. It has the statement, the vanilla proofs and the circuits of
// EmptySectorUpdate and of its Poseidon variant.
//
//	params, err := proof.Params()                   // of a RegisteredProof
//	vanilla, err := update.DecodeAll(params, blobs) // one for each partition
//	err = statement.Check(ctx, vanilla, 0)          // every relation that the circuits will assert
//	circuits, err := statement.Circuits(vanilla)    // one for each partition, to be proved
//
// A verifier needs no vanilla proofs: [Statement.PublicInputs] computes the public inputs of all
// partitions from VerifyReplicaUpdate's arguments.
//
// [Circuit.Witness] makes witness and checks in one pass, so that each hash is computed once.
//
// The package neither makes nor verifies proofs. Sections (§) refer to the circuit specification.
package update
