// Chains of field operations: they measure the rate of a field and check the card's arithmetic
// against gnark-crypto's.
#include "fp2.hpp"

namespace cuzk {

struct ChainParams { // mirrored by internal/kernels/params.go
  const void *in;    // [n] elements, and n more: the second operands
  void *out;         // [n]
  uint32_t n;
  uint32_t rounds;
};

// out[i] = x after `rounds` times x = step(x, y), from x = in[i], y = in[n + i]. One thread an
// element, no shared memory. out may be in.
template <class F, class Step>
__device__ __forceinline__ void run_chain(const ChainParams &p, Step step) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n)
    return;
  F x = static_cast<const F *>(p.in)[i];
  const F y = static_cast<const F *>(p.in)[p.n + i];
#pragma unroll 1
  for (uint32_t r = 0; r < p.rounds; r++)
    x = step(x, y);
  static_cast<F *>(p.out)[i] = x;
}

} // namespace cuzk

using namespace cuzk;

// x = x * y in the base field. 1,024 threads a block keep the multiplier a little busier than 256;
// tested by TestGPUChains.
extern "C" __global__
__launch_bounds__(1024) void chain_fp_mul(const __grid_constant__ ChainParams p) {
  run_chain<Fp>(p, [](const Fp &x, const Fp &y) { return x * y; });
}
// x = x^2 + y in the base field: the wide square and its reduction.
extern "C" __global__
__launch_bounds__(256) void chain_fp_sqr(const __grid_constant__ ChainParams p) {
  run_chain<Fp>(p, [](const Fp &x, const Fp &y) { return x.sqr() + y; });
}
// x = x * y - (x + y) * x in the base field with one reduction.
extern "C" __global__
__launch_bounds__(256) void chain_fp_mul_sub(const __grid_constant__ ChainParams p) {
  run_chain<Fp>(p, [](const Fp &x, const Fp &y) { return Fp::mul_sub(x, y, x + y, x); });
}
// x = x * y in the scalar field.
extern "C" __global__
__launch_bounds__(256) void chain_fr_mul(const __grid_constant__ ChainParams p) {
  run_chain<Fr>(p, [](const Fr &x, const Fr &y) { return x * y; });
}
// x = (x + y)^2 - x in the scalar field.
extern "C" __global__
__launch_bounds__(256) void chain_fr_sqr(const __grid_constant__ ChainParams p) {
  run_chain<Fr>(p, [](const Fr &x, const Fr &y) { return (x + y).sqr() - x; });
}
// x = x * y in Fp2.
extern "C" __global__
__launch_bounds__(256) void chain_fp2_mul(const __grid_constant__ ChainParams p) {
  run_chain<Fp2>(p, [](const Fp2 &x, const Fp2 &y) { return x * y; });
}
