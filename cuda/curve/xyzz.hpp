#pragma once
// Points of y^2 = x^3 + b over F (Fp for G1, Fp2 for G2), a = 0.
//
// Affine has the layout of gnark-crypto's G1Affine and G2Affine; (0, 0) is the point at infinity.
// Xyzz is (X, Y, ZZ, ZZZ) with x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2, and ZZ = 0 at infinity. Formulas:
// Explicit-Formulas Database, short Weierstrass curves, xyzz coordinates (madd-2008-s, add-2008-s,
// dbl-2008-s-1, mdbl-2008-s-1). Every case is handled: infinity, P + P, P - P.
#include "call.hpp"

namespace cuzk {

template <class F> struct Affine {
  F x, y;
  CUZK_HD bool is_inf() const { return x.is_zero() && y.is_zero(); }
};

template <class F> struct Xyzz {
  F x, y, zz, zzz;

  static CUZK_HD Xyzz inf() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
  CUZK_HD bool is_inf() const { return zz.is_zero(); }

  static CUZK_HD Xyzz from_affine(const Affine<F> &p) {
    return p.is_inf() ? inf() : Xyzz{p.x, p.y, F::one(), F::one()};
  }

  // dbl_affine is 2p for p not at infinity: 5M + 2S less what ZZ = 1 saves.
  static CUZK_HD Xyzz dbl_affine(const Affine<F> &p) {
    const F u = p.y.dbl();
    const F v = sqr(u);
    return finish_double(p.x, p.y, u, v, F::one(), F::one());
  }
  CUZK_HD void dbl() { // 7M + 2S and the merged reduction
    const F u = y.dbl();
    const F v = sqr(u);
    *this = finish_double(x, y, u, v, zz, zzz);
  }

  // add adds an affine point: 8M + 2S.
  CUZK_HD void add(const Affine<F> &q) {
    if (q.is_inf())
      return;
    if (is_inf()) {
      *this = from_affine(q);
      return;
    }
    const F p = mul(q.x, zz) - x;
    const F r = mul(q.y, zzz) - y;
    if (p.is_zero()) {
      *this = r.is_zero() ? dbl_affine(q) : inf();
      return;
    }
    finish_add(p, r, x, y);
  }

  // add adds another sum: 12M + 2S.
  CUZK_HD void add(const Xyzz &q) {
    if (q.is_inf())
      return;
    if (is_inf()) {
      *this = q;
      return;
    }
    const F u1 = mul(x, q.zz);
    const F s1 = mul(y, q.zzz);
    const F p = mul(q.x, zz) - u1;
    const F r = mul(q.y, zzz) - s1;
    if (p.is_zero()) {
      if (r.is_zero())
        dbl();
      else
        *this = inf();
      return;
    }
    zz = mul(zz, q.zz);
    zzz = mul(zzz, q.zzz);
    finish_add(p, r, u1, s1);
  }

private:
  // With PP = p^2, PPP = p^3, Q = u PP: X = r^2 - PPP - 2Q, Y = r (Q - X) - s PPP, ZZ *= PP,
  // ZZZ *= PPP.
  CUZK_HD void finish_add(const F &p, const F &r, const F &u, const F &s) {
    const F pp = sqr(p);
    zz = mul(zz, pp);
    const F q = mul(u, pp);
    const F ppp = mul(p, pp);
    zzz = mul(zzz, ppp);
    const F x3 = sqr(r) - ppp - q.dbl();
    y = mul_sub(r, q - x3, s, ppp);
    x = x3;
  }
  // With v = u^2, W = u v, S = x v, M = 3 x^2: X = M^2 - 2S, Y = M (S - X) - W y, ZZ *= v, ZZZ *=
  // W.
  static CUZK_HD Xyzz finish_double(const F &x, const F &y, const F &u, const F &v, const F &zz,
                                    const F &zzz) {
    const F w = mul(u, v);
    const F s = mul(x, v);
    const F xx = sqr(x);
    const F m = xx.dbl() + xx;
    Xyzz r;
    r.x = sqr(m) - s.dbl();
    r.y = mul_sub(m, s - r.x, w, y);
    r.zz = mul(v, zz);
    r.zzz = mul(w, zzz);
    return r;
  }
};

using G1Affine = Affine<Fp>;
using G2Affine = Affine<Fp2>;
using G1Xyzz = Xyzz<Fp>;
using G2Xyzz = Xyzz<Fp2>;

} // namespace cuzk
