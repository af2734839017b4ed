// Checks the field and curve headers, compiled for the host, against vectors.
//
// Input (standard input), one case a line: an operation, then its operands and the wanted result as
// hexadecimal memory contents (little-endian limbs in Montgomery form, as gnark-crypto holds them).
// The program prints each wrong line and ends with the number of cases; it fails if one was wrong.
#include "../curve/xyzz.hpp"

#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace cuzk;

template <class T> static T parse(const std::string &hex) {
  T v;
  if (hex.size() != 2 * sizeof(T)) {
    std::fprintf(stderr, "operand of %zu digits, want %zu\n", hex.size(), 2 * sizeof(T));
    std::exit(2);
  }
  unsigned char b[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); i++)
    b[i] = (unsigned char)std::stoi(hex.substr(2 * i, 2), nullptr, 16);
  std::memcpy((void *)&v, b, sizeof v);
  return v;
}

template <class T> static bool same(const T &a, const T &b) {
  return !std::memcmp(&a, &b, sizeof a);
}

// Two sums are the same point if their coordinates agree after cross-multiplication.
template <class F> static bool same_point(const Xyzz<F> &a, const Affine<F> &want) {
  if (a.is_inf() || want.is_inf())
    return a.is_inf() == want.is_inf();
  return same(a.x, want.x * a.zz) && same(a.y, want.y * a.zzz) &&
         same(a.zz * a.zz * a.zz, a.zzz * a.zzz);
}

template <class F>
static bool field_case(const std::string &op, const std::vector<std::string> &v) {
  const F a = parse<F>(v[0]);
  const F want = parse<F>(v.back());
  if (op == "sqr")
    return same(a.sqr(), want);
  if (op == "neg")
    return same(a.neg(), want);
  if (op == "dbl")
    return same(a.dbl(), want);
  const F b = parse<F>(v[1]);
  if (op == "mul")
    return same(a * b, want);
  if (op == "add")
    return same(a + b, want);
  if (op == "sub")
    return same(a - b, want);
  if (op == "mul_sub")
    return same(F::mul_sub(a, b, parse<F>(v[2]), parse<F>(v[3])), want);
  return false;
}

template <class F>
static bool curve_case(const std::string &op, const std::vector<std::string> &v) {
  const Affine<F> p = parse<Affine<F>>(v[0]), q = parse<Affine<F>>(v[1]);
  const Affine<F> want = parse<Affine<F>>(v.back());
  Xyzz<F> a = Xyzz<F>::from_affine(p);
  if (op == "madd") { // p + q
    a.add(q);
    return same_point(a, want);
  }
  if (op == "madd3") { // p + q + q: a sum whose ZZ is not one
    a.add(q);
    a.add(q);
    return same_point(a, want);
  }
  if (op == "add") { // (p + q) + (q + q)
    Xyzz<F> b = Xyzz<F>::from_affine(q);
    b.add(q);
    a.add(q);
    a.add(b);
    return same_point(a, want);
  }
  if (op == "same") { // (p + q) + (q + p) - (p + q)
    Xyzz<F> b = Xyzz<F>::from_affine(q), c = b;
    a.add(q);
    b.add(p);
    c.add(p);
    c.y = c.y.neg();
    a.add(b);
    a.add(c);
    return same_point(a, want);
  }
  return false;
}

int main() {
  std::string line;
  size_t n = 0, wrong = 0;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string type, op, word;
    in >> type >> op;
    std::vector<std::string> v;
    while (in >> word)
      v.push_back(word);
    bool ok = false;
    if (type == "fp" && op == "mul_add")
      ok = same(Fp::mul_add(parse<Fp>(v[0]), parse<Fp>(v[1]), parse<Fp>(v[2]), parse<Fp>(v[3])),
                parse<Fp>(v[4]));
    else if (type == "fp")
      ok = field_case<Fp>(op, v);
    if (type == "fp" && op == "mul_sub")
      ok = ok && same(Fp::mul_add(parse<Fp>(v[0]), parse<Fp>(v[1]),
                                  parse<Fp>(v[2]).complement(), parse<Fp>(v[3])),
                      parse<Fp>(v[4]));
    if (type == "fr" && op == "from_mont") {
      ok = same(parse<Fr>(v[0]).from_mont(), parse<Fr>(v[1]));
    } else if (type == "fr") {
      ok = field_case<Fr>(op, v);
    }
    if (type == "fp2")
      ok = field_case<Fp2>(op, v);
    if (type == "g1")
      ok = curve_case<Fp>(op, v);
    if (type == "g2")
      ok = curve_case<Fp2>(op, v);
    n++;
    if (!ok) {
      wrong++;
      std::printf("wrong: %s\n", line.c_str());
    }
  }
  std::printf("%zu cases, %zu wrong\n", n, wrong);
  return wrong || !n;
}
