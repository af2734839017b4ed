// G2: points of keys and multiples of one point. See points.cuh and fixed.cuh for parameters.
// Tested by TestGPUDecode, TestGPUSubgroup, TestGPUFixedBase and, as twins, by the tests of these
// names without GPU.
#include "fixed.cuh"

using namespace cuzk;

// One thread a point, 128 threads a block.
extern "C" __global__
__launch_bounds__(128) void points_decode_g2(const __grid_constant__ DecodeParams p) {
  decode_points<Fp2>(p);
}
// One thread a point, 128 threads a block; any point of the curve, infinity too.
extern "C" __global__
__launch_bounds__(128, 2) void points_check_g2(const __grid_constant__ CheckParams p) {
  check_points<Fp2>(p);
}
// One thread a point, 128 threads a block; infinity gets its flag.
extern "C" __global__
__launch_bounds__(128) void points_encode_g2(const __grid_constant__ EncodeParams p) {
  encode_points<Fp2>(p);
}
// One thread for `run` sums, 128 threads a block; infinity becomes (0, 0).
extern "C" __global__
__launch_bounds__(128) void points_affine_g2(const __grid_constant__ ToAffineParams p) {
  to_affine<Fp2>(p);
}
// One thread a multiple, 128 threads a block.
extern "C" __global__
__launch_bounds__(128, 2) void fixed_extend_g2(const __grid_constant__ ExtendParams p) {
  extend_table<Fp2>(p);
}
// One thread a scalar below r, 128 threads a block; all cases of the addition. The sum and one
// point stay in registers.
extern "C" __global__
__launch_bounds__(128, 2) void fixed_mul_g2(const __grid_constant__ FixedParams p) {
  fixed_mul<Fp2>(p);
}
