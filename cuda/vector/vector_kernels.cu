// Element-wise passes over vectors of scalars. Each is bound by memory: one thread an element, 256
// threads a block, no shared memory. Tested by TestGPUPointwise and, as twins, by TestPointwise.
#include "../field/call.hpp"

using namespace cuzk;

struct PointwiseParams { // mirrored by internal/kernels/params.go
  const Fr *a, *b;       // [n]
  Fr *out;               // [n]; may be a or b
  uint64_t reserved64;
  Fr scale; // of fr_sub_scale
  uint32_t n;
  uint32_t reserved;
};

struct GatherParams {
  const Fr *in;
  const uint32_t *index; // [n]
  Fr *out;               // [n]
  uint32_t n;
  uint32_t reserved;
};

struct UnequalParams {
  const Fr *a, *b, *c; // [n]
  uint32_t *first;     // [1] out: lowered to the first i with a b != c
  uint32_t n;
  uint32_t reserved;
};

// out = a b, element by element.
extern "C" __global__ __launch_bounds__(256) void fr_mul(const __grid_constant__ PointwiseParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < p.n)
    p.out[i] = p.a[i] * p.b[i];
}

// out = (a - b) scale, element by element.
extern "C" __global__
__launch_bounds__(256) void fr_sub_scale(const __grid_constant__ PointwiseParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < p.n)
    p.out[i] = (p.a[i] - p.b[i]) * p.scale;
}

// out[i] = in[index[i]].
extern "C" __global__ __launch_bounds__(256) void fr_gather(const __grid_constant__ GatherParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < p.n)
    p.out[i] = p.in[p.index[i]];
}

// Finds the first row that is not satisfied.
extern "C" __global__
__launch_bounds__(256) void fr_first_unequal(const __grid_constant__ UnequalParams p) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= p.n)
    return;
  const Fr d = p.a[i] * p.b[i] - p.c[i];
  if (!d.is_zero())
    atomicMin(p.first, i);
}
