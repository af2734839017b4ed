// G1: sums of points by bucket. See bucket.cuh and shared.cuh for formulas and parameters. Tested
// by TestGPUMSM, TestGPUBits and, as twins, by TestMSM and TestBits.
#include "shared.cuh"

using namespace cuzk;

// One thread for each `run` entries, 128 threads a block; all cases of the addition. The sum is in
// shared memory, 24 KiB a block, so that a multiprocessor holds four.
extern "C" __global__
__launch_bounds__(128, 4) void msm_accumulate_g1(const __grid_constant__ AccumulateParams p) {
  accumulate<Fp, 128>(p);
}
// One thread for each thread of the accumulation, 128 a block.
extern "C" __global__
__launch_bounds__(128) void msm_merge_g1(const __grid_constant__ MergeParams p) {
  merge<Fp>(p);
}
// Any number of blocks of 128 threads; 12 KiB of shared memory.
extern "C" __global__
__launch_bounds__(128) void msm_segments_g1(const __grid_constant__ MergeParams p) {
  segments<Fp, 128>(p);
}
// Any number of blocks of 128 threads; 12 KiB of shared memory.
extern "C" __global__
__launch_bounds__(128) void msm_items_g1(const __grid_constant__ MergeParams p) {
  items<Fp, 128>(p);
}
// One thread for each group that is left, 32 threads a block: there are few groups.
extern "C" __global__
__launch_bounds__(32) void msm_reduce_g1(const __grid_constant__ ReduceParams p) {
  reduce<Fp>(p);
}
// One block of 128 threads for each bit and window; 12 KiB of shared memory.
extern "C" __global__
__launch_bounds__(128) void msm_fold_g1(const __grid_constant__ FoldParams p) {
  fold<Fp, 128>(p);
}
