// The integer part of a multi-scalar multiplication: scalars to lists of point indices, sorted by
// bucket. Nothing here knows the curve.
//
// A scalar s is written in signed digits of c bits: s or r - s, whichever is below r/2, is sum over
// windows w of d_w 2^(cw) with -2^(c-1) <= d_w < 2^(c-1). Bucket |d| - 1 of window w collects the
// points with digit +-|d|. Tested by TestGPUMSM and, as twins, by TestMSM.
#include "../field/call.hpp"

namespace cuzk {

constexpr uint32_t kNoBucket = 0xffffffffu;
constexpr uint32_t kSign = 0x80000000u;

struct ClassifyParams { // mirrored by internal/kernels/params.go
  const Fr *scalars;    // [n]
  uint32_t *dense;      // [n] out: indices of scalars other than 0 and 1
  uint32_t *ones;       // [n] out: indices of scalars that are 1
  uint32_t *counts;     // [2] out: lengths of the two lists; zero before the launch
  uint32_t n;
  uint32_t montgomery; // scalars are in Montgomery form
};

struct DigitsParams {
  const Fr *scalars;     // [n]
  const uint32_t *dense; // [m] indices into scalars
  uint32_t *codes;       // [windows * m] out: bucket and sign, or kNoBucket
  uint32_t *ranks;       // [windows * m] out: how many came before it in the bucket
  uint32_t *counts;      // [windows * 2^(c-1)] out: sizes of the buckets; zero before the launch
  uint32_t m;
  uint32_t first;   // number of the first window
  uint32_t windows; // how many of them
  uint32_t c;       // bits of a window
  uint32_t montgomery;
  uint32_t offset[11]; // sum over all windows w of 2^(cw + c - 1)
};

struct ScanParams {
  uint32_t *values; // [n + 1]: counts before, their exclusive prefix sums and total after
  uint32_t *sums;   // [blocks + 1]: sum of each block's values
  uint32_t n;
  uint32_t blocks; // ceil((n + 1) / 4096)
};

struct ScatterParams {
  const uint32_t *dense;   // [m]
  const uint32_t *codes;   // [windows * m]
  const uint32_t *ranks;   // [windows * m]
  const uint32_t *offsets; // [windows * 2^(c-1)] where each bucket begins
  uint32_t *sorted;        // out: point indices with their sign
  uint32_t m;
  uint32_t windows;
  uint32_t c;
  uint32_t reserved;
};

struct BitsParams {
  const uint32_t *bits; // [words] bit i is bit i%32 of word i/32
  const uint32_t *mask; // [words] which bits have a point; null: all
  const uint32_t *rank; // [words] points of the words before this one; null without mask
  uint32_t *list;       // out: points of the set bits
  uint32_t *counts;     // [1] out: length of the list; zero before the launch
  uint32_t words;
  uint32_t last; // the bits of the last word that count
};

// reserve gives each thread of a block of 256 the place for its `count` items in a list whose
// length is *total. All threads call it. Result valid in: all threads.
__device__ __forceinline__ uint32_t reserve(uint32_t count, uint32_t *total) {
  __shared__ uint32_t warp_sum[8], block_base;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  uint32_t sum = count;
#pragma unroll
  for (uint32_t d = 1; d < 32; d *= 2) {
    const uint32_t v = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d)
      sum += v;
  }
  if (lane == 31)
    warp_sum[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t all = 0;
    for (int i = 0; i < 8; i++) {
      const uint32_t v = warp_sum[i];
      warp_sum[i] = all;
      all += v;
    }
    block_base = all ? atomicAdd(total, all) : 0;
  }
  __syncthreads();
  const uint32_t place = block_base + warp_sum[warp] + sum - count;
  __syncthreads(); // the next call writes the shared words again
  return place;
}

} // namespace cuzk

using namespace cuzk;

// Makes the lists of scalars that are neither 0 nor 1, and that are 1. One thread a scalar, 256 a
// block. The order inside a block is kept, that of blocks is not.
extern "C" __global__
__launch_bounds__(256) void msm_classify(const __grid_constant__ ClassifyParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  bool one = false, dense = false;
  if (i < p.n) {
    const Fr s = p.scalars[i];
    uint32_t rest = 0, from_one = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
      const uint32_t want = p.montgomery ? FrParams::one(k) : (k == 0);
      rest |= s.limb[k];
      from_one |= s.limb[k] ^ want;
    }
    one = from_one == 0;
    dense = rest != 0 && !one;
  }
  const uint32_t d = reserve(dense, p.counts);
  if (dense)
    p.dense[d] = i;
  const uint32_t o = reserve(one, p.counts + 1);
  if (one)
    p.ones[o] = i;
}

// Digits of the windows first .. first + windows - 1 and the sizes of their buckets. One thread a
// scalar, 256 a block. The digit of window w is the w-th group of c bits of |s| + offset, less
// 2^(c-1).
extern "C" __global__
__launch_bounds__(256) void msm_digits(const __grid_constant__ DigitsParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.m)
    return;
  Fr s = p.scalars[p.dense[i]];
  if (p.montgomery)
    s = s.from_mont();
  const Fr t = s.neg(); // r - s, taken if it is below s
  sub_cc(t.limb[0], s.limb[0]);
#pragma unroll
  for (int k = 1; k < 8; k++)
    subc_cc(t.limb[k], s.limb[k]);
  const uint32_t less = subc(0, 0);
  const uint32_t sign = less ? kSign : 0;
  uint32_t v[11];
#pragma unroll
  for (int k = 0; k < 8; k++)
    v[k] = less ? t.limb[k] : s.limb[k];
  v[8] = v[9] = v[10] = 0;
  v[0] = add_cc(v[0], p.offset[0]);
#pragma unroll
  for (int k = 1; k < 11; k++)
    v[k] = addc_cc(v[k], p.offset[k]);
  const uint32_t half = 1u << (p.c - 1);
  for (uint32_t w = 0; w < p.first + p.windows; w++) {
    const uint32_t u = v[0] & (2 * half - 1);
#pragma unroll
    for (int k = 0; k < 10; k++)
      v[k] = __funnelshift_r(v[k], v[k + 1], p.c);
    v[10] >>= p.c;
    if (w < p.first)
      continue;
    const size_t at = size_t(w - p.first) * p.m + i;
    if (u == half) {
      p.codes[at] = kNoBucket;
      continue;
    }
    const uint32_t bucket = u > half ? u - half - 1 : half - u - 1;
    p.codes[at] = bucket | (sign ^ (u < half ? kSign : 0));
    p.ranks[at] = atomicAdd(&p.counts[(size_t(w - p.first) << (p.c - 1)) + bucket], 1);
  }
}

// scan_sums: sums[b] = sum of values[4096 b .. 4096 b + 4095], values[n] taken as 0. 256 threads a
// block, 16 values a thread.
extern "C" __global__
__launch_bounds__(256) void msm_scan_sums(const __grid_constant__ ScanParams p) {
  uint32_t sum = 0;
  for (uint32_t k = 0; k < 16; k++) {
    const uint32_t i = blockIdx.x * 4096 + k * 256 + threadIdx.x;
    if (i < p.n)
      sum += p.values[i];
  }
  __shared__ uint32_t total;
  if (threadIdx.x == 0)
    total = 0;
  __syncthreads();
  atomicAdd(&total, __reduce_add_sync(0xffffffffu, sum) * ((threadIdx.x & 31) == 0));
  __syncthreads();
  if (threadIdx.x == 0)
    p.sums[blockIdx.x] = total;
}

// block_scan is the exclusive prefix sum of v over 1024 threads. Result valid in: all threads.
__device__ __forceinline__ uint32_t block_scan(uint32_t v, uint32_t &total) {
  __shared__ uint32_t warp_sum[32];
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  uint32_t sum = v;
#pragma unroll
  for (uint32_t d = 1; d < 32; d *= 2) {
    const uint32_t x = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d)
      sum += x;
  }
  __syncthreads();
  if (lane == 31)
    warp_sum[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    uint32_t s = warp_sum[lane];
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
      const uint32_t x = __shfl_up_sync(0xffffffffu, s, d);
      if (lane >= d)
        s += x;
    }
    warp_sum[lane] = s;
  }
  __syncthreads();
  total = warp_sum[31];
  return sum - v + (warp ? warp_sum[warp - 1] : 0);
}

// scan_spine: exclusive prefix sums of sums[0 .. blocks-1] in place. One block of 1024 threads.
extern "C" __global__
__launch_bounds__(1024) void msm_scan_spine(const __grid_constant__ ScanParams p) {
  uint32_t before = 0;
  for (uint32_t base = 0; base < p.blocks; base += 1024) {
    const uint32_t i = base + threadIdx.x;
    uint32_t total;
    const uint32_t v = i < p.blocks ? p.sums[i] : 0;
    const uint32_t s = block_scan(v, total);
    if (i < p.blocks)
      p.sums[i] = before + s;
    before += total;
  }
}

// scan_apply: values[i] = sum of the values before it, for i = 0 .. n. 1024 threads a block, four
// neighbouring values a thread.
extern "C" __global__
__launch_bounds__(1024) void msm_scan_apply(const __grid_constant__ ScanParams p) {
  const uint32_t i = blockIdx.x * 4096 + threadIdx.x * 4;
  uint32_t v[4], total;
#pragma unroll
  for (uint32_t k = 0; k < 4; k++)
    v[k] = i + k < p.n ? p.values[i + k] : 0;
  uint32_t s = p.sums[blockIdx.x] + block_scan(v[0] + v[1] + v[2] + v[3], total);
#pragma unroll
  for (uint32_t k = 0; k < 4; k++) {
    if (i + k <= p.n)
      p.values[i + k] = s;
    s += v[k];
  }
}

// sorted[offset of the bucket + rank] = point index and sign. One thread a code, 256 a block.
extern "C" __global__
__launch_bounds__(256) void msm_scatter(const __grid_constant__ ScatterParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x, w = blockIdx.y;
  if (i >= p.m)
    return;
  const size_t at = size_t(w) * p.m + i;
  const uint32_t code = p.codes[at];
  if (code == kNoBucket)
    return;
  const uint32_t bucket = code & ~kSign;
  p.sorted[p.offsets[(size_t(w) << (p.c - 1)) + bucket] + p.ranks[at]] =
      p.dense[i] | (code & kSign);
}

// The points of the set bits: bit i has point i, or with a mask the point whose number is the count
// of mask bits below i. One thread a word, 256 a block.
extern "C" __global__ __launch_bounds__(256) void bits_list(const __grid_constant__ BitsParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  uint32_t word = 0, mask = 0xffffffffu, first = i * 32;
  if (i < p.words) {
    word = p.bits[i];
    if (p.mask) {
      mask = p.mask[i];
      first = p.rank[i];
    }
    word &= mask;
    if (i == p.words - 1)
      word &= p.last;
  }
  uint32_t at = reserve(__popc(word), p.counts);
  for (; word; word &= word - 1) {
    const uint32_t below = (word & -word) - 1;
    p.list[at++] = first + __popc(mask & below);
  }
}
