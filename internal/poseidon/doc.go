// Package poseidon is the Poseidon hash of Filecoin's trees, columns and commitments: BLS12-381
// scalar field, S-box x⁵, strength "standard", arities 2, 4, 8 and 11 (spec §3).
//
// [Params] holds the constants twice over: as the native hash [Params.Hash] uses them and as the
// circuit does, because both follow the same optimised form (compressed round constants, one dense
// pre-sparse matrix, one sparse matrix for each partial round). All of them are computed from the
// definition on first use; nothing is read from files.
//
//	digest := poseidon.ForArity(2).Hash([]fr.Element{commC, commRLast})
//
// Field elements are in Montgomery form, as in gnark-crypto. Params are immutable: callers only
// read them, from any number of goroutines.
package poseidon
