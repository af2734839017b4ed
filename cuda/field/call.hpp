#pragma once
// Products as calls. A curve addition or a transform pass has tens of products; as copies they
// would not fit the instruction cache. Arguments and results travel in registers.
#include "params.hpp"

#ifdef __CUDACC__
#define CUZK_CALL __host__ __device__ __noinline__
#else
#define CUZK_CALL inline
#endif

namespace cuzk {

template <class P> CUZK_CALL Mont<P> mul(Mont<P> a, Mont<P> b) { return a * b; }
template <class P> CUZK_CALL Mont<P> sqr(Mont<P> a) { return a.sqr(); }

} // namespace cuzk
