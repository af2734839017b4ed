// The stand-in for libcuda.so.1 with what foreign.c needs besides. -DFAKE_STEAL lets every hundredth copy leave another
// context on the thread, -DFAKE_CORRUPT lets it change a byte: what foreign.c is there to find.
#define cuMemcpyDtoHAsync_v2 copy_to_host
#include "fakecuda.c"
#undef cuMemcpyDtoHAsync_v2
#ifndef FAKE_STEAL
#define FAKE_STEAL 0
#endif
#ifndef FAKE_CORRUPT
#define FAKE_CORRUPT 0
#endif

// A made context's handle is the next device's primary one's.
R cuCtxCreate_v2(void **c, unsigned f, int d) {
  return f ? 1 : (*c = (void *)(uintptr_t)(d + 2), cuCtxPushCurrent_v2(*c));
}
R cuCtxSetCurrent(void *c) { return depth ? (stack[depth - 1] = c, 0) : cuCtxPushCurrent_v2(c); }
R cuMemcpyDtoHAsync_v2(void *d, uint64_t s, size_t n, void *q) {
  static __thread unsigned calls;
  R r = copy_to_host(d, s, n, q);
  if (++calls % 100) return r;
  if (FAKE_CORRUPT) ((char *)d)[n - 1] ^= 1;
  if (FAKE_STEAL) stack[depth - 1] = (void *)(uintptr_t)DEVICES;
  return r;
}
