#pragma once
// Fp2 over two neighbouring lanes of a warp: the even one holds c0, the odd one c1. Each needs half
// of the registers of a value, and a product is one call with one reduction in each lane.
#include "xyzz.hpp"

namespace cuzk {

constexpr uint32_t kAllLanes = 0xffffffffu;

// Half is this lane's part of an element. All lanes of the warp call everything together: a mask of
// only the pair would cost a synchronization for each exchanged limb.
struct Half {
  Fp v;

  static __device__ __forceinline__ bool odd() { return threadIdx.x & 1; }
  // from is the part of the lane that bit 0 of `lane` names.
  __device__ __forceinline__ Fp from(uint32_t lane) const {
    Fp r;
#pragma unroll
    for (int k = 0; k < Fp::N; k++)
      r.limb[k] = __shfl_sync(kAllLanes, v.limb[k], (threadIdx.x & 30) | lane);
    return r;
  }
  __device__ __forceinline__ Fp other() const {
    Fp r;
#pragma unroll
    for (int k = 0; k < Fp::N; k++)
      r.limb[k] = __shfl_xor_sync(kAllLanes, v.limb[k], 1);
    return r;
  }
  // both says of a pair whether the condition holds in both lanes.
  static __device__ __forceinline__ bool both(bool c) {
    return (__ballot_sync(kAllLanes, c) >> (threadIdx.x & 30) & 3) == 3;
  }

  static __device__ __forceinline__ Half zero() { return {Fp::zero()}; }
  static __device__ __forceinline__ Half one() {
    Half r;
#pragma unroll
    for (int k = 0; k < Fp::N; k++)
      r.v.limb[k] = odd() ? 0 : FpParams::one(k);
    return r;
  }
  __device__ __forceinline__ bool is_zero() const { return both(v.is_zero()); }
  __device__ __forceinline__ Half dbl() const { return {v.dbl()}; }
  __device__ __forceinline__ Half neg() const { return {v.neg()}; }
  friend __device__ __forceinline__ Half operator+(const Half &a, const Half &b) {
    return {a.v + b.v};
  }
  friend __device__ __forceinline__ Half operator-(const Half &a, const Half &b) {
    return {a.v - b.v};
  }
};

// cross is what the other lane's part of a factor is multiplied with, of the factor b: its c1 with
// the sign that u^2 = -1 gives it.
__device__ __forceinline__ Fp cross(const Half &b) {
  Fp d = b.from(1);
  const Fp n = d.complement();
#pragma unroll
  for (int k = 0; k < Fp::N; k++)
    d.limb[k] = Half::odd() ? d.limb[k] : n.limb[k];
  return d;
}
// The even lane makes a0 b0 + a1 (p - b1), the odd one a1 b0 + a0 b1.
__device__ __forceinline__ Half mul(const Half &a, const Half &b) {
  return {mul_add(a.v, b.from(0), a.other(), cross(b))};
}
// The even lane makes (a0 + a1)(a0 - a1), the odd one (a0 + a0) a1.
__device__ __forceinline__ Half sqr(const Half &a) {
  const Fp o = a.other();
  Fp x = a.v, y = a.v - o;
#pragma unroll
  for (int k = 0; k < Fp::N; k++) {
    x.limb[k] = Half::odd() ? o.limb[k] : x.limb[k];
    y.limb[k] = Half::odd() ? a.v.limb[k] : y.limb[k];
  }
  return {mul(Fp::add_lazy(x, o), y)};
}
__device__ __forceinline__ Half mul_sub(const Half &a, const Half &b, const Half &c,
                                        const Half &d) {
  return mul(a, b) - mul(c, d);
}

} // namespace cuzk
