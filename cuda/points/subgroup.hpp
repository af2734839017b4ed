#pragma once
// Membership in the subgroup of order r, by one multiplication with a short number and an
// endomorphism: M. Scott, "A note on group membership tests for G1, G2 and GT on BLS
// pairing-friendly curves", IACR ePrint 2021/1130. The curve's seed is -u.
#include "encoding.hpp"

namespace cuzk {

constexpr uint64_t kSeed = 0xd201000000010000;         // u
constexpr uint64_t kSeedSquareHi = 0xac45a4010001a402; // u^2, high and low half
constexpr uint64_t kSeedSquareLo = 0x0000000100000000;

// phi(x, y) = (beta x, y) with a cube root of one.
CUZK_FP_CONSTANT(fp_beta, 0x8671f071u, 0xcd03c9e4u, 0x1fcda5d2u, 0x5dab2246u, 0xd3851b95u,
                 0x587042afu, 0x01bacb9eu, 0x8eb60ebeu, 0x83d050d2u, 0x03f97d6eu, 0x54638741u,
                 0x18f02065u)
// psi(x, y) = (psi_x conj(x), psi_y conj(y)); psi_x is psi_x1 u.
CUZK_FP_CONSTANT(fp_psi_x1, 0x867545c3u, 0x890dc9e4u, 0x3285a5d5u, 0x2af32253u, 0x309b7e2cu,
                 0x50880866u, 0x7e881024u, 0xa20d1b8cu, 0xe2db9068u, 0x14e4f04fu, 0x1564853au,
                 0x14e56d3fu)
CUZK_FP_CONSTANT(fp_psi_y0, 0xa55c9ad1u, 0x3e2f585du, 0x86c18183u, 0x4294213du, 0x8b623732u,
                 0x382844c8u, 0x19103e18u, 0x92ad2afdu, 0xac7cf0b9u, 0x1d794e4fu, 0x7d825ec8u,
                 0x0bd592fcu)
CUZK_FP_CONSTANT(fp_psi_y1, 0x5aa30fdau, 0x7bcfa7a2u, 0x2a927e7cu, 0xdc17dec1u, 0x6b4ebef1u,
                 0x2f088dd8u, 0xda74d4a7u, 0xd1ca2087u, 0x96cebc1du, 0x2da25966u, 0xbbfd87d2u,
                 0x0e2b7eedu)

// times is k p for k = hi 2^64 + lo, whose highest bit is number `top`. Of any point of the curve.
template <class F>
CUZK_HD Xyzz<F> times(const Affine<F> &p, uint64_t hi, uint64_t lo, int top) {
  Xyzz<F> sum = Xyzz<F>::from_affine(p);
#pragma unroll 1
  for (int i = top - 1; i >= 0; i--) {
    sum.dbl();
    if ((i >= 64 ? hi >> (i - 64) : lo >> i) & 1)
      sum.add(p);
  }
  return sum;
}

// opposite tells whether sum = -p, for p not at infinity.
template <class F> CUZK_HD bool opposite(const Xyzz<F> &sum, const Affine<F> &p) {
  return !sum.is_inf() && (sum.x - mul(p.x, sum.zz)).is_zero() &&
         (sum.y + mul(p.y, sum.zzz)).is_zero();
}

// in_subgroup tells whether a point of the curve is in the subgroup. In G1: -p = u^2 phi(p).
CUZK_HD bool in_subgroup(const Affine<Fp> &p) {
  if (p.is_inf())
    return true;
  const Affine<Fp> phi{mul(p.x, fp_beta()), p.y};
  return opposite(times(phi, kSeedSquareHi, kSeedSquareLo, 127), p);
}

// In G2: -psi(p) = u p.
CUZK_HD bool in_subgroup(const Affine<Fp2> &p) {
  if (p.is_inf())
    return true;
  const Fp2 x{mul(p.x.c1, fp_psi_x1()), mul(p.x.c0, fp_psi_x1())};
  const Fp2 y = mul(Fp2{p.y.c0, p.y.c1.neg()}, Fp2{fp_psi_y0(), fp_psi_y1()});
  return opposite(times(p, 0, kSeed, 63), Affine<Fp2>{x, y});
}

} // namespace cuzk
