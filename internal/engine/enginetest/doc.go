// Package enginetest is the contract of engines as a test suite, and the material for tests of proofs:
// explicit circuits, and the small circuits that the reference implementation made with all their intermediate
// values.
//
// It is imported by tests only.
package enginetest
