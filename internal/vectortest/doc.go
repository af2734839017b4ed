// Package vectortest gives tests the statements of 2 KiB that the reference implementation proved, with the secrets and
// digests of its keys, and its proofs with known r and s.
//
// It is imported by tests only.
package vectortest
