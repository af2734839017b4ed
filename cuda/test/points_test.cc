// Checks decoding, encoding, the subgroup test and inversion, compiled for the host, against
// vectors.
//
// Input (standard input), one case a line: g1 or g2, an operation, its operand and the wanted
// results; points as hexadecimal memory contents, numbers in decimal. The program prints each wrong
// line and ends with the number of cases; it fails if one was wrong.
#include "../points/inverse.hpp"
#include "../points/subgroup.hpp"

#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

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

template <class F> static bool run(const std::string &op, std::istringstream &in) {
  std::string a, b;
  unsigned want = 0;
  in >> a;
  if (op == "decode") { // encoding, reason, point
    in >> want >> b;
    Affine<F> p;
    const unsigned why = decode(parse<Encoded<F>>(a), p);
    return why == want && (why != kAccepted || same(p, parse<Affine<F>>(b)));
  }
  if (op == "encode") { // point, encoding
    in >> b;
    return same(encode(parse<Affine<F>>(a)), parse<Encoded<F>>(b));
  }
  if (op == "subgroup") { // point, 1 if it is in the subgroup
    in >> want;
    return in_subgroup(parse<Affine<F>>(a)) == (want == 1);
  }
  if (op == "inverse") { // element, its inverse
    in >> b;
    return same(inverse(parse<F>(a)), parse<F>(b));
  }
  return false;
}

int main() {
  std::string line;
  size_t n = 0, wrong = 0;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string group, op;
    in >> group >> op;
    n++;
    if (!(group == "g1" ? run<Fp>(op, in) : run<Fp2>(op, in))) {
      wrong++;
      std::printf("wrong: %s\n", line.c_str());
    }
  }
  std::printf("%zu cases, %zu wrong\n", n, wrong);
  return wrong || !n;
}
