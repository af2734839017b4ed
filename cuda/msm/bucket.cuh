#pragma once
// Sums of points by bucket, for one curve: accumulation, merging of what threads share, and the
// weighted sum over buckets. F is Fp (G1) or Fp2 (G2).
#include "../curve/xyzz.hpp"

namespace cuzk {

constexpr uint32_t kNone = 0xffffffffu;
constexpr uint32_t kSignBit = 0x80000000u;
constexpr uint32_t kLightSpan = 8; // buckets over more threads than this are merged by blocks
constexpr uint32_t kSegment = 512; // partial sums that one block adds at first

struct AccumulateParams {  // mirrored by internal/kernels/params.go
  const void *points;      // Affine[]
  const uint32_t *sorted;  // [entries] point indices, the top bit is the sign
  const uint32_t *offsets; // [buckets + 1] where each bucket begins in sorted
  void *sums;              // Xyzz[buckets] out; the untouched ones stay as they are
  void *heads;             // Xyzz[threads] out: the sum for a bucket that began before the thread
  void *tails;             // Xyzz[threads] out: the sum for a bucket that ends after the thread
  uint32_t *tail_bucket;   // [threads] out: bucket of the tail, or kNone
  uint32_t buckets;
  uint32_t run;     // entries of a thread
  uint32_t first;   // number of this launch's first thread
  uint32_t threads; // threads of all launches together
};

struct MergeParams {
  const uint32_t *offsets;     // [buckets + 1]
  void *sums;                  // Xyzz[buckets]
  void *heads;                 // Xyzz[threads]; segments change it
  const void *tails;           // Xyzz[threads]
  const uint32_t *tail_bucket; // [threads]
  uint32_t *segments;          // [2 * capacity]: first partial sum, how many
  uint32_t *items;             // [4 * capacity]: bucket, thread of the tail, first, segments
  uint32_t *counts;            // [2]: lengths of segments and of items; zero before merge
  uint32_t buckets;
  uint32_t run;
  uint32_t threads;
  uint32_t reserved;
};

struct ReduceParams {
  const void *sums;     // Xyzz[windows * n]
  const void *weighted; // Xyzz[windows * n], or null at the first level
  void *out_sums;       // Xyzz[windows * ceil(n / 2^k)]
  void *out_weighted;   // the same length
  uint32_t n;           // entries of a window
  uint32_t windows;
  uint32_t k;     // 2^k entries a thread
  uint32_t shift; // sum of the k of earlier levels
};

struct FoldParams {
  const void *sums;     // Xyzz[windows * n]
  const void *weighted; // Xyzz[windows * n]
  void *out;            // Xyzz[windows * (bits + 1)]
  uint32_t n;           // 2^bits groups of a window
  uint32_t bits;
};

// load reads a value whose size is a multiple of 16 bytes, in pieces of 16.
template <class T> __device__ __forceinline__ T load(const void *array, size_t i) {
  T v;
  const uint4 *from = reinterpret_cast<const uint4 *>(static_cast<const T *>(array) + i);
  uint4 *to = reinterpret_cast<uint4 *>(&v);
#pragma unroll
  for (size_t k = 0; k < sizeof(T) / sizeof(uint4); k++)
    to[k] = from[k];
  return v;
}

// find_bucket is the bucket that holds entry e: the last b with offsets[b] <= e.
__device__ __forceinline__ uint32_t find_bucket(const uint32_t *offsets, uint32_t buckets,
                                                uint32_t e) {
  uint32_t lo = 0, hi = buckets; // offsets[lo] <= e < offsets[hi]
  while (hi - lo > 1) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (offsets[mid] <= e)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

// list_heavy lists bucket b, which begins in thread t and ends in thread u, for the kernels below
// that add up segments and items.
__device__ __forceinline__ void list_heavy(const MergeParams &p, uint32_t t, uint32_t u,
                                           uint32_t b) {
  const uint32_t n = (u - t + kSegment - 1) / kSegment;
  const uint32_t s = atomicAdd(&p.counts[0], n);
  const uint32_t i = atomicAdd(&p.counts[1], 1);
  for (uint32_t k = 0; k < n; k++) {
    p.segments[2 * (s + k)] = t + 1 + k * kSegment;
    p.segments[2 * (s + k) + 1] = min(kSegment, u - t - k * kSegment);
  }
  p.items[4 * i] = b;
  p.items[4 * i + 1] = t;
  p.items[4 * i + 2] = t + 1;
  p.items[4 * i + 3] = n;
}

// A bucket that begins in thread t and ends in thread u is tails[t] + heads[t+1] + ... + heads[u].
// Few terms are added here; many are cut into segments for the kernels below.
template <class F> __device__ __forceinline__ void merge(const MergeParams &p) {
  const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= p.threads)
    return;
  const uint32_t b = p.tail_bucket[t];
  if (b == kNone)
    return;
  const uint32_t u = (p.offsets[b + 1] - 1) / p.run;
  const Xyzz<F> *heads = static_cast<const Xyzz<F> *>(p.heads);
  if (u - t > kLightSpan) {
    list_heavy(p, t, u, b);
    return;
  }
  Xyzz<F> sum = static_cast<const Xyzz<F> *>(p.tails)[t];
#pragma unroll 1
  for (uint32_t k = t + 1; k <= u; k++)
    sum.add(heads[k]);
  static_cast<Xyzz<F> *>(p.sums)[b] = sum;
}

// block_sum adds one sum of each of T threads (a power of two). Result valid in: thread 0.
template <class F, int T> __device__ __forceinline__ void block_sum(Xyzz<F> &sum) {
  __shared__ uint4 shared[T / 2 * sizeof(Xyzz<F>) / sizeof(uint4)];
  Xyzz<F> *half = reinterpret_cast<Xyzz<F> *>(shared);
#pragma unroll 1
  for (uint32_t n = T / 2; n > 0; n /= 2) {
    if (threadIdx.x >= n && threadIdx.x < 2 * n)
      half[threadIdx.x - n] = sum;
    __syncthreads();
    if (threadIdx.x < n)
      sum.add(half[threadIdx.x]);
    __syncthreads();
  }
}

// Each block adds the partial sums of some segments; the result replaces the first of them.
template <class F, int T> __device__ __forceinline__ void segments(const MergeParams &p) {
  Xyzz<F> *heads = static_cast<Xyzz<F> *>(p.heads);
  for (uint32_t s = blockIdx.x; s < p.counts[0]; s += gridDim.x) {
    const uint32_t first = p.segments[2 * s], n = p.segments[2 * s + 1];
    Xyzz<F> sum = Xyzz<F>::inf();
#pragma unroll 1
    for (uint32_t k = threadIdx.x; k < n; k += T)
      sum.add(heads[first + k]);
    __syncthreads(); // all are read
    block_sum<F, T>(sum);
    if (threadIdx.x == 0)
      heads[first] = sum;
  }
}

// Each block finishes some heavy buckets from the sums of their segments.
template <class F, int T> __device__ __forceinline__ void items(const MergeParams &p) {
  const Xyzz<F> *heads = static_cast<const Xyzz<F> *>(p.heads);
  for (uint32_t i = blockIdx.x; i < p.counts[1]; i += gridDim.x) {
    const uint32_t b = p.items[4 * i], t = p.items[4 * i + 1];
    const uint32_t first = p.items[4 * i + 2], n = p.items[4 * i + 3];
    Xyzz<F> sum = threadIdx.x == 0 ? static_cast<const Xyzz<F> *>(p.tails)[t] : Xyzz<F>::inf();
#pragma unroll 1
    for (uint32_t k = threadIdx.x; k < n; k += T)
      sum.add(heads[first + k * kSegment]);
    block_sum<F, T>(sum);
    if (threadIdx.x == 0)
      static_cast<Xyzz<F> *>(p.sums)[b] = sum;
  }
}

// One level of the weighted sum. Of window w, with S_j the sums and W_j the weighted sums of n
// groups, the whole is sum_j W_j + 2^shift sum_j j S_j (at the first level: sum_j (j + 1) S_j).
// A thread makes one group of 2^k.
template <class F> __device__ __forceinline__ void reduce(const ReduceParams &p) {
  const uint32_t groups = (p.n + (1u << p.k) - 1) >> p.k;
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= groups * p.windows)
    return;
  const uint32_t w = i / groups, g = i % groups;
  const uint32_t lo = g << p.k, hi = min(lo + (1u << p.k), p.n);
  const Xyzz<F> *in = static_cast<const Xyzz<F> *>(p.sums) + size_t(w) * p.n;
  Xyzz<F> s = Xyzz<F>::inf(), v = Xyzz<F>::inf();
#pragma unroll 1
  for (uint32_t j = hi; j-- > lo;) {
    s.add(in[j]);
    if (p.weighted == nullptr || j > lo)
      v.add(s);
  }
#pragma unroll 1
  for (uint32_t d = 0; d < p.shift; d++)
    v.dbl();
  if (p.weighted) {
    const Xyzz<F> *win = static_cast<const Xyzz<F> *>(p.weighted) + size_t(w) * p.n;
#pragma unroll 1
    for (uint32_t j = lo; j < hi; j++)
      v.add(win[j]);
  }
  static_cast<Xyzz<F> *>(p.out_sums)[i] = s;
  static_cast<Xyzz<F> *>(p.out_weighted)[i] = v;
}

// The end of the weighted sum: with b below `bits`, out[b] of a window is the sum of the S_j whose
// number has bit b, and out[bits] is the sum of all W_j. Then the whole is
// out[bits] + 2^shift sum_b 2^b out[b], which the host adds up. One block for each b and window.
template <class F, int T> __device__ __forceinline__ void fold(const FoldParams &p) {
  const uint32_t b = blockIdx.x, w = blockIdx.y;
  const bool last = b == p.bits;
  const Xyzz<F> *in = static_cast<const Xyzz<F> *>(last ? p.weighted : p.sums) + size_t(w) * p.n;
  const uint32_t count = last ? p.n : p.n / 2;
  Xyzz<F> sum = Xyzz<F>::inf();
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < count; i += T) {
    const uint32_t low = (1u << b) - 1;
    sum.add(in[last ? i : (i & ~low) << 1 | (low + 1) | (i & low)]);
  }
  block_sum<F, T>(sum);
  if (threadIdx.x == 0)
    static_cast<Xyzz<F> *>(p.out)[w * (p.bits + 1) + b] = sum;
}

} // namespace cuzk
