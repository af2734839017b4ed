//go:build !purego

#include "textflag.h"

// func prefetch96(p unsafe.Pointer)
TEXT ·prefetch96(SB), NOSPLIT, $0-8
	MOVQ       p+0(FP), AX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	RET
