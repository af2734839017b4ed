#pragma once
// The uncompressed encoding of points in parameter files: x, then y, each big-endian, of Fp2 first
// c1, then c0. The top three bits of the first byte are flags: none for a point, 0x40 and nothing
// but zeros for infinity. The checks are those of internal/wire, in its order.
#include "../curve/xyzz.hpp"

namespace cuzk {

// Why a point is refused; mirrored by internal/kernels/decode.go.
enum Refusal : uint32_t {
  kAccepted = 0,
  kBadFlags = 1,
  kNotReduced = 2,
  kNotOnCurve = 3,
  kNotInSubgroup = 4,
  kInfinity = 5,
  kBadPlace = 6,
};

// Encoded is an encoded point as words in memory.
template <class F> struct alignas(16) Encoded {
  static constexpr int WORDS = sizeof(Affine<F>) / 4;
  uint32_t word[WORDS];
};

constexpr uint32_t kInfinityWord = 0x40000000; // the first word, read as a big-endian number

CUZK_HD uint32_t swap_bytes(uint32_t v) {
#ifdef __CUDA_ARCH__
  return __byte_perm(v, 0, 0x0123);
#else
  return __builtin_bswap32(v);
#endif
}

// fp_constant is an element with these limbs. It is not written as an operand of a product: see
// params.hpp.
#define CUZK_FP_CONSTANT(name, ...)                                                                \
  CUZK_HD Fp name() {                                                                              \
    constexpr uint32_t v[12] = {__VA_ARGS__};                                                      \
    Fp r;                                                                                          \
    CUZK_UNROLL for (int i = 0; i < 12; i++) r.limb[i] = v[i];                                     \
    return r;                                                                                      \
  }

// 2^768, which brings a plain number into Montgomery form.
CUZK_FP_CONSTANT(fp_r2, 0x1c341746u, 0xf4df1f34u, 0x09d104f1u, 0x0a76e6a6u, 0x4c95b6d5u,
                 0x8de5476cu, 0x939d83c0u, 0x67eb88a9u, 0xb519952du, 0x9a793e85u, 0x92cae3aau,
                 0x11988fe5u)
// 4, in Montgomery form.
CUZK_FP_CONSTANT(fp_four, 0x000cfff3u, 0xaa270000u, 0xfc34000au, 0x53cc0032u, 0x6b0a807fu,
                 0x478fe97au, 0xe6ba24d7u, 0xb1d37ebeu, 0xbf78ab2fu, 0x8ec9733bu, 0x3d83de7eu,
                 0x09d64551u)

// reduced tells whether a plain number is below the modulus.
CUZK_HD bool reduced(const Fp &v) {
  sub_cc(v.limb[0], FpParams::mod(0));
  CUZK_UNROLL for (int i = 1; i < Fp::N; i++) subc_cc(v.limb[i], FpParams::mod(i));
  return subc(0, 0) != 0;
}

// read_plain reads a coordinate as a plain number and tells whether it is reduced.
CUZK_HD bool read_plain(const uint32_t *word, Fp &v) {
  CUZK_UNROLL for (int i = 0; i < Fp::N; i++) v.limb[i] = swap_bytes(word[Fp::N - 1 - i]);
  return reduced(v);
}
CUZK_HD bool read_plain(const uint32_t *word, Fp2 &v) {
  const bool c1 = read_plain(word, v.c1);
  const bool c0 = read_plain(word + Fp::N, v.c0);
  return c1 && c0;
}

CUZK_HD void to_mont(Fp &v) { v = mul(v, fp_r2()); }
CUZK_HD void to_mont(Fp2 &v) { to_mont(v.c0), to_mont(v.c1); }

// write_plain writes a coordinate in Montgomery form as a big-endian number.
CUZK_HD void write_plain(uint32_t *word, const Fp &v) {
  const Fp plain = v.from_mont();
  CUZK_UNROLL for (int i = 0; i < Fp::N; i++) word[i] = swap_bytes(plain.limb[Fp::N - 1 - i]);
}
CUZK_HD void write_plain(uint32_t *word, const Fp2 &v) {
  write_plain(word, v.c1);
  write_plain(word + Fp::N, v.c0);
}

// curve_constant is b of the curve: 4 for G1, 4 (u + 1) for G2.
template <class F> CUZK_HD F curve_constant();
template <> CUZK_HD Fp curve_constant<Fp>() { return fp_four(); }
template <> CUZK_HD Fp2 curve_constant<Fp2>() { return {fp_four(), fp_four()}; }

// decode reads a point and checks that it is on the curve. Of a refused point p is not defined.
template <class F> CUZK_HD Refusal decode(const Encoded<F> &raw, Affine<F> &p) {
  const uint32_t first = swap_bytes(raw.word[0]);
  if (first >> 29) {
    uint32_t other = first ^ kInfinityWord;
    CUZK_UNROLL for (int k = 1; k < Encoded<F>::WORDS; k++) other |= raw.word[k];
    return other ? kBadFlags : kInfinity;
  }
  const bool x = read_plain(raw.word, p.x);
  const bool y = read_plain(raw.word + Encoded<F>::WORDS / 2, p.y);
  if (!x || !y)
    return kNotReduced;
  to_mont(p.x);
  to_mont(p.y);
  const F right = mul(sqr(p.x), p.x) + curve_constant<F>();
  return (sqr(p.y) - right).is_zero() ? kAccepted : kNotOnCurve;
}

// encode is the inverse of decode; infinity gets its flag.
template <class F> CUZK_HD Encoded<F> encode(const Affine<F> &p) {
  Encoded<F> raw;
  write_plain(raw.word, p.x);
  write_plain(raw.word + Encoded<F>::WORDS / 2, p.y);
  if (p.is_inf())
    raw.word[0] = swap_bytes(kInfinityWord);
  return raw;
}

} // namespace cuzk
