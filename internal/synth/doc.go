// Package synth makes genuine inputs of proofs without a sector: every path, label and encoding in them
// is right, so the circuits they give are satisfied, but nothing is behind the leaves that are not
// challenged. Tests, benchmarks and examples use them for the production sizes.
//
// The same seed always gives the same input.
package synth
