// Package porep is Filecoin's proof of replication: its statement, its vanilla proofs and its circuit.
//
//	c1, err := porep.DecodeC1(file, nil)          // phase-1 output, raw or in Lotus's wrapper
//	err = c1.Check(ctx, 0)                        // every relation that the circuit will assert
//	statement, err := c1.Statement(miner, sector) // is it about this sector?
//	circuits, err := c1.Circuits()                // one for each partition, to be proved
//
// A verifier needs no vanilla proofs: [Statement.PublicInputs] computes the public inputs of all
// partitions from VerifySeal's arguments.
//
// Sector sizes, trees, layers and challenges are values ([Params], [ParamsFor]); API versions and the
// rules for challenges follow from the [RegisteredProof]. Interactive and synthetic proofs are
// supported. Non-interactive ones can be decoded; everything else answers [ErrUnsupported].
//
// The package neither makes nor verifies proofs. Sections (§) refer to the circuit specification.
package porep
