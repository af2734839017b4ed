#pragma once
// Sums in G2 by pairs of lanes: see curve/half.cuh.
#include "../curve/half.cuh"
#include "shared.cuh"

namespace cuzk {

using HalfPoint = Affine<Half>;
using HalfSum = Xyzz<Half>;

// part is where this lane's half of coordinate k of value i lies, of values with n coordinates.
template <class T>
__device__ __forceinline__ T *part(T *array, size_t i, uint32_t n, uint32_t k) {
  return array + (i * n + k) * 2 + (threadIdx.x & 1);
}
__device__ __forceinline__ HalfPoint load_half(const void *points, uint32_t i) {
  const Fp *p = static_cast<const Fp *>(points);
  return {{load<Fp>(part(p, i, 2, 0), 0)}, {load<Fp>(part(p, i, 2, 1), 0)}};
}
__device__ __forceinline__ void store_half(void *sums, size_t i, const HalfSum &s) {
  Fp *p = static_cast<Fp *>(sums);
  *part(p, i, 4, 0) = s.x.v;
  *part(p, i, 4, 1) = s.y.v;
  *part(p, i, 4, 2) = s.zz.v;
  *part(p, i, 4, 3) = s.zzz.v;
}

// PairSum is the sum of a pair of lanes.
template <int T> struct PairSum : SharedSum<Half, T> {
  using SharedSum<Half, T>::SharedSum;
  using SharedSum<Half, T>::get;
  using SharedSum<Half, T>::set;

  // set_equal is the addition where both points have the same x, or the sum is infinity, for the
  // pairs that are chosen. Rare, and a call so that it takes no registers.
  __device__ __noinline__ void set_equal(HalfPoint q, bool same_y, bool chosen) const {
    const bool empty = this->template get<2>().is_zero();
    const HalfSum twice = HalfSum::dbl_affine(q);
    if (!chosen)
      return;
    if (empty)
      set({q.x, q.y, Half::one(), Half::one()});
    else
      set(same_y ? twice : HalfSum::inf());
  }
  // set_twice is the addition of two equal sums, or of a sum and its negative, for the pairs that
  // are chosen.
  __device__ __noinline__ void set_twice(bool same_y, bool chosen) const {
    HalfSum twice = get();
    twice.dbl();
    if (chosen)
      set(same_y ? twice : HalfSum::inf());
  }
  // doubled doubles the sum n times.
  __device__ __noinline__ void doubled(uint32_t n) const {
    HalfSum sum = get();
#pragma unroll 1
    for (uint32_t d = 0; d < n; d++)
      sum.dbl();
    set(sum);
  }
  // after is the sum of the pair that is n pairs further in the block.
  __device__ __forceinline__ PairSum after(uint32_t n) const {
    PairSum other = *this;
    other.at += 2 * n * uint32_t(sizeof(uint4));
    return other;
  }
  // add adds q to the sum of each pair that does not keep its sum. All lanes of the warp call it.
  __device__ __forceinline__ void add(const HalfPoint &q, bool keep) const {
    const Half p = mul(q.x, this->template get<2>()) - this->template get<0>();
    const Half r = mul(q.y, this->template get<3>()) - this->template get<1>();
    const bool equal = p.is_zero() && !keep;
    if (__any_sync(kAllLanes, equal)) {
      set_equal(q, r.is_zero(), equal);
      keep |= equal;
    }
    const Half pp = sqr(p);
    const Half zz = mul(this->template get<2>(), pp);
    if (!keep)
      this->template set<2>(zz);
    const Half ppp = mul(p, pp);
    const Half zzz = mul(this->template get<3>(), ppp);
    if (!keep)
      this->template set<3>(zzz);
    const Half u = mul(this->template get<0>(), pp);
    const Half x = sqr(r) - ppp - u.dbl();
    if (!keep)
      this->template set<0>(x);
    const Half y = mul_sub(r, u - x, this->template get<1>(), ppp);
    if (!keep)
      this->template set<1>(y);
  }
  // add_sum adds another sum, whose coordinate K is from.get<K>(), to the sum of each pair that
  // does not keep its sum. All lanes of the warp call it.
  template <class From> __device__ __forceinline__ void add_sum(const From &from, bool keep) const {
    keep |= from.template get<2>().is_zero();
    if (this->template get<2>().is_zero() && !keep) {
      set({from.template get<0>(), from.template get<1>(), from.template get<2>(),
           from.template get<3>()});
      keep = true;
    }
    const Half u = mul(this->template get<0>(), from.template get<2>());
    const Half p = mul(from.template get<0>(), this->template get<2>()) - u;
    const Half s = mul(this->template get<1>(), from.template get<3>());
    const Half r = mul(from.template get<1>(), this->template get<3>()) - s;
    const bool equal = p.is_zero() && !keep;
    if (__any_sync(kAllLanes, equal)) {
      set_twice(r.is_zero(), equal);
      keep |= equal;
    }
    const Half pp = sqr(p);
    const Half zz = mul(mul(this->template get<2>(), from.template get<2>()), pp);
    if (!keep)
      this->template set<2>(zz);
    const Half ppp = mul(p, pp);
    const Half zzz = mul(mul(this->template get<3>(), from.template get<3>()), ppp);
    if (!keep)
      this->template set<3>(zzz);
    const Half q = mul(u, pp);
    const Half x = sqr(r) - ppp - q.dbl();
    const Half y = mul_sub(r, q - x, s, ppp);
    if (!keep)
      this->template set<0>(x), this->template set<1>(y);
  }
};

// accumulate_pairs is accumulate with two lanes for each thread of the launch.
template <int T> __device__ __forceinline__ void accumulate_pairs(const AccumulateParams &p) {
  __shared__ uint4 shared[PairSum<T>::kShared];
  const PairSum<T> sum(shared);
  const uint32_t t = p.first + (blockIdx.x * T + threadIdx.x) / 2;
  const uint32_t entries = p.offsets[p.buckets];
  const uint32_t begin = t < p.threads ? min(t * p.run, entries) : entries;
  const uint32_t end = min(begin + p.run, entries);
  uint32_t tail = kNone, b = 0, next = begin;
  bool head = false;
  if (begin < end) {
    b = find_bucket(p.offsets, p.buckets, begin);
    head = p.offsets[b] < begin;
    next = p.offsets[b + 1];
  }
  sum.set(HalfSum::inf());
#pragma unroll 1
  for (uint32_t k = 0; k < p.run; k++) {
    const uint32_t e = begin + k;
    HalfPoint q = {Half::zero(), Half::zero()};
    bool fresh = k == 0;
    if (e < end) {
      if (e == next) {
        store_half(head ? p.heads : p.sums, head ? t : b, sum.get());
        head = false, fresh = true;
        do {
          b++;
          next = p.offsets[b + 1];
        } while (next == e);
      }
      const uint32_t s = p.sorted[e];
      q = load_half(p.points, s & ~kSignBit);
      if (s & kSignBit)
        q.y = q.y.neg();
    }
    const bool none = Half::both(q.x.v.is_zero() && q.y.v.is_zero());
    if (fresh)
      sum.set(none ? HalfSum::inf() : HalfSum{q.x, q.y, Half::one(), Half::one()});
    sum.add(q, none || fresh);
  }
  if (begin < end) {
    if (head) {
      store_half(p.heads, t, sum.get());
    } else if (next > end) {
      store_half(p.tails, t, sum.get());
      tail = b;
    } else {
      store_half(p.sums, b, sum.get());
    }
  }
  if (t < p.threads && (threadIdx.x & 1) == 0)
    p.tail_bucket[t] = tail;
}

// StoredSum is sum i of an array, or infinity where it is not present.
struct StoredSum {
  const void *sums;
  size_t i;
  bool present;

  template <int K> __device__ __forceinline__ Half get() const {
    return present ? Half{load<Fp>(part(static_cast<const Fp *>(sums), i, 4, K), 0)} : Half::zero();
  }
  __device__ __forceinline__ HalfSum get() const {
    return {get<0>(), get<1>(), get<2>(), get<3>()};
  }
};

// merge_pairs is merge with two lanes for each thread of the accumulation.
template <int T> __device__ __forceinline__ void merge_pairs(const MergeParams &p) {
  __shared__ uint4 shared[PairSum<T>::kShared];
  const PairSum<T> sum(shared);
  const uint32_t t = (blockIdx.x * T + threadIdx.x) / 2;
  const uint32_t b = t < p.threads ? p.tail_bucket[t] : kNone;
  const uint32_t u = b == kNone ? t : (p.offsets[b + 1] - 1) / p.run;
  const bool heavy = u - t > kLightSpan, light = b != kNone && !heavy;
  if (heavy && !Half::odd())
    list_heavy(p, t, u, b);
  sum.set(StoredSum{p.tails, t, light}.get());
#pragma unroll 1
  for (uint32_t k = 1; k <= kLightSpan; k++) {
    const bool present = light && t + k <= u;
    if (!__any_sync(kAllLanes, present))
      break;
    sum.add_sum(StoredSum{p.heads, t + k, present}, false);
  }
  if (light)
    store_half(p.sums, b, sum.get());
}

// reduce_pairs is reduce with two lanes for each group.
template <int T> __device__ __forceinline__ void reduce_pairs(const ReduceParams &p) {
  __shared__ uint4 shared[2 * PairSum<T>::kShared];
  const PairSum<T> s(shared), v(shared + PairSum<T>::kShared);
  const uint32_t groups = (p.n + (1u << p.k) - 1) >> p.k;
  const uint32_t i = (blockIdx.x * T + threadIdx.x) / 2;
  const bool used = i < groups * p.windows;
  const uint32_t w = i / groups, lo = i % groups << p.k;
  const uint32_t count = used ? min(1u << p.k, p.n - lo) : 0;
  const size_t base = size_t(w) * p.n + lo;
  s.set(HalfSum::inf()), v.set(HalfSum::inf());
#pragma unroll 1
  for (uint32_t j = 1u << p.k; j-- > 0;) {
    s.add_sum(StoredSum{p.sums, base + j, j < count}, false);
    v.add_sum(s, p.weighted != nullptr && j == 0);
  }
  v.doubled(p.shift);
#pragma unroll 1
  for (uint32_t j = 0; p.weighted != nullptr && j < 1u << p.k; j++)
    v.add_sum(StoredSum{p.weighted, base + j, j < count}, false);
  if (used) {
    store_half(p.out_sums, i, s.get());
    store_half(p.out_weighted, i, v.get());
  }
}

// fold_pairs is fold with T / 2 pairs of lanes a block.
template <int T> __device__ __forceinline__ void fold_pairs(const FoldParams &p) {
  __shared__ uint4 shared[PairSum<T>::kShared];
  const PairSum<T> sum(shared);
  const uint32_t b = blockIdx.x, w = blockIdx.y, pair = threadIdx.x / 2;
  const bool last = b == p.bits;
  const void *in = last ? p.weighted : p.sums;
  const uint32_t count = last ? p.n : p.n / 2, low = (1u << b) - 1;
  sum.set(HalfSum::inf());
#pragma unroll 1
  for (uint32_t first = 0; first < count; first += T / 2) {
    const uint32_t i = first + pair;
    const uint32_t j = last ? i : (i & ~low) << 1 | (low + 1) | (i & low);
    sum.add_sum(StoredSum{in, size_t(w) * p.n + j, i < count}, false);
  }
#pragma unroll 1
  for (uint32_t n = T / 4; n > 0; n /= 2) {
    __syncthreads();
    sum.add_sum(pair < n ? sum.after(n) : sum, pair >= n);
  }
  if (pair == 0)
    store_half(p.out, w * (p.bits + 1) + b, sum.get());
}

} // namespace cuzk
