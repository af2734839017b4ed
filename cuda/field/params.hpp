#pragma once
// The two prime fields of BLS12-381. The layout of an element is that of gnark-crypto's fp.Element
// and fr.Element: little-endian limbs, Montgomery form with R = 2^384 and 2^256.
#include "mont.hpp"

// The moduli.
#define CUZK_FP_MOD                                                                                \
  {0xffffaaabu, 0xb9feffffu, 0xb153ffffu, 0x1eabfffeu, 0xf6b0f624u, 0x6730d2a0u,                   \
   0xf38512bfu, 0x64774b84u, 0x434bacd7u, 0x4b1ba7b6u, 0x397fe69au, 0x1a0111eau}
#define CUZK_FR_MOD                                                                                \
  {0x00000001u, 0xffffffffu, 0xfffe5bfeu, 0x53bda402u,                                             \
   0x09a1d805u, 0x3339d808u, 0x299d7d48u, 0x73eda753u}
// 2^256 less the scalar field's modulus.
#define CUZK_FR_COMPLEMENT                                                                         \
  {0xffffffffu, 0x00000000u, 0x0001a401u, 0xac425bfdu,                                             \
   0xf65e27fau, 0xccc627f7u, 0xd66282b7u, 0x8c1258acu}

namespace cuzk {

#ifdef __CUDACC__
// On the card the moduli are read from constant memory, and they are not const, because a product
// with a number that the compiler knows is made of two instructions instead of a wide one.
__constant__ uint32_t kFpMod[12] = CUZK_FP_MOD;
__constant__ uint32_t kFrMod[8] = CUZK_FR_MOD;
__constant__ uint32_t kFrComplement[8] = CUZK_FR_COMPLEMENT;
#endif

// FpParams is the base field, 381 bits.
struct FpParams {
  static constexpr int N = 12;
  static constexpr bool LOW_ONE = false;
  static constexpr uint32_t MINV = 0xfffcfffdu;
  static CUZK_HD uint32_t mod(int i) {
#ifdef __CUDA_ARCH__
    return kFpMod[i];
#else
    constexpr uint32_t v[N] = CUZK_FP_MOD;
    return v[i];
#endif
  }
  static CUZK_HD constexpr uint32_t one(int i) {
    constexpr uint32_t v[N] = {0x0002fffdu, 0x76090000u, 0xc40c0002u, 0xebf4000bu,
                               0x53c758bau, 0x5f489857u, 0x70525745u, 0x77ce5853u,
                               0xa256ec6du, 0x5c071a97u, 0xfa80e493u, 0x15f65ec3u};
    return v[i];
  }
};

// FrParams is the scalar field, 255 bits.
struct FrParams {
  static constexpr int N = 8;
  static constexpr bool LOW_ONE = true;
  static constexpr uint32_t MINV = 0xffffffffu;
  static CUZK_HD uint32_t mod(int i) {
#ifdef __CUDA_ARCH__
    return kFrMod[i];
#else
    constexpr uint32_t v[N] = CUZK_FR_MOD;
    return v[i];
#endif
  }
  static CUZK_HD uint32_t complement(int i) {
#ifdef __CUDA_ARCH__
    return kFrComplement[i];
#else
    constexpr uint32_t v[N] = CUZK_FR_COMPLEMENT;
    return v[i];
#endif
  }
  static CUZK_HD constexpr uint32_t one(int i) {
    constexpr uint32_t v[N] = {0xfffffffeu, 0x00000001u, 0x00034802u, 0x5884b7fau,
                               0xecbc4ff5u, 0x998c4fefu, 0xacc5056fu, 0x1824b159u};
    return v[i];
  }
};

using Fp = Mont<FpParams>;
using Fr = Mont<FrParams>;

} // namespace cuzk
