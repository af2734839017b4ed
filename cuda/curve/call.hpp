#pragma once
// Products as calls, for curve formulas: see field/call.hpp.
#include "../field/call.hpp"
#include "../field/fp2.hpp"

namespace cuzk {

// mul_add is a*b + c*d.
template <class P> CUZK_CALL Mont<P> mul_add(Mont<P> a, Mont<P> b, Mont<P> c, Mont<P> d) {
  return Mont<P>::mul_add(a, b, c, d);
}
// mul_sub is a*b - c*d.
CUZK_HD Fp mul_sub(const Fp &a, const Fp &b, const Fp &c, const Fp &d) {
  return mul_add(a, b, c.complement(), d);
}

// In Fp2 a product is three calls. One call with three products and two reductions has a sixth fewer
// steps, but needs more registers than a thread has left beside a point.
CUZK_HD Fp2 mul(const Fp2 &a, const Fp2 &b) {
  const Fp v0 = mul(a.c0, b.c0), v1 = mul(a.c1, b.c1);
  const Fp v2 = mul(Fp::add_lazy(a.c0, a.c1), Fp::add_lazy(b.c0, b.c1));
  return {v0 - v1, v2 - v0 - v1};
}
CUZK_HD Fp2 sqr(const Fp2 &a) {
  return {mul(Fp::add_lazy(a.c0, a.c1), a.c0 - a.c1), mul(Fp::add_lazy(a.c0, a.c0), a.c1)};
}
CUZK_HD Fp2 mul_sub(const Fp2 &a, const Fp2 &b, const Fp2 &c, const Fp2 &d) {
  return mul(a, b) - mul(c, d);
}

} // namespace cuzk
