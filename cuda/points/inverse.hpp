#pragma once
// Inverses of field elements, by Fermat's little theorem. Zero gives zero.
#include "../curve/call.hpp"

namespace cuzk {

// Four bits of p - 2 at a time: 380 squares and about 105 products.
CUZK_CALL Fp inverse(Fp a) {
  Fp power[16]; // power[i] = a^i for i > 0
  power[1] = a;
#pragma unroll 1
  for (int i = 2; i < 16; i++) power[i] = mul(power[i - 1], a);
  Fp r = a; // the highest four bits are 1
#pragma unroll 1
  for (int i = 8 * Fp::N - 2; i >= 0; i--) {
    const uint32_t limb = FpParams::mod(i / 8) - (i / 8 == 0 ? 2 : 0);
    const uint32_t digit = limb >> (4 * (i % 8)) & 15;
#pragma unroll 1
    for (int k = 0; k < 4; k++) r = sqr(r);
    if (digit)
      r = mul(r, power[digit]);
  }
  return r;
}

// 1 / (c0 + c1 u) = (c0 - c1 u) / (c0^2 + c1^2).
CUZK_HD Fp2 inverse(const Fp2 &a) {
  const Fp norm = inverse(sqr(a.c0) + sqr(a.c1));
  return {mul(a.c0, norm), mul(a.c1.neg(), norm)};
}

} // namespace cuzk
