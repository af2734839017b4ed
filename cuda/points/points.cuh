#pragma once
// Kernels over lists of points, for one curve: decoding, checking, encoding, and affine coordinates
// of sums. F is Fp (G1) or Fp2 (G2). One thread a point but in to_affine, 128 threads a block, no
// shared memory.
#include "inverse.hpp"
#include "subgroup.hpp"

namespace cuzk {

struct DecodeParams {    // mirrored by internal/kernels/params.go
  const void *raw;       // Encoded[n]
  void *points;          // Affine[room] out; a refused point becomes infinity
  const uint32_t *place; // [n] where each point goes; null: point i goes to place i
  uint64_t *fault;       // [1] out: lowered to index << 8 | Refusal of the first refused point
  uint32_t n;
  uint32_t room;
  uint64_t base; // index of the first point
};

struct CheckParams {
  const void *points; // Affine[n] on the curve
  uint64_t *fault;    // [1] out, as for decoding
  uint64_t base;
  uint32_t n;
  uint32_t reserved;
};

struct EncodeParams {
  const void *points; // Affine[n]
  void *raw;          // Encoded[n] out
  uint32_t n;
  uint32_t reserved;
};

// Sum i of all goes to place i / group * pitch + start + i % group.
struct ToAffineParams {
  const void *sums; // Xyzz[n]
  void *points;     // Affine[] out
  uint32_t first;   // number of the first sum
  uint32_t n;
  uint32_t run; // sums of a thread, for which it makes one inversion
  uint32_t group;
  uint32_t pitch;
  uint32_t start;
};

// fetch and put move a value whose size is a multiple of 16 bytes, in pieces of 16.
template <class T> __device__ __forceinline__ T fetch(const void *array, size_t i) {
  T v;
  const uint4 *from = reinterpret_cast<const uint4 *>(static_cast<const T *>(array) + i);
#pragma unroll
  for (size_t k = 0; k < sizeof(T) / sizeof(uint4); k++)
    reinterpret_cast<uint4 *>(&v)[k] = from[k];
  return v;
}
template <class T> __device__ __forceinline__ void put(void *array, size_t i, const T &v) {
  uint4 *to = reinterpret_cast<uint4 *>(static_cast<T *>(array) + i);
#pragma unroll
  for (size_t k = 0; k < sizeof(T) / sizeof(uint4); k++)
    to[k] = reinterpret_cast<const uint4 *>(&v)[k];
}

__device__ __forceinline__ void refuse(uint64_t *fault, uint64_t index, uint32_t why) {
  atomicMin(reinterpret_cast<unsigned long long *>(fault), index << 8 | why);
}

template <class F> __device__ __forceinline__ void decode_points(const DecodeParams &p) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n)
    return;
  Affine<F> q;
  uint32_t why = decode(fetch<Encoded<F>>(p.raw, i), q);
  const uint32_t to = p.place ? p.place[i] : i;
  if (to >= p.room)
    why = kBadPlace;
  if (why) {
    refuse(p.fault, p.base + i, why);
    q = {F::zero(), F::zero()};
  }
  if (to < p.room)
    put(p.points, to, q);
}

template <class F> __device__ __forceinline__ void check_points(const CheckParams &p) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n && !in_subgroup(fetch<Affine<F>>(p.points, i)))
    refuse(p.fault, p.base + i, kNotInSubgroup);
}

template <class F> __device__ __forceinline__ void encode_points(const EncodeParams &p) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n)
    put(p.raw, i, encode(fetch<Affine<F>>(p.points, i)));
}

__device__ __forceinline__ size_t place_of(const ToAffineParams &p, uint32_t k) {
  const uint32_t i = p.first + k;
  return size_t(i / p.group) * p.pitch + p.start + i % p.group;
}

// Thread t makes the sums t, t + T, t + 2T, ... of T threads affine. On the way up, the place of
// each result holds the product of the ZZZ before it; on the way down, 1/ZZZ = 1/Z^3 comes from it,
// and 1/Z = ZZ/ZZZ.
template <class F> __device__ __forceinline__ void to_affine(const ToAffineParams &p) {
  const uint32_t threads = (p.n + p.run - 1) / p.run;
  const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= threads)
    return;
  const Xyzz<F> *sums = static_cast<const Xyzz<F> *>(p.sums);
  Affine<F> *points = static_cast<Affine<F> *>(p.points);
  F product = F::one();
  uint32_t k = t;
#pragma unroll 1
  for (; k < p.n; k += threads) {
    const F zzz = fetch<F>(&sums[k].zzz, 0);
    if (zzz.is_zero())
      continue;
    put(&points[place_of(p, k)].x, 0, product);
    product = mul(product, zzz);
  }
  F inv = inverse(product);
#pragma unroll 1
  for (; k >= threads;) { // k is past the end by less than `threads`
    k -= threads;
    const Xyzz<F> s = fetch<Xyzz<F>>(sums, k);
    const size_t to = place_of(p, k);
    Affine<F> q = {F::zero(), F::zero()};
    if (!s.zzz.is_zero()) {
      const F z3 = mul(inv, fetch<F>(&points[to].x, 0));
      inv = mul(inv, s.zzz);
      const F z = mul(z3, s.zz);
      q.x = mul(s.x, sqr(z));
      q.y = mul(s.y, z3);
    }
    put(points, to, q);
  }
}

} // namespace cuzk
