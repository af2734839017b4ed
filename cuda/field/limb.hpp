#pragma once
// Single 32-bit limbs with a carry that goes from one call to the next.
//
// On the card each function is one PTX instruction; the carry lives in the condition code, which
// nothing but the next instruction of a chain may use. On the host the carry is a variable, so the
// same chains are tested there. A function whose name ends in _cc sets the carry; addc, subc and
// madc use it. The pairs are lo + hi * 2^32 = a * b + c + d * 2^32 (+ carry).
#include <stdint.h>

#ifdef __CUDACC__
#define CUZK_HD __host__ __device__ __forceinline__
#else
#define CUZK_HD inline
#endif

#ifdef __CUDA_ARCH__
#define CUZK_UNROLL _Pragma("unroll")
#else
#define CUZK_UNROLL
#endif

namespace cuzk {

#ifndef __CUDA_ARCH__
// host_carry is the carry of the chain in progress.
inline uint32_t &host_carry() {
  static thread_local uint32_t carry;
  return carry;
}
#endif

#ifdef __CUDA_ARCH__
#define CUZK_OP2(name, ptx)                                                                        \
  CUZK_HD uint32_t name(uint32_t a, uint32_t b) {                                                  \
    uint32_t r;                                                                                    \
    asm volatile(ptx ".u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));                               \
    return r;                                                                                      \
  }
CUZK_OP2(add_cc, "add.cc")
CUZK_OP2(addc_cc, "addc.cc")
CUZK_OP2(addc, "addc")
CUZK_OP2(sub_cc, "sub.cc")
CUZK_OP2(subc_cc, "subc.cc")
CUZK_OP2(subc, "subc")
#undef CUZK_OP2
// The pair is one statement: apart, the compiler does not always make one wide instruction of it.
#define CUZK_PAIR(name, first, second)                                                             \
  CUZK_HD void name(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {  \
    asm volatile(first ".u32 %0, %2, %3, %4;\n\t" second ".u32 %1, %2, %3, %5;"                    \
                 : "=&r"(lo), "=r"(hi)                                                             \
                 : "r"(a), "r"(b), "r"(c), "r"(d));                                                \
  }
CUZK_PAIR(mad_pair_cc, "mad.lo.cc", "madc.hi.cc")
CUZK_PAIR(madc_pair_cc, "madc.lo.cc", "madc.hi.cc")
CUZK_PAIR(madc_pair, "madc.lo.cc", "madc.hi")
#undef CUZK_PAIR
// mul_wide_limb is the whole product. Written in C it becomes two instructions.
CUZK_HD void mul_wide_limb(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b) {
  asm volatile("{\n\t.reg .u64 t;\n\tmul.wide.u32 t, %2, %3;\n\tmov.b64 {%0, %1}, t;\n\t}"
               : "=r"(lo), "=r"(hi)
               : "r"(a), "r"(b));
}
#else
// sum returns the low half of v and keeps the high half as the carry.
inline uint32_t host_sum(uint64_t v) {
  host_carry() = uint32_t(v >> 32);
  return uint32_t(v);
}
// On a borrow the high half of v is all ones: the carry becomes 1.
inline uint32_t host_difference(uint64_t v) {
  host_carry() = uint32_t(v >> 32) & 1;
  return uint32_t(v);
}
inline uint32_t host_hi(uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }
inline void mul_wide_limb(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b) {
  lo = a * b, hi = host_hi(a, b);
}
inline uint32_t add_cc(uint32_t a, uint32_t b) { return host_sum(uint64_t(a) + b); }
inline uint32_t addc_cc(uint32_t a, uint32_t b) { return host_sum(uint64_t(a) + b + host_carry()); }
inline uint32_t addc(uint32_t a, uint32_t b) { return a + b + host_carry(); }
inline uint32_t sub_cc(uint32_t a, uint32_t b) { return host_difference(uint64_t(a) - b); }
inline uint32_t subc_cc(uint32_t a, uint32_t b) {
  return host_difference(uint64_t(a) - b - host_carry());
}
inline uint32_t subc(uint32_t a, uint32_t b) { return a - b - host_carry(); }
// host_pair is lo + hi * 2^32 = a * b + c + d * 2^32 + carry; what is left is the new carry.
inline void host_pair(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                      uint32_t carry) {
  const uint64_t v = uint64_t(a) * b, w = uint64_t(d) << 32 | c;
  const uint64_t sum = v + w, all = sum + carry;
  host_carry() = uint32_t(sum < v) | uint32_t(all < sum);
  lo = uint32_t(all), hi = uint32_t(all >> 32);
}
inline void mad_pair_cc(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b, uint32_t c,
                        uint32_t d) {
  host_pair(lo, hi, a, b, c, d, 0);
}
inline void madc_pair_cc(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b, uint32_t c,
                         uint32_t d) {
  host_pair(lo, hi, a, b, c, d, host_carry());
}
inline void madc_pair(uint32_t &lo, uint32_t &hi, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  host_pair(lo, hi, a, b, c, d, host_carry());
}
#endif

} // namespace cuzk
