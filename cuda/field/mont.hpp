#pragma once
// Prime fields in Montgomery form with 32-bit limbs.
//
// P gives N (even), the modulus MOD, MINV = -1/MOD[0] mod 2^32, ONE = 2^(32N) mod MOD, and
// LOW_ONE: MOD[0] = 1 and MOD[1] = 2^32-1, for which reductions save products (mul_low_one).
//
// Products keep two accumulators of N limbs: x holds limbs 0..N-1 of the running value and y holds
// limbs 1..N. A row adds a times one limb of b: the even limbs of a go to x and the odd ones to y,
// so that each product's low and high half stay a neighbouring pair (one wide multiply-add), and
// the carry of a row runs through one chain. After a row limb 0 is zero; shifting it out makes y
// the accumulator that starts at limb 0, so the two change roles.
//
// Bounds: values are below MOD after every operation here. mul and redc also accept factors whose
// product is below MOD * 2^(32N) and, for mul, factors below 2^(32N-1) with MOD at most 2^(32N-2):
// the base field of BLS12-381 has three spare bits and may use it (Fp2 does), the scalar field has
// one and may not.
#include "limb.hpp"

namespace cuzk {

// Wide is a product of two field elements before reduction.
template <int N> struct Wide {
  uint32_t limb[2 * N];
};

template <class P> struct alignas(16) Mont {
  static constexpr int N = P::N;
  uint32_t limb[N];

  static CUZK_HD Mont zero() {
    Mont r;
    CUZK_UNROLL for (int i = 0; i < N; i++) r.limb[i] = 0;
    return r;
  }
  static CUZK_HD Mont one() {
    Mont r;
    CUZK_UNROLL for (int i = 0; i < N; i++) r.limb[i] = P::one(i);
    return r;
  }

  CUZK_HD bool is_zero() const {
    uint32_t v = 0;
    CUZK_UNROLL for (int i = 0; i < N; i++) v |= limb[i];
    return v == 0;
  }

  // reduce_once subtracts MOD if the value is not below it.
  CUZK_HD void reduce_once() {
    uint32_t t[N];
    t[0] = sub_cc(limb[0], P::mod(0));
    CUZK_UNROLL for (int i = 1; i < N; i++) t[i] = subc_cc(limb[i], P::mod(i));
    const uint32_t borrow = subc(0, 0);
    CUZK_UNROLL for (int i = 0; i < N; i++) limb[i] = borrow ? limb[i] : t[i];
  }

  // add_lazy is the plain sum. The caller answers for the range.
  static CUZK_HD Mont add_lazy(const Mont &a, const Mont &b) {
    Mont r;
    r.limb[0] = add_cc(a.limb[0], b.limb[0]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] = addc_cc(a.limb[i], b.limb[i]);
    r.limb[N - 1] = addc(a.limb[N - 1], b.limb[N - 1]);
    return r;
  }
  friend CUZK_HD Mont operator+(const Mont &a, const Mont &b) {
    Mont r = add_lazy(a, b);
    r.reduce_once();
    return r;
  }
  friend CUZK_HD Mont operator-(const Mont &a, const Mont &b) {
    Mont r;
    r.limb[0] = sub_cc(a.limb[0], b.limb[0]);
    CUZK_UNROLL for (int i = 1; i < N; i++) r.limb[i] = subc_cc(a.limb[i], b.limb[i]);
    const uint32_t borrow = subc(0, 0);
    r.limb[0] = add_cc(r.limb[0], P::mod(0) & borrow);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] = addc_cc(r.limb[i], P::mod(i) & borrow);
    r.limb[N - 1] = addc(r.limb[N - 1], P::mod(N - 1) & borrow);
    return r;
  }
  CUZK_HD Mont dbl() const { return *this + *this; }
  // neg is -a; of zero it is zero.
  CUZK_HD Mont neg() const {
    const uint32_t keep = is_zero() ? 0 : 0xffffffffu;
    Mont r;
    r.limb[0] = sub_cc(P::mod(0) & keep, limb[0]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] = subc_cc(P::mod(i) & keep, limb[i]);
    r.limb[N - 1] = subc(P::mod(N - 1) & keep, limb[N - 1]);
    return r;
  }

  friend CUZK_HD Mont operator*(const Mont &a, const Mont &b) {
    if constexpr (P::LOW_ONE)
      return mul_low_one(a, b);
    else
      return mul_rows(a, b);
  }

  // sqr is a*a: fewer products where the reduction can be kept apart cheaply.
  CUZK_HD Mont sqr() const {
    if constexpr (P::LOW_ONE)
      return *this * *this;
    else
      return redc(sqr_wide(*this));
  }

  // mul_sub is a*b - c*d with one reduction. It needs 2 MOD^2 < MOD * 2^(32N), as every field here.
  static CUZK_HD Mont mul_sub(const Mont &a, const Mont &b, const Mont &c, const Mont &d) {
    return redc(sub_wide(mul_wide(a, b), mul_wide(c, d)));
  }

  // mul_add is a*b + c*d with one reduction: each row takes both products. Values up to MOD will
  // do, and MOD must be below 2^(32N-2), as in the base field.
  static CUZK_HD Mont mul_add(const Mont &a, const Mont &b, const Mont &c, const Mont &d) {
    uint32_t x[N], y[N];
    CUZK_UNROLL for (int i = 0; i < N; i += 2) {
      next_row(x, y, a.limb, b.limb[i], i == 0);
      add_row(x, y, c.limb, d.limb[i]);
      cancel(x, y);
      next_row(y, x, a.limb, b.limb[i + 1], false);
      add_row(y, x, c.limb, d.limb[i + 1]);
      cancel(y, x);
    }
    Mont r = join(y, x);
    r.reduce_once();
    return r;
  }

  // complement is MOD - a; of zero it is MOD.
  CUZK_HD Mont complement() const {
    Mont r;
    r.limb[0] = sub_cc(P::mod(0), limb[0]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] = subc_cc(P::mod(i), limb[i]);
    r.limb[N - 1] = subc(P::mod(N - 1), limb[N - 1]);
    return r;
  }

  // mul_wide is the whole product. x holds it from limb 0, y from limb 1.
  static CUZK_HD Wide<N> mul_wide(const Mont &a, const Mont &b) {
    uint32_t x[2 * N], y[2 * N];
    CUZK_UNROLL for (int i = N; i < 2 * N; i++) x[i] = y[i] = 0;
    CUZK_UNROLL for (int k = 0; k < N; k += 2) {
      set_pair(x + k, a.limb[k], b.limb[0]);
      set_pair(y + k, a.limb[k + 1], b.limb[0]);
    }
    CUZK_UNROLL for (int i = 0; i < N; i += 2) {
      if (i > 0) {
        mad_chain(x + i, a.limb, b.limb[i]);
        x[i + N] = addc(0, 0);
        mad_chain(y + i, a.limb + 1, b.limb[i]);
        y[i + N] = addc(0, 0);
      }
      mad_chain(y + i, a.limb, b.limb[i + 1]);
      y[i + N] = addc(y[i + N], 0);
      mad_chain(x + i + 2, a.limb + 1, b.limb[i + 1]);
    }
    Wide<N> r;
    r.limb[0] = x[0];
    r.limb[1] = add_cc(x[1], y[0]);
    CUZK_UNROLL for (int i = 2; i < 2 * N - 1; i++) r.limb[i] = addc_cc(x[i], y[i - 1]);
    r.limb[2 * N - 1] = addc(x[2 * N - 1], y[2 * N - 2]);
    return r;
  }

  // sqr_wide sums the products of different limbs once, doubles, and adds the squares.
  static CUZK_HD Wide<N> sqr_wide(const Mont &a) {
    uint32_t x[2 * N], y[2 * N];
    CUZK_UNROLL for (int i = N; i < 2 * N; i++) x[i] = y[i] = 0;
    x[0] = x[1] = 0;
    CUZK_UNROLL for (int j = 1; j < N; j += 2) set_pair(y + j - 1, a.limb[0], a.limb[j]);
    CUZK_UNROLL for (int j = 2; j < N; j += 2) set_pair(x + j, a.limb[0], a.limb[j]);
    CUZK_UNROLL for (int i = 1; i < N; i++) {
      // a_i a_j for j = i+1, i+3, ... in y, for j = i+2, i+4, ... in x.
      CUZK_UNROLL for (int j = i + 1; j < N; j += 2) {
        if (j == i + 1)
          mad_pair_cc(y[i + j - 1], y[i + j], a.limb[i], a.limb[j], y[i + j - 1], y[i + j]);
        else
          madc_pair_cc(y[i + j - 1], y[i + j], a.limb[i], a.limb[j], y[i + j - 1], y[i + j]);
      }
      if (i % 2 == 1 && i + 1 < N)
        y[i + N - 1] = addc(y[i + N - 1], 0);
      CUZK_UNROLL for (int j = i + 2; j < N; j += 2) {
        if (j == i + 2)
          mad_pair_cc(x[i + j], x[i + j + 1], a.limb[i], a.limb[j], x[i + j], x[i + j + 1]);
        else
          madc_pair_cc(x[i + j], x[i + j + 1], a.limb[i], a.limb[j], x[i + j], x[i + j + 1]);
      }
      if (i % 2 == 0 && i + 2 < N)
        x[i + N] = addc(x[i + N], 0);
    }
    Wide<N> r;
    r.limb[0] = 0;
    r.limb[1] = add_cc(x[1], y[0]);
    CUZK_UNROLL for (int i = 2; i < 2 * N - 1; i++) r.limb[i] = addc_cc(x[i], y[i - 1]);
    r.limb[2 * N - 1] = addc(x[2 * N - 1], y[2 * N - 2]);
    r.limb[0] = add_cc(r.limb[0], r.limb[0]);
    CUZK_UNROLL for (int i = 1; i < 2 * N - 1; i++) r.limb[i] = addc_cc(r.limb[i], r.limb[i]);
    r.limb[2 * N - 1] = addc(r.limb[2 * N - 1], r.limb[2 * N - 1]);
    mad_pair_cc(r.limb[0], r.limb[1], a.limb[0], a.limb[0], r.limb[0], r.limb[1]);
    CUZK_UNROLL for (int i = 1; i < N; i++) {
      madc_pair_cc(r.limb[2 * i], r.limb[2 * i + 1], a.limb[i], a.limb[i], r.limb[2 * i],
                   r.limb[2 * i + 1]);
    }
    return r;
  }

  // sub_wide is a - b, plus MOD * 2^(32N) when that is negative.
  static CUZK_HD Wide<N> sub_wide(const Wide<N> &a, const Wide<N> &b) {
    Wide<N> r;
    r.limb[0] = sub_cc(a.limb[0], b.limb[0]);
    CUZK_UNROLL for (int i = 1; i < 2 * N; i++) r.limb[i] = subc_cc(a.limb[i], b.limb[i]);
    const uint32_t borrow = subc(0, 0);
    r.limb[N] = add_cc(r.limb[N], P::mod(0) & borrow);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[N + i] =
        addc_cc(r.limb[N + i], P::mod(i) & borrow);
    r.limb[2 * N - 1] = addc(r.limb[2 * N - 1], P::mod(N - 1) & borrow);
    return r;
  }

  // redc is t / 2^(32N) for t < MOD * 2^(32N).
  static CUZK_HD Mont redc(const Wide<N> &t) {
    if constexpr (P::LOW_ONE)
      return redc_low_one(t);
    else
      return redc_rows(t);
  }

  // from_mont is the plain number, below MOD, as limbs.
  CUZK_HD Mont from_mont() const {
    Wide<N> t;
    CUZK_UNROLL for (int i = 0; i < N; i++) t.limb[i] = limb[i], t.limb[N + i] = 0;
    return redc(t);
  }

private:
  // mul_rows is a*b for any MOD.
  static CUZK_HD Mont mul_rows(const Mont &a, const Mont &b) {
    uint32_t x[N], y[N];
    CUZK_UNROLL for (int k = 0; k < N; k += 2) {
      set_pair(x + k, a.limb[k], b.limb[0]);
      set_pair(y + k, a.limb[k + 1], b.limb[0]);
    }
    cancel(x, y);
    CUZK_UNROLL for (int i = 1; i < N - 1; i += 2) {
      mul_row(y, x, a.limb, b.limb[i]);
      mul_row(x, y, a.limb, b.limb[i + 1]);
    }
    mul_row(y, x, a.limb, b.limb[N - 1]);
    Mont r = join(y, x);
    r.reduce_once();
    return r;
  }
  // redc_rows is redc for any MOD.
  static CUZK_HD Mont redc_rows(const Wide<N> &t) {
    uint32_t x[N], y[N];
    CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = t.limb[k], y[k] = 0;
    cancel(x, y);
    CUZK_UNROLL for (int i = 1; i < N - 1; i += 2) {
      redc_row(y, x);
      redc_row(x, y);
    }
    redc_row(y, x);
    Mont r = join(y, x);
    r.limb[0] = add_cc(r.limb[0], t.limb[N]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] = addc_cc(r.limb[i], t.limb[N + i]);
    r.limb[N - 1] = addc(r.limb[N - 1], t.limb[2 * N - 1]);
    r.reduce_once();
    return r;
  }

  // mul_low_one is a*b where MOD[0] = 1. The multiple of MOD that a row takes away is limb 0 itself
  // times MOD. Instead the row adds limb 0 times C = 2^(32N) - MOD, whose limb 0 is all ones and
  // whose limb 1 is zero, and m keeps what was added 2^(32N) times too often. Running values stay
  // below a + C, so a must be below MOD. To add limb 0 times -1 would do the same, but the compiler
  // makes no wide instructions of products with a number that it negates.
  static CUZK_HD Mont mul_low_one(const Mont &a, const Mont &b) {
    uint32_t x[N], y[N], m[N];
    CUZK_UNROLL for (int k = 0; k < N; k += 2) {
      set_pair(x + k, a.limb[k], b.limb[0]);
      set_pair(y + k, a.limb[k + 1], b.limb[0]);
    }
    m[0] = cancel_low_one(x, y);
    CUZK_UNROLL for (int i = 1; i < N - 1; i += 2) {
      next_row(y, x, a.limb, b.limb[i], false);
      m[i] = cancel_low_one(y, x);
      next_row(x, y, a.limb, b.limb[i + 1], false);
      m[i + 1] = cancel_low_one(x, y);
    }
    next_row(y, x, a.limb, b.limb[N - 1], false);
    m[N - 1] = cancel_low_one(y, x);
    return take(join(y, x), m);
  }
  // cancel_low_one adds x[0] times C. Limb 0, now zero, is left as it was and returned.
  static CUZK_HD uint32_t cancel_low_one(uint32_t (&x)[N], uint32_t (&y)[N]) {
    const uint32_t m = x[0];
    mad_pair_cc(y[2], y[3], P::complement(3), m, y[2], y[3]);
    CUZK_UNROLL for (int k = 4; k < N - 2; k += 2) {
      madc_pair_cc(y[k], y[k + 1], P::complement(k + 1), m, y[k], y[k + 1]);
    }
    madc_pair(y[N - 2], y[N - 1], P::complement(N - 1), m, y[N - 2], y[N - 1]);
    x[1] = add_cc(x[1], m);
    CUZK_UNROLL for (int k = 2; k < N; k += 2) {
      madc_pair_cc(x[k], x[k + 1], P::complement(k), m, x[k], x[k + 1]);
    }
    y[N - 1] = addc(y[N - 1], 0);
    return m;
  }
  // redc_low_one is redc in the manner of mul_low_one.
  static CUZK_HD Mont redc_low_one(const Wide<N> &t) {
    uint32_t x[N], y[N], m[N];
    CUZK_UNROLL for (int k = 0; k < N; k++) x[k] = t.limb[k], y[k] = 0;
    m[0] = cancel_low_one(x, y);
    CUZK_UNROLL for (int i = 1; i < N - 1; i += 2) {
      m[i] = redc_row_low_one(y, x);
      m[i + 1] = redc_row_low_one(x, y);
    }
    m[N - 1] = redc_row_low_one(y, x);
    Mont r = join(y, x);
    r.limb[0] = add_cc(r.limb[0], t.limb[N]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] = addc_cc(r.limb[i], t.limb[N + i]);
    r.limb[N - 1] = addc(r.limb[N - 1], t.limb[2 * N - 1]); // a carry is taken back with m
    return take(r, m);
  }
  // redc_row_low_one shifts limb 0 of o out and adds limb 0 of e times C; it returns that limb.
  static CUZK_HD uint32_t redc_row_low_one(uint32_t (&e)[N], uint32_t (&o)[N]) {
    e[0] = add_cc(e[0], o[1]);
    const uint32_t m = e[0];
    o[0] = addc_cc(o[2], 0);
    o[1] = addc_cc(o[3], 0);
    CUZK_UNROLL for (int k = 2; k < N - 2; k += 2) {
      madc_pair_cc(o[k], o[k + 1], P::complement(k + 1), m, o[k + 2], o[k + 3]);
    }
    madc_pair(o[N - 2], o[N - 1], P::complement(N - 1), m, 0, 0);
    e[1] = add_cc(e[1], m);
    CUZK_UNROLL for (int k = 2; k < N; k += 2) {
      madc_pair_cc(e[k], e[k + 1], P::complement(k), m, e[k], e[k + 1]);
    }
    o[N - 1] = addc(o[N - 1], 0);
    return m;
  }
  // take is v - m, plus MOD when that is negative; it lies between -MOD and MOD.
  static CUZK_HD Mont take(const Mont &v, const uint32_t (&m)[N]) {
    Mont r;
    r.limb[0] = sub_cc(v.limb[0], m[0]);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] = subc_cc(v.limb[i], m[i]);
    r.limb[N - 1] = subc(v.limb[N - 1], m[N - 1]);
    const uint32_t negative = uint32_t(int32_t(r.limb[N - 1]) >> 31);
    r.limb[0] = add_cc(r.limb[0], P::mod(0) & negative);
    CUZK_UNROLL for (int i = 1; i < N - 1; i++) r.limb[i] =
        addc_cc(r.limb[i], P::mod(i) & negative);
    r.limb[N - 1] = addc(r.limb[N - 1], P::mod(N - 1) & negative);
    return r;
  }

  // set_pair makes acc[0..1] the product a * b.
  static CUZK_HD void set_pair(uint32_t *acc, uint32_t a, uint32_t b) {
    mul_wide_limb(acc[0], acc[1], a, b);
  }

  // mad_chain adds the N/2 products v * a[0], v * a[2], ... to acc[0..N-1]; the carry stays.
  static CUZK_HD void mad_chain(uint32_t *acc, const uint32_t *a, uint32_t v) {
    mad_pair_cc(acc[0], acc[1], a[0], v, acc[0], acc[1]);
    CUZK_UNROLL for (int k = 2; k < N; k += 2) {
      madc_pair_cc(acc[k], acc[k + 1], a[k], v, acc[k], acc[k + 1]);
    }
  }

  // multiplier is the m for which v + m * MOD is a multiple of 2^32.
  static CUZK_HD uint32_t multiplier(uint32_t v) { return v * P::MINV; }

  // mod_even adds m times the even limbs of MOD to x; what leaves at the top goes to top. x[0]
  // becomes zero.
  static CUZK_HD void mod_even(uint32_t (&x)[N], uint32_t m, uint32_t &top) {
    mad_pair_cc(x[0], x[1], P::mod(0), m, x[0], x[1]);
    CUZK_UNROLL for (int k = 2; k < N; k += 2) {
      madc_pair_cc(x[k], x[k + 1], P::mod(k), m, x[k], x[k + 1]);
    }
    top = addc(top, 0);
  }

  // cancel adds the multiple of MOD that makes x[0] zero.
  static CUZK_HD void cancel(uint32_t (&x)[N], uint32_t (&y)[N]) {
    const uint32_t m = multiplier(x[0]);
    mad_pair_cc(y[0], y[1], P::mod(1), m, y[0], y[1]);
    CUZK_UNROLL for (int k = 2; k < N - 2; k += 2) {
      madc_pair_cc(y[k], y[k + 1], P::mod(k + 1), m, y[k], y[k + 1]);
    }
    madc_pair(y[N - 2], y[N - 1], P::mod(N - 1), m, y[N - 2], y[N - 1]);
    mod_even(x, m, y[N - 1]);
  }

  // mul_row shifts limb 0 of o (a zero) out, adds a * v and cancels: e starts at limb 0 now.
  static CUZK_HD void mul_row(uint32_t (&e)[N], uint32_t (&o)[N], const uint32_t *a, uint32_t v) {
    next_row(e, o, a, v, false);
    cancel(e, o);
  }
  // next_row is mul_row without the cancelling. The first row sets e and o.
  static CUZK_HD void next_row(uint32_t (&e)[N], uint32_t (&o)[N], const uint32_t *a, uint32_t v,
                               bool first) {
    if (first) {
      CUZK_UNROLL for (int k = 0; k < N; k += 2) {
        set_pair(e + k, a[k], v);
        set_pair(o + k, a[k + 1], v);
      }
      return;
    }
    e[0] = add_cc(e[0], o[1]);
    CUZK_UNROLL for (int k = 0; k < N - 2; k += 2) {
      madc_pair_cc(o[k], o[k + 1], a[k + 1], v, o[k + 2], o[k + 3]);
    }
    madc_pair(o[N - 2], o[N - 1], a[N - 1], v, 0, 0);
    mad_chain(e, a, v);
    o[N - 1] = addc(o[N - 1], 0);
  }
  // add_row adds a * v; e starts at limb 0, o at limb 1.
  static CUZK_HD void add_row(uint32_t (&e)[N], uint32_t (&o)[N], const uint32_t *a, uint32_t v) {
    mad_pair_cc(o[0], o[1], a[1], v, o[0], o[1]);
    CUZK_UNROLL for (int k = 2; k < N - 2; k += 2) {
      madc_pair_cc(o[k], o[k + 1], a[k + 1], v, o[k], o[k + 1]);
    }
    madc_pair(o[N - 2], o[N - 1], a[N - 1], v, o[N - 2], o[N - 1]);
    mad_chain(e, a, v);
    o[N - 1] = addc(o[N - 1], 0);
  }

  // redc_row shifts limb 0 of o (a zero) out and cancels limb 0 of e.
  static CUZK_HD void redc_row(uint32_t (&e)[N], uint32_t (&o)[N]) {
    e[0] = add_cc(e[0], o[1]);
    const uint32_t m = multiplier(e[0]);
    CUZK_UNROLL for (int k = 0; k < N - 2; k += 2) {
      madc_pair_cc(o[k], o[k + 1], P::mod(k + 1), m, o[k + 2], o[k + 3]);
    }
    madc_pair(o[N - 2], o[N - 1], P::mod(N - 1), m, 0, 0);
    mod_even(e, m, o[N - 1]);
  }

  // join is x / 2^32 + y for x[0] = 0.
  static CUZK_HD Mont join(const uint32_t (&x)[N], const uint32_t (&y)[N]) {
    Mont r;
    r.limb[0] = add_cc(y[0], x[1]);
    CUZK_UNROLL for (int k = 1; k < N - 1; k++) r.limb[k] = addc_cc(y[k], x[k + 1]);
    r.limb[N - 1] = addc(y[N - 1], 0);
    return r;
  }
};

} // namespace cuzk
