// Package vanilla has what the vanilla proofs of all statements share: their bincode form and the
// Merkle proofs in it (circuits.md §8), checks that run side by side but fail in order, and the
// concatenation of partition proofs.
//
// All lengths of a vanilla proof follow from the parameters of its statement. A [Reader] therefore
// takes exact lengths only, so that no input makes it allocate more than a good one does.
package vanilla
