package kernels

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// The structs below mirror those of cuda/, field by field; addresses are 64-bit numbers. Their
// sizes are compared with manifest.json, which has them from the compiler.

type chainParams struct {
	In, Out   uint64
	N, Rounds uint32
}

const (
	nttInverse     = 1
	nttShiftIn     = 2
	nttShiftOut    = 4
	nttScaleOut    = 8
	nttReversedOut = 16
	nttSmallInRev  = 32
	nttSmallOutRev = 64
)

type nttPassParams struct {
	Src, Dst                        uint64
	RootsSmall, RootsHigh, RootsLow uint64
	ShiftHigh, ShiftLow             uint64
	_                               uint64 // Scale is 16-byte aligned
	Scale                           fr.Element
	LogN, LogStride                 uint32
	Flags                           uint32
	_                               uint32
}

type pointwiseParams struct {
	A, B, C, Out uint64
	Scale        fr.Element
	N            uint32
	_            [3]uint32
}

type classifyParams struct {
	Scalars, Dense, Ones, Counts uint64
	N, Montgomery                uint32
}

type digitsParams struct {
	Scalars, Dense, Codes, Ranks, Counts uint64
	M, First, Windows, C, Montgomery     uint32
	Offset                               [11]uint32
}

type scanParams struct {
	Values, Sums uint64
	N, Blocks    uint32
}

type scatterParams struct {
	Dense, Codes, Ranks, Offsets, Sorted uint64
	M, Windows, C                        uint32
	_                                    uint32
}

type bitsParams struct {
	Bits, List, Counts uint64
	N, First           uint32
}

type accumulateParams struct {
	Points, Sorted, Offsets, Sums, Heads, Tails, TailBucket uint64
	Buckets, Run, First, Threads                            uint32
}

type mergeParams struct {
	Offsets, Sums, Heads, Tails, TailBucket, Segments, Items, Counts uint64
	Buckets, Run, Threads                                            uint32
	_                                                                uint32
}

type reduceParams struct {
	Sums, Weighted, OutSums, OutWeighted uint64
	N, Windows, K, Shift                 uint32
}

type foldParams struct {
	Sums, Weighted, Out uint64
	N, Bits             uint32
}
