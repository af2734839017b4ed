#pragma once
// One pass of a number-theoretic transform over Fr: 2^R-point transforms of columns.
//
// A transform of 2^k points is a few passes. Pass with (R, s): the array is cut into blocks of
// 2^(s+R) elements; in each, element (t, j), at t * 2^s + j, belongs to column j. The pass
// transforms every column over t. Decimation in frequency (DIF) takes natural order to bit-reversed
// order, passes from the largest s to 0, each followed by a multiplication of position (p, j) by
// w^(brev(p) j), w of order 2^(s+R). Decimation in time (DIT) is the same network run backwards.
//
// A thread block of 128 threads holds 1024 elements: 2^(10-R) columns. A thread holds 8 elements in
// registers and does three levels on them, then the block exchanges elements through shared memory.
#include "../field/call.hpp"

namespace cuzk {

constexpr int kNttThreads = 128;
constexpr int kNttElements = 8 * kNttThreads;
constexpr int kNttMaxLog = 28;   // of a transform
constexpr int kRootLowLog = 10;  // roots_low has 2^10 entries, roots_high 2^18
constexpr int kShiftLowLog = 14; // shift_low and shift_high have 2^14 entries each

enum NttFlags : uint32_t {
  kNttInverse = 1,     // use the inverse roots
  kNttShiftIn = 2,     // multiply the input at logical index i by shift^i
  kNttShiftOut = 4,    // multiply the output at logical index i by shift^i
  kNttScaleOut = 8,    // multiply the output by scale
  kNttReversedOut = 16 // DIF with s = 0: write position i to its bit-reversed place
};

struct NttPassParams {   // mirrored by internal/kernels/params.go
  const Fr *src;         // [2^log_n]
  Fr *dst;               // [2^log_n]; src itself unless kNttReversedOut with more than one block
  const Fr *roots_small; // [2^10]: powers of a root of order 2^10
  const Fr *roots_high;  // [2^18]: w^(i * 2^10), w of order 2^28
  const Fr *roots_low;   // [2^10]: w^i
  const Fr *shift_high;  // [2^14]: shift^(i * 2^14), or null
  const Fr *shift_low;   // [2^14]: shift^i, or null
  Fr scale;
  uint32_t log_n;
  uint32_t log_stride; // s
  uint32_t flags;
  uint32_t reserved;
};

// root_of is w^e or, for the inverse, w^-e, from a table of `size` powers.
__device__ __forceinline__ Fr root_of(const Fr *table, uint32_t e, uint32_t size, bool inverse) {
  return table[inverse ? (size - e) & (size - 1) : e];
}

// power_of is shift^i.
__device__ __forceinline__ Fr power_of(const NttPassParams &p, uint32_t i) {
  return mul(p.shift_high[i >> kShiftLowLog], p.shift_low[i & ((1u << kShiftLowLog) - 1)]);
}

// bit_reverse reverses the low n bits of v, 1 <= n.
__device__ __forceinline__ uint32_t bit_reverse(uint32_t v, uint32_t n) {
  return __brev(v) >> (32 - n);
}

// Shared memory holds eight planes of 1024 limbs. One unused word after each eight keeps the
// access patterns of all stages free of bank conflicts.
constexpr int kNttPlane = kNttElements + kNttElements / 8;
__device__ __forceinline__ int padded(int q) { return q + (q >> 3); }

// NttBlock is a thread's view of the block's columns.
template <int R> struct NttBlock {
  static constexpr int M = 1 << R;           // points of a column
  static constexpr int C = kNttElements / M; // columns of the block
  static constexpr int T = M / 8;            // threads of a column
  int col, l;                                // column in the block, thread in the column
  int unit, step;                            // shared memory index of (t, col): t * step + unit

  // rows: columns lie one after the other in memory (s = 0), so neighbouring threads take
  // neighbouring t; else neighbouring threads take neighbouring columns.
  __device__ __forceinline__ NttBlock(int tid, bool rows) {
    col = rows ? tid / T : tid % C;
    l = rows ? tid % T : tid / C;
    unit = rows ? col * M : col;
    step = rows ? 1 : C;
  }
  // t of the thread's k-th element when its elements are D apart.
  template <int D> __device__ __forceinline__ int t(int k) const {
    return (l / D) * 8 * D + k * D + l % D;
  }
  // exchange moves the elements from distance D to distance E. All threads of the block call it.
  template <int D, int E> __device__ __forceinline__ void exchange(Fr (&v)[8], uint32_t *sh) const {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) {
      const int q = padded(t<D>(k) * step + unit);
#pragma unroll
      for (int i = 0; i < 8; i++)
        sh[i * kNttPlane + q] = v[k].limb[i];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; k++) {
      const int q = padded(t<E>(k) * step + unit);
#pragma unroll
      for (int i = 0; i < 8; i++)
        v[k].limb[i] = sh[i * kNttPlane + q];
    }
  }
};

// level does the butterflies between elements H apart in registers, D apart each: pairs at distance
// h = H * D in t. DIF: (u + v, (u - v) w), DIT: (u + w v, u - w v), w of order 2h to the power t
// mod h. Where that power is zero for all threads (D = 1, first of a group) no product is made.
template <int H, int D, bool DIT>
__device__ __forceinline__ void level(Fr (&v)[8], const NttPassParams &p, int d) {
  const bool inverse = p.flags & kNttInverse;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    if (k & H)
      continue;
    const int pos = (k & (H - 1)) * D + d;
    const bool trivial = D == 1 && (k & (H - 1)) == 0;
    if (DIT) {
      if (!trivial)
        v[k + H] =
            mul(v[k + H], root_of(p.roots_small, uint32_t(pos) * (512 / (H * D)), 1024, inverse));
      const Fr u = v[k];
      v[k] = u + v[k + H];
      v[k + H] = u - v[k + H];
    } else {
      const Fr u = v[k];
      v[k] = u + v[k + H];
      v[k + H] = u - v[k + H];
      if (!trivial)
        v[k + H] =
            mul(v[k + H], root_of(p.roots_small, uint32_t(pos) * (512 / (H * D)), 1024, inverse));
    }
  }
}

// stages does all levels of a column from distance D down (DIF) or up to it (DIT): the elements are
// 8 registers D apart, REM levels are left. With D = 1 it is the last stage of one to three levels.
template <int R, int D, int REM, bool DIT>
__device__ __forceinline__ void stages(Fr (&v)[8], const NttPassParams &p, const NttBlock<R> &b,
                                       uint32_t *sh) {
  if constexpr (REM <= 3) { // D = 1
    if constexpr (!DIT) {
      if constexpr (REM >= 3)
        level<4, 1, DIT>(v, p, 0);
      if constexpr (REM >= 2)
        level<2, 1, DIT>(v, p, 0);
      level<1, 1, DIT>(v, p, 0);
    } else {
      level<1, 1, DIT>(v, p, 0);
      if constexpr (REM >= 2)
        level<2, 1, DIT>(v, p, 0);
      if constexpr (REM >= 3)
        level<4, 1, DIT>(v, p, 0);
    }
  } else {
    constexpr int E = D >= 8 ? D / 8 : 1; // distance in the next stage
    const int d = b.l % D;
    if constexpr (!DIT) {
      level<4, D, DIT>(v, p, d);
      level<2, D, DIT>(v, p, d);
      level<1, D, DIT>(v, p, d);
      b.template exchange<D, E>(v, sh);
      stages<R, E, REM - 3, DIT>(v, p, b, sh);
    } else {
      stages<R, E, REM - 3, DIT>(v, p, b, sh);
      b.template exchange<E, D>(v, sh);
      level<1, D, DIT>(v, p, d);
      level<2, D, DIT>(v, p, d);
      level<4, D, DIT>(v, p, d);
    }
  }
}

// twiddle multiplies position (p, j) by w^(brev(p) j), w of order 2^(s+R).
template <int R>
__device__ __forceinline__ void twiddle(Fr (&v)[8], const NttPassParams &p, const NttBlock<R> &b,
                                        uint32_t j) {
  const uint32_t shift = kNttMaxLog - R - p.log_stride;
  const bool inverse = p.flags & kNttInverse;
  constexpr uint32_t kMask = (1u << kNttMaxLog) - 1;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const uint32_t f = bit_reverse(b.l * 8 + k, R);
    uint32_t e = (f * j) << shift;
    if (inverse)
      e = ((1u << kNttMaxLog) - e) & kMask;
    Fr w = p.roots_high[e >> kRootLowLog];
    if (shift < kRootLowLog)
      w = mul(w, p.roots_low[e & ((1u << kRootLowLog) - 1)]);
    v[k] = mul(v[k], w);
  }
}

// ntt_pass is the whole pass for one thread block.
template <int R, bool DIT> __device__ __forceinline__ void ntt_pass(const NttPassParams &p) {
  __shared__ uint32_t sh[8 * kNttPlane];
  constexpr int D =
      R > 3 ? (1 << (R - 3)) : 1; // distance of a thread's elements in the first stage
  const uint32_t s = p.log_stride;
  const NttBlock<R> b(threadIdx.x, s == 0);
  const uint32_t columns = 1u << (p.log_n - R);
  const bool reversed = p.flags & kNttReversedOut;
  uint32_t c = blockIdx.x * NttBlock<R>::C + b.col;
  const bool active = c < columns;
  // Rows whose numbers differ in the top bits only end up side by side when the order is reversed.
  if (reversed && columns >= NttBlock<R>::C)
    c = blockIdx.x + b.col * gridDim.x;
  if (!active)
    c = 0;
  const uint32_t j = c & ((1u << s) - 1);
  const uint32_t base = (c >> s) << (s + R) | j;

  Fr v[8];
  if (active) {
#pragma unroll
    for (int k = 0; k < 8; k++) {
      const uint32_t i = base + (uint32_t(DIT ? b.l * 8 + k : b.template t<D>(k)) << s);
      v[k] = p.src[i];
      if (p.flags & kNttShiftIn)
        v[k] = mul(v[k], power_of(p, DIT ? bit_reverse(i, p.log_n) : i));
    }
  } else {
#pragma unroll
    for (int k = 0; k < 8; k++)
      v[k] = Fr::zero();
  }
  if (DIT && s > 0)
    twiddle<R>(v, p, b, j);
  stages<R, D, R, DIT>(v, p, b, sh);
  if (!DIT && s > 0)
    twiddle<R>(v, p, b, j);
  if (!active)
    return;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const uint32_t i = base + (uint32_t(DIT ? b.template t<D>(k) : b.l * 8 + k) << s);
    const uint32_t logical = DIT ? i : bit_reverse(i, p.log_n);
    if (p.flags & kNttShiftOut)
      v[k] = mul(v[k], power_of(p, logical));
    if (p.flags & kNttScaleOut)
      v[k] = mul(v[k], p.scale);
    p.dst[reversed ? logical : i] = v[k];
  }
}

} // namespace cuzk
