#pragma once
// Values of a constraint system's rows for a packed witness.
//
// Rows belong to templates, and a template has instances. A list is the A, B or C of a row: terms,
// each a variable and a coefficient. A variable is a packed ref of kind (top 3 bits) and index,
// counted from the instance's first variable of the kind; a slot stands for a variable of the whole
// circuit.
//
// Small lists have few terms, all of them bits with small integer coefficients: their value is an
// integer, and a table has it as a field element. All other lists are sums of products: a field
// element with a coefficient, or up to 32 bits in a row, whose coefficients double from one to the
// next, with the first one's.
#include "../field/params.hpp"

namespace cuzk {

constexpr int kSpmvThreads = 256;
constexpr uint32_t kNoList = 255; // the length of a list that is not small

enum RefKind : uint32_t { kRefOne = 1, kRefInput, kRefBit, kRefDense, kRefSlot };
constexpr uint32_t kRefShift = 29;
constexpr uint32_t kRefIndex = (1u << kRefShift) - 1;

enum SmallKind : uint32_t { kSmallOne, kSmallBit, kSmallSlot };
constexpr uint32_t kSmallShift = 22; // a small term: coefficient (8 bits), kind (2), index (22)
constexpr uint32_t kSmallIndex = (1u << kSmallShift) - 1;

constexpr uint32_t kRunShift = 27;   // a term's second word: bits in a row minus 1, coefficient
constexpr uint32_t kPlaceShift = 30; // a place: matrix, row of the instance
constexpr uint32_t kPlaceRow = (1u << kPlaceShift) - 1;

struct SpmvTemplate { // mirrored by internal/kernels/params.go
  uint32_t first_block;
  uint32_t items; // of an instance: rows with small lists, or lists
  uint32_t first_head;
  uint32_t instances;
  uint32_t first_instance;
  uint32_t slots; // of an instance
  uint32_t first_slot;
  uint32_t reserved;
};

struct SpmvParams {              // mirrored by internal/kernels/params.go
  const SpmvTemplate *templates; // those with items
  const uint32_t *owners;        // [blocks]: the template that a block works for
  const uint4 *heads;            // of rows: row of the instance, first term, three lengths, -;
                                 // of lists: first term, terms, first place, places
  const void *terms;             // uint32_t of small lists, else uint2: ref, coefficient and bits
  const uint32_t *places;        // of lists: where the value goes
  const Fr *values;              // of small lists: -128, ..., 127; else c and c * 2^256 for each
                                 // coefficient c
  const uint4 *instances;        // numbers of the first row, input, bit and dense variable
  const uint32_t *slots;         // packed refs
  const Fr *inputs;
  const uint32_t *bits;
  const Fr *dense;
  Fr *out[3]; // a, b, c
};

// SpmvItem is a row or a list of one instance.
struct SpmvItem {
  bool active;
  uint32_t head;
  uint4 base;
  const uint32_t *slots;
};

// spmv_item is the i-th of n items of this block. An inactive one is beyond the last.
__device__ __forceinline__ SpmvItem spmv_item(const SpmvParams &p, uint32_t n, uint32_t i) {
  const uint4 *from = reinterpret_cast<const uint4 *>(p.templates + __ldg(p.owners + blockIdx.x));
  const uint4 x = __ldg(from), y = __ldg(from + 1);
  const uint32_t e = (blockIdx.x - x.x) * n + i;
  const uint32_t k = e / x.y;
  SpmvItem w;
  w.active = k < x.w;
  w.head = x.z + (e - k * x.y);
  w.base = w.active ? __ldg(p.instances + y.x + k) : make_uint4(0, 0, 0, 0);
  w.slots = p.slots + (y.z + size_t(k) * y.y);
  return w;
}

// bit_window is n bits from bit i up, 1 <= n <= 32.
__device__ __forceinline__ uint32_t bit_window(const uint32_t *bits, uint32_t i, uint32_t n) {
  const uint32_t *word = bits + (i >> 5), at = i & 31;
  const uint32_t low = __ldg(word), high = at + n > 32 ? __ldg(word + 1) : 0;
  return __funnelshift_r(low, high, at) & 0xffffffffu >> (32 - n);
}

// small_list is the value of n terms from terms up: an integer.
__device__ __forceinline__ int small_list(const SpmvParams &p, const SpmvItem &w,
                                          const uint32_t *terms, uint32_t n) {
  int sum = 0;
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t t = __ldg(terms + k);
    const uint32_t kind = t >> kSmallShift & 3, i = t & kSmallIndex;
    uint32_t v = 1;
    if (kind != kSmallOne) {
      uint32_t bit = w.base.z + i;
      bool one = false;
      if (kind == kSmallSlot) {
        const uint32_t ref = __ldg(w.slots + i);
        one = ref >> kRefShift == kRefOne;
        bit = ref & kRefIndex;
      }
      v = one ? 1 : __ldg(p.bits + (bit >> 5)) >> (bit & 31) & 1;
    }
    sum += v ? int(t) >> 24 : 0;
  }
  return sum;
}

// Rows with small lists, one thread a row. The values are stored by pairs of lanes, 16 rows at a
// time, so that a warp's stores fill whole sectors.
__device__ __forceinline__ void spmv_rows(const SpmvParams &p) {
  const SpmvItem w = spmv_item(p, kSpmvThreads, threadIdx.x);
  uint32_t row = 0, packed = 0; // packed: three indices of the table, then three bits for "is here"
  if (w.active) {
    const uint4 head = __ldg(p.heads + w.head);
    row = w.base.x + head.x;
    const uint32_t *terms = static_cast<const uint32_t *>(p.terms) + head.y;
#pragma unroll
    for (int m = 0; m < 3; m++) {
      const uint32_t n = head.z >> 8 * m & 255;
      if (n == kNoList)
        continue;
      packed |= uint32_t(small_list(p, w, terms, n) + 128) << 8 * m | 1u << (24 + m);
      terms += n;
    }
  }
  const uint32_t lane = threadIdx.x & 31, part = lane & 1;
#pragma unroll
  for (uint32_t from = lane / 2; from < 32; from += 16) {
    const uint32_t r = __shfl_sync(0xffffffffu, row, from);
    const uint32_t v = __shfl_sync(0xffffffffu, packed, from);
#pragma unroll
    for (int m = 0; m < 3; m++) {
      if (!(v >> (24 + m) & 1))
        continue;
      const uint4 *table = reinterpret_cast<const uint4 *>(p.values);
      uint4 *out = reinterpret_cast<uint4 *>(p.out[m] + r);
      __stcs(out + part, __ldg(table + 2 * (v >> 8 * m & 255) + part));
    }
  }
}

// load_fr reads an element in two pieces.
__device__ __forceinline__ Fr load_fr(const Fr *from) {
  Fr v;
  const uint4 a = __ldg(reinterpret_cast<const uint4 *>(from));
  const uint4 b = __ldg(reinterpret_cast<const uint4 *>(from) + 1);
  v.limb[0] = a.x, v.limb[1] = a.y, v.limb[2] = a.z, v.limb[3] = a.w;
  v.limb[4] = b.x, v.limb[5] = b.y, v.limb[6] = b.z, v.limb[7] = b.w;
  return v;
}

__device__ __forceinline__ void store_fr(Fr *to, const Fr &v) {
  uint4 *out = reinterpret_cast<uint4 *>(to);
  __stcs(out, make_uint4(v.limb[0], v.limb[1], v.limb[2], v.limb[3]));
  __stcs(out + 1, make_uint4(v.limb[4], v.limb[5], v.limb[6], v.limb[7]));
}

// SpmvSum is a sum of products that is reduced once, at the end.
struct SpmvSum {
  Wide<8> products;  // below r * 2^256
  uint32_t bits[10]; // Σ c * 2^256 * window: room for 2^32 windows

  static __device__ __forceinline__ SpmvSum zero() {
    SpmvSum s;
#pragma unroll
    for (int i = 0; i < 16; i++)
      s.products.limb[i] = 0;
#pragma unroll
    for (int i = 0; i < 10; i++)
      s.bits[i] = 0;
    return s;
  }

  // reduce_high subtracts r * 2^256 from products if they are not below it.
  __device__ __forceinline__ void reduce_high() {
    Fr high;
#pragma unroll
    for (int i = 0; i < 8; i++)
      high.limb[i] = products.limb[8 + i];
    high.reduce_once();
#pragma unroll
    for (int i = 0; i < 8; i++)
      products.limb[8 + i] = high.limb[i];
  }

  // Both summands are below r * 2^256 < 2^511.
  __device__ __forceinline__ void add_product(const Fr &c, const Fr &v) {
    const Wide<8> t = Fr::mul_wide(c, v);
    products.limb[0] = add_cc(products.limb[0], t.limb[0]);
#pragma unroll
    for (int i = 1; i < 15; i++)
      products.limb[i] = addc_cc(products.limb[i], t.limb[i]);
    products.limb[15] = addc(products.limb[15], t.limb[15]);
    reduce_high();
  }

  // Even limbs of c first, then odd ones, so that the halves of a product stay neighbours.
  __device__ __forceinline__ void add_window(const Fr &c, uint32_t v) {
    mad_pair_cc(bits[0], bits[1], c.limb[0], v, bits[0], bits[1]);
#pragma unroll
    for (int i = 2; i < 8; i += 2)
      madc_pair_cc(bits[i], bits[i + 1], c.limb[i], v, bits[i], bits[i + 1]);
    bits[8] = addc_cc(bits[8], 0);
    bits[9] = addc(bits[9], 0);
    mad_pair_cc(bits[1], bits[2], c.limb[1], v, bits[1], bits[2]);
#pragma unroll
    for (int i = 3; i < 9; i += 2)
      madc_pair_cc(bits[i], bits[i + 1], c.limb[i], v, bits[i], bits[i + 1]);
    bits[9] = addc(bits[9], 0);
  }

  __device__ __forceinline__ Fr value() {
    products.limb[0] = add_cc(products.limb[0], bits[0]);
#pragma unroll
    for (int i = 1; i < 10; i++)
      products.limb[i] = addc_cc(products.limb[i], bits[i]);
#pragma unroll
    for (int i = 10; i < 15; i++)
      products.limb[i] = addc_cc(products.limb[i], 0);
    products.limb[15] = addc(products.limb[15], 0);
    reduce_high();
    return Fr::redc(products);
  }
};

// resolve is the ref in the whole circuit.
__device__ __forceinline__ uint32_t resolve(const SpmvItem &w, uint32_t ref) {
  switch (ref >> kRefShift) {
  case kRefInput:
    return ref + w.base.y;
  case kRefBit:
    return ref + w.base.z;
  case kRefDense:
    return ref + w.base.w;
  case kRefSlot:
    return __ldg(w.slots + (ref & kRefIndex));
  }
  return ref;
}

// Lists, G neighbouring lanes a list (a power of two up to 32): each sums every G-th term.
template <uint32_t G> __device__ __forceinline__ void spmv_lists(const SpmvParams &p) {
  const uint32_t lane = threadIdx.x % G;
  const SpmvItem w = spmv_item(p, kSpmvThreads / G, threadIdx.x / G);
  const uint4 head = w.active ? __ldg(p.heads + w.head) : make_uint4(0, 0, 0, 0);
  const uint2 *terms = static_cast<const uint2 *>(p.terms) + head.x;
  SpmvSum sum = SpmvSum::zero();
#pragma unroll 1
  for (uint32_t k = lane; k < head.y; k += G) {
    const uint2 t = __ldg(terms + k);
    const uint32_t ref = resolve(w, t.x), kind = ref >> kRefShift, i = ref & kRefIndex;
    const Fr *c = p.values + 2 * size_t(t.y & ((1u << kRunShift) - 1));
    if (kind == kRefInput || kind == kRefDense)
      sum.add_product(load_fr(c), load_fr((kind == kRefInput ? p.inputs : p.dense) + i));
    else
      sum.add_window(load_fr(c + 1),
                     kind == kRefOne ? 1 : bit_window(p.bits, i, (t.y >> kRunShift) + 1));
  }
  Fr v = sum.value();
#pragma unroll
  for (uint32_t d = G / 2; d > 0; d /= 2) {
    Fr other;
#pragma unroll
    for (int i = 0; i < 8; i++)
      other.limb[i] = __shfl_xor_sync(0xffffffffu, v.limb[i], d);
    v = v + other;
  }
  for (uint32_t k = lane; k < head.w; k += G) {
    const uint32_t place = __ldg(p.places + head.z + k);
    store_fr(p.out[place >> kPlaceShift] + (w.base.x + (place & kPlaceRow)), v);
  }
}

} // namespace cuzk
