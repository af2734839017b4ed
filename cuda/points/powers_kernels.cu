// Powers of one scalar. Tested by TestGPUPowers and, as a twin, by TestPowers.
#include "../field/call.hpp"

using namespace cuzk;

struct PowersParams { // mirrored by internal/kernels/params.go
  Fr *out;            // [n] out: out[i] = scale * x^(first + i)
  uint32_t first;     // first + n is at most 2^32
  uint32_t n;
  Fr scale;
  Fr square[32]; // x^(2^k)
};

// One thread a power, 256 threads a block, no shared memory.
extern "C" __global__
__launch_bounds__(256) void fr_powers(const __grid_constant__ PowersParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n)
    return;
  Fr v = p.scale;
  uint32_t e = p.first + i;
#pragma unroll 1
  for (uint32_t k = 0; e; k++, e >>= 1) {
    if (e & 1)
      v = v * p.square[k];
  }
  p.out[i] = v;
}
