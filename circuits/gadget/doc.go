// Package gadget has the building blocks of Filecoin's circuits: Poseidon, SHA-256, insertion into a
// group of siblings, and Merkle inclusion. Each emits exactly the rows of the reference
// (bellpepper-core 0.2, neptune 11's legacy circuit, storage-proofs-core 19); section numbers refer
// to the circuit specification.
package gadget
