#pragma once
// Fp2 = Fp[u] / (u^2 + 1), the field of G2. Same layout as gnark-crypto's E2: c0, then c1.
#include "params.hpp"

namespace cuzk {

struct Fp2 {
  Fp c0, c1;

  static CUZK_HD Fp2 zero() { return {Fp::zero(), Fp::zero()}; }
  static CUZK_HD Fp2 one() { return {Fp::one(), Fp::zero()}; }
  CUZK_HD bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
  CUZK_HD Fp2 dbl() const { return {c0.dbl(), c1.dbl()}; }
  CUZK_HD Fp2 neg() const { return {c0.neg(), c1.neg()}; }
  friend CUZK_HD Fp2 operator+(const Fp2 &a, const Fp2 &b) { return {a.c0 + b.c0, a.c1 + b.c1}; }
  friend CUZK_HD Fp2 operator-(const Fp2 &a, const Fp2 &b) { return {a.c0 - b.c0, a.c1 - b.c1}; }

  // Three products and two reductions. The sums are below 2p, their product is below p * 2^384, and
  // so is what is left of it after both other products are taken away.
  friend CUZK_HD Fp2 operator*(const Fp2 &a, const Fp2 &b) {
    const Wide<Fp::N> v0 = Fp::mul_wide(a.c0, b.c0);
    const Wide<Fp::N> v1 = Fp::mul_wide(a.c1, b.c1);
    Wide<Fp::N> v2 = Fp::mul_wide(Fp::add_lazy(a.c0, a.c1), Fp::add_lazy(b.c0, b.c1));
    v2 = Fp::sub_wide(Fp::sub_wide(v2, v0), v1);
    return {Fp::redc(Fp::sub_wide(v0, v1)), Fp::redc(v2)};
  }
  // (c0 + c1)(c0 - c1) + 2 c0 c1 u. The first factor and 2 c0 are below 2p.
  CUZK_HD Fp2 sqr() const { return {Fp::add_lazy(c0, c1) * (c0 - c1), Fp::add_lazy(c0, c0) * c1}; }
  static CUZK_HD Fp2 mul_sub(const Fp2 &a, const Fp2 &b, const Fp2 &c, const Fp2 &d) {
    return a * b - c * d;
  }
};

} // namespace cuzk
