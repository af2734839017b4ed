//go:build !purego

#include "textflag.h"

// The modulus, and −1/modulus mod 2^64.
DATA modulus<>+0(SB)/8, $0xffffffff00000001
DATA modulus<>+8(SB)/8, $0x53bda402fffe5bfe
DATA modulus<>+16(SB)/8, $0x3339d80809a1d805
DATA modulus<>+24(SB)/8, $0x73eda753299d7d48
GLOBL modulus<>(SB), RODATA|NOPTR, $32

#define NEGINV $0xfffffffeffffffff

// PRODUCT adds DX times one limb to two limbs: the low half with carry, the high half with overflow.
#define PRODUCT(limb, low, high) \
	MULXQ limb, AX, BX; \
	ADCXQ AX, low;      \
	ADOXQ BX, high

// LIMB adds limb number offset/8 of every x times y to a0…a5, then the multiple of the modulus that makes a0
// zero. CX runs from −32n to 0; R15 is zero.
#define LIMB(loop, offset, a0, a1, a2, a3, a4, a5) \
	MOVQ R14, CX; \
	MOVQ y+16(FP), DI; \
loop: \
	MOVQ  offset(SI)(CX*1), DX; \
	XORQ  R15, R15; \
	PRODUCT(0(DI), a0, a1); \
	PRODUCT(8(DI), a1, a2); \
	PRODUCT(16(DI), a2, a3); \
	PRODUCT(24(DI), a3, a4); \
	ADCXQ R15, a4; \
	ADOXQ R15, a5; \
	ADCXQ R15, a5; \
	ADDQ  $32, DI; \
	ADDQ  $32, CX; \
	JNZ   loop; \
	MOVQ  NEGINV, DX; \
	IMULQ a0, DX; \
	XORQ  R15, R15; \
	PRODUCT(modulus<>+0(SB), a0, a1); \
	PRODUCT(modulus<>+8(SB), a1, a2); \
	PRODUCT(modulus<>+16(SB), a2, a3); \
	PRODUCT(modulus<>+24(SB), a3, a4); \
	ADCXQ R15, a4; \
	ADOXQ R15, a5; \
	ADCXQ R15, a5

// func innerADX(out *wide, x, y *fr.Element, n int)
TEXT ·innerADX(SB), NOSPLIT, $0-32
	MOVQ x+8(FP), SI
	MOVQ n+24(FP), R14
	SHLQ $5, R14
	ADDQ R14, SI
	NEGQ R14
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	XORQ R11, R11
	XORQ R12, R12
	XORQ R13, R13
	LIMB(limb0, 0, R8, R9, R10, R11, R12, R13)
	LIMB(limb1, 8, R9, R10, R11, R12, R13, R8)
	LIMB(limb2, 16, R10, R11, R12, R13, R8, R9)
	LIMB(limb3, 24, R11, R12, R13, R8, R9, R10)
	MOVQ out+0(FP), AX
	MOVQ R12, 0(AX)
	MOVQ R13, 8(AX)
	MOVQ R8, 16(AX)
	MOVQ R9, 24(AX)
	MOVQ R10, 32(AX)
	RET

// CANCEL adds the multiple of the modulus that makes a0 zero. zero is a register that is.
#define CANCEL(zero, a0, a1, a2, a3, a4) \
	MOVQ  NEGINV, DX; \
	IMULQ a0, DX; \
	XORQ  zero, zero; \
	PRODUCT(modulus<>+0(SB), a0, a1); \
	PRODUCT(modulus<>+8(SB), a1, a2); \
	PRODUCT(modulus<>+16(SB), a2, a3); \
	PRODUCT(modulus<>+24(SB), a3, a4); \
	ADCXQ zero, a4

// REDUCE subtracts the modulus from a0…a3 if they are not less. It needs four more registers.
#define REDUCE(a0, a1, a2, a3, b0, b1, b2, b3) \
	MOVQ a0, b0; \
	MOVQ a1, b1; \
	MOVQ a2, b2; \
	MOVQ a3, b3; \
	SUBQ modulus<>+0(SB), b0; \
	SBBQ modulus<>+8(SB), b1; \
	SBBQ modulus<>+16(SB), b2; \
	SBBQ modulus<>+24(SB), b3; \
	CMOVQCC b0, a0; \
	CMOVQCC b1, a1; \
	CMOVQCC b2, a2; \
	CMOVQCC b3, a3

// SQUARE is the square of the element at from, stored at to. It uses all registers but DI.
#define SQUARE(from, to) \
	MOVQ  from+0(DI), DX; \
	MULXQ from+8(DI), R9, R10; \
	MULXQ from+16(DI), AX, R11; \
	ADDQ  AX, R10; \
	MULXQ from+24(DI), AX, R12; \
	ADCQ  AX, R11; \
	ADCQ  $0, R12; \
	MOVQ  from+8(DI), DX; \
	XORQ  CX, CX; \
	PRODUCT(from+16(DI), R11, R12); \
	MULXQ from+24(DI), AX, R13; \
	ADCXQ AX, R12; \
	ADCXQ CX, R13; \
	ADOXQ CX, R13; \
	MOVQ  from+16(DI), DX; \
	MULXQ from+24(DI), AX, R14; \
	ADDQ  AX, R13; \
	ADCQ  $0, R14; \
	XORQ  R15, R15; \
	ADDQ  R9, R9; \
	ADCQ  R10, R10; \
	ADCQ  R11, R11; \
	ADCQ  R12, R12; \
	ADCQ  R13, R13; \
	ADCQ  R14, R14; \
	ADCQ  R15, R15; \
	MOVQ  from+0(DI), DX; \
	MULXQ DX, R8, BX; \
	ADDQ  BX, R9; \
	MOVQ  from+8(DI), DX; \
	MULXQ DX, AX, BX; \
	ADCQ  AX, R10; \
	ADCQ  BX, R11; \
	MOVQ  from+16(DI), DX; \
	MULXQ DX, AX, BX; \
	ADCQ  AX, R12; \
	ADCQ  BX, R13; \
	MOVQ  from+24(DI), DX; \
	MULXQ DX, AX, BX; \
	ADCQ  AX, R14; \
	ADCQ  BX, R15; \
	XORQ  CX, CX; \
	CANCEL(SI, R8, R9, R10, R11, CX); \
	CANCEL(SI, R9, R10, R11, CX, R8); \
	CANCEL(SI, R10, R11, CX, R8, R9); \
	CANCEL(SI, R11, CX, R8, R9, R10); \
	ADDQ  R12, CX; \
	ADCQ  R13, R8; \
	ADCQ  R14, R9; \
	ADCQ  R15, R10; \
	REDUCE(CX, R8, R9, R10, AX, BX, DX, SI); \
	MOVQ  CX, to+0(DI); \
	MOVQ  R8, to+8(DI); \
	MOVQ  R9, to+16(DI); \
	MOVQ  R10, to+24(DI)

// TIMES adds limb number offset/8 of the fourth power times the element at SI, and cancels a0.
#define TIMES(offset, a0, a1, a2, a3, a4) \
	MOVQ  (64+offset)(DI), DX; \
	XORQ  R15, R15; \
	PRODUCT(0(SI), a0, a1); \
	PRODUCT(8(SI), a1, a2); \
	PRODUCT(16(SI), a2, a3); \
	PRODUCT(24(SI), a3, a4); \
	ADCXQ R15, a4; \
	CANCEL(R15, a0, a1, a2, a3, a4)

// func fifthADX(out *[4]fr.Element, post *fr.Element)
TEXT ·fifthADX(SB), NOSPLIT, $0-16
	MOVQ out+0(FP), DI
	SQUARE(0, 32)
	SQUARE(32, 64)
	MOVQ out+0(FP), SI
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	XORQ R11, R11
	XORQ R12, R12
	TIMES(0, R8, R9, R10, R11, R12)
	TIMES(8, R9, R10, R11, R12, R8)
	TIMES(16, R10, R11, R12, R8, R9)
	TIMES(24, R11, R12, R8, R9, R10)
	REDUCE(R12, R8, R9, R10, AX, BX, DX, CX)
	MOVQ post+8(FP), SI
	ADDQ 0(SI), R12
	ADCQ 8(SI), R8
	ADCQ 16(SI), R9
	ADCQ 24(SI), R10
	REDUCE(R12, R8, R9, R10, AX, BX, DX, CX)
	MOVQ out+0(FP), DI
	MOVQ R12, 96(DI)
	MOVQ R8, 104(DI)
	MOVQ R9, 112(DI)
	MOVQ R10, 120(DI)
	RET
