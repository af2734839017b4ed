// Package engine is the seam between the prover and whatever does the heavy arithmetic of a proof: the processor
// (engine/cpu) or a GPU. It speaks the prover's language. A packed witness goes in, five points come out, and what is
// as long as the circuit stays where the engine keeps it, behind opaque values.
//
// Package enginetest is the contract in executable form.
package engine
