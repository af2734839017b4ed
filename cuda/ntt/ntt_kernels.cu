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

// A tile is a square of 32 by 32 elements: element (a, b) of tile m stands at a 2^(log_n-5) + 32 m
// + b of the array, and after the reversal at (brev b, brev a) of tile brev m.
constexpr uint32_t kTileLog = 5;

__device__ __forceinline__ size_t tile_place(const NttPassParams &p, uint32_t m, uint32_t k) {
  const uint32_t a = (threadIdx.x >> kTileLog) + 8 * k, b = threadIdx.x & 31;
  return size_t(a) << (p.log_n - kTileLog) | m << kTileLog | b;
}

// tile_store writes the reversed tile to its place m. All threads of the block call it. Columns are
// shuffled in shared memory so that neither rows nor columns meet in a bank.
__device__ __forceinline__ void tile_store(const NttPassParams &p, const Fr (&v)[4], uint32_t m,
                                           uint4 (&sh)[2][1024]) {
  const uint32_t row = threadIdx.x >> kTileLog, b = threadIdx.x & 31;
  __syncthreads(); // what was in it has been read
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) {
    const uint32_t a = row + 8 * k, q = a << kTileLog | (b ^ bit_reverse(a, kTileLog));
    const uint4 *half = reinterpret_cast<const uint4 *>(&v[k]);
    sh[0][q] = half[0], sh[1][q] = half[1];
  }
  __syncthreads();
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) {
    const uint32_t a = row + 8 * k;
    const uint32_t q = bit_reverse(b, kTileLog) << kTileLog | (bit_reverse(a, kTileLog) ^ b);
    Fr r;
    uint4 *half = reinterpret_cast<uint4 *>(&r);
    half[0] = sh[0][q], half[1] = sh[1][q];
    p.dst[tile_place(p, m, k)] = r;
  }
}

// Swaps elements i and brev(i) of dst, 256 threads a block: one thread an element below 2^10
// elements, else one block for each tile of 1024 and 32 KiB of shared memory.
extern "C" __global__
__launch_bounds__(256) void ntt_reverse(const __grid_constant__ NttPassParams p) {
  __shared__ uint4 sh[2][1024];
  if (p.log_n < 2 * kTileLog) {
    const uint32_t i = blockIdx.x * 256 + threadIdx.x;
    const uint32_t j = bit_reverse(i, p.log_n);
    if (i >> p.log_n || i >= j)
      return;
    const Fr a = p.dst[i], b = p.dst[j];
    p.dst[i] = b;
    p.dst[j] = a;
    return;
  }
  const uint32_t m = blockIdx.x, bits = p.log_n - 2 * kTileLog;
  const uint32_t other = bits ? bit_reverse(m, bits) : 0;
  if (other < m)
    return;
  Fr u[4], v[4];
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) {
    u[k] = p.dst[tile_place(p, m, k)];
    v[k] = p.dst[tile_place(p, other, k)];
  }
  tile_store(p, u, other, sh);
  if (other != m)
    tile_store(p, v, m, sh);
}
