// The passes of the transform, one kernel for each column size and direction of the network, and
// two helpers: transforms of up to four points, and the bit-reversal of an array in place.
//
// Geometry of a pass: 128 threads, one block for each 1024 elements (at least one), 36 KiB of
// static shared memory. Tested by TestGPUNTT and, as twins, by TestNTT.
#include "ntt.cuh"

using namespace cuzk;

#define CUZK_NTT_PASS(R)                                                                           \
  extern "C" __global__ __launch_bounds__(kNttThreads, 4) void ntt_dif_##R(                        \
      const __grid_constant__ NttPassParams p) {                                                   \
    ntt_pass<R, false>(p);                                                                         \
  }                                                                                                \
  extern "C" __global__ __launch_bounds__(kNttThreads, 4) void ntt_dit_##R(                        \
      const __grid_constant__ NttPassParams p) {                                                   \
    ntt_pass<R, true>(p);                                                                          \
  }
CUZK_NTT_PASS(3)
CUZK_NTT_PASS(4)
CUZK_NTT_PASS(5)
CUZK_NTT_PASS(6)
CUZK_NTT_PASS(7)
CUZK_NTT_PASS(8)
CUZK_NTT_PASS(9)
CUZK_NTT_PASS(10)

// Transforms of 1, 2 or 4 points, natural or reversed order on either side:
// dst_k = scale_k * sum over i of shift^i src_i w^(ik). The order of two or more points is natural
// unless `flags` says otherwise (bit 5: input reversed, bit 6: output reversed). One block of 4
// threads; dst may be src.
extern "C" __global__ __launch_bounds__(4) void ntt_small(const __grid_constant__ NttPassParams p) {
  const uint32_t n = 1u << p.log_n, k = threadIdx.x;
  const auto place = [&](uint32_t i, uint32_t bit) {
    return p.log_n == 2 && (p.flags & bit) ? bit_reverse(i, 2) : i;
  };
  Fr sum = Fr::zero();
  if (k < n) {
    for (uint32_t i = 0; i < n; i++) {
      Fr v = p.src[place(i, 32)];
      if (p.flags & kNttShiftIn)
        v = mul(v, power_of(p, i));
      const uint32_t e = (i * k & (n - 1)) << (10 - p.log_n);
      sum = sum + mul(v, root_of(p.roots_small, e, 1024, p.flags & kNttInverse));
    }
    if (p.flags & kNttShiftOut)
      sum = mul(sum, power_of(p, k));
    if (p.flags & kNttScaleOut)
      sum = mul(sum, p.scale);
  }
  __syncthreads();
  if (k < n)
    p.dst[place(k, 64)] = sum;
}

// Swaps elements i and brev(i) of dst. One thread an element, 256 threads a block.
extern "C" __global__
__launch_bounds__(256) void ntt_reverse(const __grid_constant__ NttPassParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >> p.log_n)
    return;
  const uint32_t j = bit_reverse(i, p.log_n);
  if (i >= j)
    return;
  const Fr a = p.dst[i], b = p.dst[j];
  p.dst[i] = b;
  p.dst[j] = a;
}
