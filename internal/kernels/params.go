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
	A, B, Out uint64
	_         uint64
	Scale     fr.Element
	N         uint32
	_         [3]uint32
}

type gatherParams struct {
	In, Index, Out uint64
	N              uint32
	_              uint32
}

type unequalParams struct {
	A, B, C, First uint64
	N              uint32
	_              uint32
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
	Bits, Mask, Rank, List, Counts uint64
	Words, Last                    uint32
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

type spmvTemplate struct {
	FirstBlock, Items, FirstHead, Instances uint32
	FirstInstance, Slots, FirstSlot         uint32
	_                                       uint32
}

type spmvParams struct {
	Templates, Owners, Heads, Terms, Places, Values uint64
	Instances, Slots, Inputs, Bits, Dense           uint64
	Out                                             [3]uint64
}

type decodeParams struct {
	Raw, Points, Place, Fault uint64
	N, Room                   uint32
	Base                      uint64
}

type checkParams struct {
	Points, Fault, Base uint64
	N                   uint32
	_                   uint32
}

type encodeParams struct {
	Points, Raw uint64
	N           uint32
	_           uint32
}

type toAffineParams struct {
	Sums, Points                       uint64
	First, N, Run, Group, Pitch, Start uint32
}

type extendParams struct {
	Table, Sums          uint64
	First, N, Have, Half uint32
}

type fixedParams struct {
	Table, Scalars, Sums      uint64
	N, C, Windows, Montgomery uint32
	Offset                    [11]uint32
	_                         uint32
}

type powersParams struct {
	Out      uint64
	First, N uint32
	Scale    fr.Element
	Square   [32]fr.Element
}
