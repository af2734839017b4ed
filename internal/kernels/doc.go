// Package kernels holds the CUDA kernels and starts them.
//
// The kernels' sources are in cuda/; this package embeds what nvcc made of them (fatbin/), mirrors
// their parameter structs, checks shapes before each launch, and has a twin in Go for each kernel:
// the same parameters, computed with gnark-crypto. A twin is the kernel's specification, what runs
// on the fake driver, and the oracle on a real card.
package kernels
