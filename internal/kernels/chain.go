package kernels

import (
	"fmt"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// Chain names a chain of field operations, for measuring and for tests: x is replaced `rounds`
// times by a function of x and y.
type Chain string

// The chains.
const (
	ChainFpMul    Chain = "chain_fp_mul"     // x·y
	ChainFpSqr    Chain = "chain_fp_sqr"     // x² + y
	ChainFpMulSub Chain = "chain_fp_mul_sub" // x·y − (x + y)·x
	ChainFrMul    Chain = "chain_fr_mul"     // x·y
	ChainFrSqr    Chain = "chain_fr_sqr"     // (x + y)² − x
	ChainFp2Mul   Chain = "chain_fp2_mul"    // x·y in Fp2
)

var chainBytes = map[Chain]uintptr{
	ChainFpMul: 48, ChainFpSqr: 48, ChainFpMulSub: 48, ChainFrMul: 32, ChainFrSqr: 32, ChainFp2Mul: 96,
}

// threads of a block.
func (c Chain) threads() int {
	if c == ChainFpMul {
		return 1024
	}
	return 256
}

// RunChain enqueues a chain on each element: in has the n values of x, then the n of y. T is the
// field's type.
func RunChain[T any](l *Library, s *gpu.Stream, c Chain, out, in gpu.View[T], rounds int) error {
	var t T
	n := out.Len()
	if n == 0 || n > 1<<30 || in.Len() != 2*n || rounds < 0 || rounds > 1<<30 || chainBytes[c] != unsafe.Sizeof(t) {
		return fmt.Errorf("kernels: %s of %d elements to %d: %w", c, in.Len(), n, gpu.ErrArgument)
	}
	p := chainParams{In: in.Ptr(), Out: out.Ptr(), N: uint32(n), Rounds: uint32(rounds)}
	return launch(l, s, string(c), gpu.Grid{Blocks: blocks(n, c.threads()), Threads: c.threads()}, &p)
}
