// Rows of a constraint system: see spmv.cuh for formulas and parameters. 256 threads a block, no
// shared memory; a block works for one template. The outputs overlap nothing else. Tested by
// TestGPUSpMV and, as twins, by TestSpMV.
#include "spmv.cuh"

using namespace cuzk;

// One thread for each row with small lists.
extern "C" __global__
__launch_bounds__(kSpmvThreads) void spmv_small(const __grid_constant__ SpmvParams p) {
  spmv_rows(p);
}
// One thread for each other list of a few terms.
extern "C" __global__
__launch_bounds__(kSpmvThreads) void spmv_short(const __grid_constant__ SpmvParams p) {
  spmv_lists<1>(p);
}
// Four threads for each longer list.
extern "C" __global__
__launch_bounds__(kSpmvThreads) void spmv_long(const __grid_constant__ SpmvParams p) {
  spmv_lists<4>(p);
}
