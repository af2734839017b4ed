#pragma once
// Sums of points in shared memory, and the accumulation of one thread.
#include "bucket.cuh"

namespace cuzk {

// SharedSum is a thread's sum in shared memory: the registers that it would take hold another block
// of T threads. Coordinates: 0 is X, 1 is Y, 2 is ZZ, 3 is ZZZ.
template <class F, int T> struct SharedSum {
  static constexpr int kPieces = sizeof(F) / sizeof(uint4); // of a coordinate
  static constexpr int kShared = 4 * kPieces * T;           // of a block
  uint32_t at;

  explicit __device__ __forceinline__ SharedSum(const uint4 *shared)
      : at(uint32_t(__cvta_generic_to_shared(shared + threadIdx.x))) {}
  // The accesses are volatile: the compiler would keep the values in registers.
  template <int K> __device__ __forceinline__ F get() const {
    F v;
    uint4 *to = reinterpret_cast<uint4 *>(&v);
#pragma unroll
    for (int k = 0; k < kPieces; k++)
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(to[k].x), "=r"(to[k].y), "=r"(to[k].z), "=r"(to[k].w)
                   : "r"(at + (K * kPieces + k) * T * uint32_t(sizeof(uint4)))
                   : "memory");
    return v;
  }
  template <int K> __device__ __forceinline__ void set(const F &v) const {
    const uint4 *from = reinterpret_cast<const uint4 *>(&v);
#pragma unroll
    for (int k = 0; k < kPieces; k++)
      asm volatile("st.shared.v4.u32 [%4], {%0, %1, %2, %3};" ::"r"(from[k].x), "r"(from[k].y),
                   "r"(from[k].z), "r"(from[k].w),
                   "r"(at + (K * kPieces + k) * T * uint32_t(sizeof(uint4)))
                   : "memory");
  }
  __device__ __forceinline__ void set(const Xyzz<F> &s) const {
    set<0>(s.x), set<1>(s.y), set<2>(s.zz), set<3>(s.zzz);
  }
  __device__ __forceinline__ Xyzz<F> get() const {
    return {get<0>(), get<1>(), get<2>(), get<3>()};
  }
};

// ThreadSum is the sum of one thread.
template <class F, int T> struct ThreadSum : SharedSum<F, T> {
  using SharedSum<F, T>::SharedSum;
  using SharedSum<F, T>::set;

  // set_equal sets the sum of q and q, or of -q and q. A call, so that it takes no registers.
  __device__ __noinline__ void set_equal(Affine<F> q, bool same) const {
    set(same ? Xyzz<F>::dbl_affine(q) : Xyzz<F>::inf());
  }
  // add is Xyzz::add.
  __device__ __forceinline__ void add(const Affine<F> &q) const {
    if (q.is_inf())
      return;
    const F zz = this->template get<2>();
    if (zz.is_zero()) {
      set(Xyzz<F>{q.x, q.y, F::one(), F::one()});
      return;
    }
    const F p = mul(q.x, zz) - this->template get<0>();
    const F r = mul(q.y, this->template get<3>()) - this->template get<1>();
    if (p.is_zero()) {
      set_equal(q, r.is_zero());
      return;
    }
    const F pp = sqr(p);
    this->template set<2>(mul(this->template get<2>(), pp));
    const F ppp = mul(p, pp);
    this->template set<3>(mul(this->template get<3>(), ppp));
    const F u = mul(this->template get<0>(), pp);
    const F x = sqr(r) - ppp - u.dbl();
    this->template set<0>(x);
    this->template set<1>(mul_sub(r, u - x, this->template get<1>(), ppp));
  }
};

// Thread t adds entries t * run .. (t + 1) * run - 1. All threads have the same work whatever the
// sizes of the buckets are; a bucket that lies in one thread is written to sums, other parts go to
// heads and tails.
template <class F, int T> __device__ __forceinline__ void accumulate(const AccumulateParams &p) {
  __shared__ uint4 shared[ThreadSum<F, T>::kShared];
  const ThreadSum<F, T> sum(shared);
  const uint32_t t = p.first + blockIdx.x * T + threadIdx.x;
  const uint32_t entries = p.offsets[p.buckets];
  if (t >= p.threads)
    return;
  uint32_t tail = kNone;
  const uint32_t begin = t * p.run;
  if (begin < entries) {
    const uint32_t end = min(begin + p.run, entries);
    uint32_t b = find_bucket(p.offsets, p.buckets, begin);
    bool head = p.offsets[b] < begin;
    uint32_t next = p.offsets[b + 1];
    sum.set(Xyzz<F>::inf());
    for (uint32_t e = begin; e < end; e++) {
      if (e == next) {
        static_cast<Xyzz<F> *>(head ? p.heads : p.sums)[head ? t : b] = sum.get();
        head = false;
        sum.set(Xyzz<F>::inf());
        do {
          b++;
          next = p.offsets[b + 1];
        } while (next == e);
      }
      const uint32_t s = p.sorted[e];
      Affine<F> q = load<Affine<F>>(p.points, s & ~kSignBit);
      if (s & kSignBit)
        q.y = q.y.neg();
      sum.add(q);
    }
    if (head) {
      static_cast<Xyzz<F> *>(p.heads)[t] = sum.get();
    } else if (next > end) {
      static_cast<Xyzz<F> *>(p.tails)[t] = sum.get();
      tail = b;
    } else {
      static_cast<Xyzz<F> *>(p.sums)[b] = sum.get();
    }
  }
  p.tail_bucket[t] = tail;
}

} // namespace cuzk
