// G2: sums of points by bucket. See bucket.cuh for formulas and parameters. Tested by TestGPUMSM,
// TestGPUBits and, as twins, by TestMSM and TestBits.
#include "bucket.cuh"

using namespace cuzk;

// One thread for each `run` entries, 128 threads a block; all cases of the addition. The sum (96
// registers) and one point (48) stay in registers.
extern "C" __global__
__launch_bounds__(128, 2) void msm_accumulate_g2(const __grid_constant__ AccumulateParams p) {
  accumulate<Fp2>(p);
}
// One thread for each thread of the accumulation, 128 a block.
extern "C" __global__
__launch_bounds__(128) void msm_merge_g2(const __grid_constant__ MergeParams p) {
  merge<Fp2>(p);
}
// Any number of blocks of 64 threads; 12 KiB of shared memory.
extern "C" __global__
__launch_bounds__(64) void msm_segments_g2(const __grid_constant__ MergeParams p) {
  segments<Fp2, 64>(p);
}
// Any number of blocks of 64 threads; 12 KiB of shared memory.
extern "C" __global__
__launch_bounds__(64) void msm_items_g2(const __grid_constant__ MergeParams p) {
  items<Fp2, 64>(p);
}
// One thread for each group that is left, 32 threads a block: there are few groups.
extern "C" __global__
__launch_bounds__(32) void msm_reduce_g2(const __grid_constant__ ReduceParams p) {
  reduce<Fp2>(p);
}
// One block of 64 threads for each bit and window; 12 KiB of shared memory.
extern "C" __global__ __launch_bounds__(64) void msm_fold_g2(const __grid_constant__ FoldParams p) {
  fold<Fp2, 64>(p);
}
