#pragma once
// Products of one point with many scalars, from a table of its multiples: for each window w of c
// bits the multiples of 2^(cw) times the point by 1 to 2^(c-1).
#include "points.cuh"

namespace cuzk {

struct ExtendParams { // mirrored by internal/kernels/params.go
  const void *table;  // Affine[windows * half]: of each window the first `have` are there
  void *sums;         // Xyzz[n] out: the next `have` of each window, window by window
  uint32_t first;     // number of the first of these
  uint32_t n;
  uint32_t have;
  uint32_t half; // 2^(c-1)
};

struct FixedParams {
  const void *table; // Affine[windows << (c-1)]
  const Fr *scalars; // [n]
  void *sums;        // Xyzz[n] out
  uint32_t n;
  uint32_t c;
  uint32_t windows;
  uint32_t montgomery; // scalars are in Montgomery form
  uint32_t offset[11]; // sum over all windows w of 2^(cw + c - 1)
  uint32_t reserved;
};

// Multiple have + 1 + j is multiple `have` plus multiple 1 + j.
template <class F> __device__ __forceinline__ void extend_table(const ExtendParams &p) {
  const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= p.n)
    return;
  const uint32_t i = p.first + k;
  const size_t window = size_t(i / p.have) * p.half;
  Xyzz<F> sum = Xyzz<F>::from_affine(fetch<Affine<F>>(p.table, window + p.have - 1));
  sum.add(fetch<Affine<F>>(p.table, window + i % p.have));
  put(p.sums, k, sum);
}

// Digits are the digits of a scalar s: of |s| + offset the groups of c bits, less 2^(c-1). They are
// read at run-time positions, so they lie in local memory and take no registers from the sum.
struct Digits {
  uint32_t v[11];
  bool negative; // r - s was taken, because it is below s

  __device__ __forceinline__ Digits(const Fr &s, const uint32_t *offset) {
    const Fr t = s.neg();
    sub_cc(t.limb[0], s.limb[0]);
#pragma unroll
    for (int k = 1; k < Fr::N; k++)
      subc_cc(t.limb[k], s.limb[k]);
    negative = subc(0, 0) != 0;
    uint32_t sum[11];
#pragma unroll
    for (int k = 0; k < 11; k++)
      sum[k] = k >= Fr::N ? 0 : negative ? t.limb[k] : s.limb[k];
    v[0] = add_cc(sum[0], offset[0]);
#pragma unroll
    for (int k = 1; k < 11; k++)
      v[k] = addc_cc(sum[k], offset[k]);
  }

  // group is group w of c bits, for c (w + 1) below 320.
  __device__ __forceinline__ uint32_t group(uint32_t w, uint32_t c) const {
    const uint32_t bit = w * c;
    return __funnelshift_r(v[bit / 32], v[bit / 32 + 1], bit % 32) & ((1u << c) - 1);
  }
};

template <class F> __device__ __forceinline__ void fixed_mul(const FixedParams &p) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n)
    return;
  Fr s = fetch<Fr>(p.scalars, i);
  if (p.montgomery)
    s = s.from_mont();
  const Digits digits(s, p.offset);
  const uint32_t half = 1u << (p.c - 1);
  Xyzz<F> sum = Xyzz<F>::inf();
#pragma unroll 1
  for (uint32_t w = 0; w < p.windows; w++) {
    const uint32_t u = digits.group(w, p.c);
    if (u == half)
      continue;
    const bool below = u < half;
    const uint32_t multiple = below ? half - u : u - half;
    Affine<F> q = fetch<Affine<F>>(p.table, size_t(w) * half + multiple - 1);
    if (below != digits.negative)
      q.y = q.y.neg();
    sum.add(q);
  }
  put(p.sums, i, sum);
}

} // namespace cuzk
