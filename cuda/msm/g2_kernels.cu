// G2: sums of points by bucket. See bucket.cuh and pairs.cuh for formulas and parameters. Tested by
// TestGPUMSM, TestGPUBits and, as twins, by TestMSM and TestBits.
#include "pairs.cuh"

using namespace cuzk;

// Two lanes for each `run` entries, 128 threads a block; all cases of the addition. The sums are in
// shared memory, 24 KiB a block, so that a multiprocessor holds four.
extern "C" __global__
__launch_bounds__(128, 4) void msm_accumulate_g2(const __grid_constant__ AccumulateParams p) {
  accumulate_pairs<128>(p);
}
// Two lanes for each thread of the accumulation, 128 a block; 24 KiB of shared memory.
extern "C" __global__
__launch_bounds__(128, 3) void msm_merge_g2(const __grid_constant__ MergeParams p) {
  merge_pairs<128>(p);
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
// Two lanes for each group that is left, 32 threads a block, as there are few groups; 12 KiB of
// shared memory.
extern "C" __global__
__launch_bounds__(32, 12) void msm_reduce_g2(const __grid_constant__ ReduceParams p) {
  reduce_pairs<32>(p);
}
// One block of 128 threads for each bit and window; 24 KiB of shared memory.
extern "C" __global__
__launch_bounds__(128) void msm_fold_g2(const __grid_constant__ FoldParams p) {
  fold_pairs<128>(p);
}
