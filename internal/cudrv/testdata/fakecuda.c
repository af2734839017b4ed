// A stand-in for libcuda.so.1 that the test compiles with cc: enough behaviour to prove the shim.
// Every call that needs a context checks that one is current on the calling thread and that the
// handle it is given was made in that context. -DFAKE_VERSION and -DFAKE_INIT change two answers.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif
#ifndef FAKE_INIT
#define FAKE_INIT 0
#endif
typedef int R;
enum { DEVICES = 4, DEPTH = 8 };
static __thread void *stack[DEPTH];
static __thread int depth;
// A primary context's handle is its device's number plus one.
static void *top(void) { return depth ? stack[depth - 1] : 0; }
#define NEED_CTX if (!top()) return 201
// Every object begins with the context that made it.
struct object { void *ctx; size_t n; };
static R make(void **out, size_t n) {
  struct object *o = calloc(1, sizeof *o + n);
  o->ctx = top(), o->n = n, *out = o;
  return 0;
}
static R mine(void *p) { return !p ? 400 : ((struct object *)p)->ctx == top() ? 0 : 201; }
#define NEED(p) do { NEED_CTX; R r_ = mine(p); if (r_) return r_; } while (0)

R cuInit(unsigned f) { return f ? 1 : FAKE_INIT; }
R cuDriverGetVersion(int *v) { return *v = FAKE_VERSION, 0; }
R cuDeviceGetCount(int *n) { return *n = DEVICES, 0; }
R cuDeviceGet(int *d, int i) { return i < 0 || i >= DEVICES ? 101 : (*d = i, 0); }
R cuDeviceGetName(char *s, int n, int d) { return strncpy(s, d ? "Fake B" : "Fake A", n), 0; }
R cuDeviceGetUuid_v2(void *u, int d) { return memset(u, 0xa0 + d, 16), 0; }
R cuDeviceGetPCIBusId(char *s, int n, int d) { return strncpy(s, "0000:1B:00.0", n), s[6] += d, 0; }
R cuDeviceTotalMem_v2(size_t *n, int d) { return *n = (size_t)(d + 1) << 33, 0; }
R cuDeviceGetAttribute(int *v, int a, int d) { return *v = a * 100 + d, 0; }
R cuDevicePrimaryCtxRetain(void **c, int d) { return *c = (void *)(uintptr_t)(d + 1), 0; }
R cuDevicePrimaryCtxRelease_v2(int d) { return d < DEVICES ? 0 : 101; }
R cuCtxPushCurrent_v2(void *c) {
  if (!c || (uintptr_t)c > DEVICES) return 201;
  return depth == DEPTH ? 999 : (stack[depth++] = c, 0);
}
R cuCtxPopCurrent_v2(void **c) { return depth ? (*c = stack[--depth], 0) : 201; }
R cuCtxGetCurrent(void **c) { return *c = top(), 0; }
R cuMemGetInfo_v2(size_t *f, size_t *t) { NEED_CTX; return *f = 1000 + (uintptr_t)top(), *t = 2000, 0; }
R cuMemAlloc_v2(uint64_t *p, size_t n) {
  NEED_CTX;
  if (n > 1u << 30) return 2;
  void *o;
  make(&o, n);
  return *p = (uintptr_t)o, 0;
}
R cuMemFree_v2(uint64_t p) { NEED((void *)p); return free((void *)p), 0; }
R cuMemHostAlloc(void **p, size_t n, unsigned f) { NEED_CTX; return f != 1 ? 1 : (*p = malloc(n), 0); }
R cuMemFreeHost(void *p) { NEED_CTX; return free(p), 0; }
R cuMemHostRegister_v2(void *p, size_t n, unsigned f) { NEED_CTX; return !p || !n || f != 1; }
R cuMemHostUnregister(void *p) { NEED_CTX; return p ? 0 : 713; }
R cuStreamCreate(void **s, unsigned f) { NEED_CTX; return f != 1 ? 1 : make(s, 0); }
R cuStreamDestroy_v2(void *s) { NEED(s); return free(s), 0; }
R cuStreamSynchronize(void *s) { NEED(s); return 0; }
R cuStreamQuery(void *s) { NEED(s); return 600; }
R cuStreamWaitEvent(void *s, void *e, unsigned f) { NEED(s); NEED(e); return f; }
R cuEventCreate(void **e, unsigned f) { NEED_CTX; return make(e, f), 0; }
R cuEventDestroy_v2(void *e) { NEED(e); return free(e), 0; }
R cuEventRecord(void *e, void *s) { NEED(e); NEED(s); return 0; }
R cuEventSynchronize(void *e) { NEED(e); return 0; }
R cuEventQuery(void *e) { NEED(e); return 0; }
R cuEventElapsedTime(float *ms, void *a, void *b) { NEED(a); NEED(b); return *ms = 1.5f, 0; }
static char *bytes(uint64_t p) { return (char *)((struct object *)p + 1); }
R cuMemcpyHtoDAsync_v2(uint64_t d, const void *s, size_t n, void *q) {
  NEED(q); NEED((void *)d);
  return memcpy(bytes(d), s, n), 0;
}
R cuMemcpyDtoHAsync_v2(void *d, uint64_t s, size_t n, void *q) {
  NEED(q); NEED((void *)s);
  return memcpy(d, bytes(s), n), 0;
}
R cuMemcpyDtoDAsync_v2(uint64_t d, uint64_t s, size_t n, void *q) {
  NEED(q); NEED((void *)d); NEED((void *)s);
  return memcpy(bytes(d), bytes(s), n), 0;
}
R cuMemsetD8Async(uint64_t d, unsigned char v, size_t n, void *q) {
  NEED(q); NEED((void *)d);
  return memset(bytes(d), v, n), 0;
}
R cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *opt, void **val) {
  NEED_CTX;
  if (n != 2 || opt[0] != 5 || opt[1] != 6 || (size_t)val[1] < 16) return 1;
  if (memcmp(image, "good", 4)) return strcpy(val[0], "bad image"), 200;
  return make(m, 0);
}
R cuModuleUnload(void *m) { NEED(m); return free(m), 0; }
R cuModuleGetFunction(void **f, void *m, const char *name) { NEED(m); return strcmp(name, "k") ? 500 : (*f = m, 0); }
R cuFuncGetAttribute(int *v, int a, void *f) { NEED(f); return *v = a + 7, 0; }
R cuFuncSetAttribute(void *f, int a, int v) { NEED(f); return a == 8 && v > 0 ? 0 : 1; }
// The kernel's parameter is {device address, value}: it writes the value plus the sum of the
// geometry to the address.
R cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                 unsigned shared, void *s, void **params, void **extra) {
  NEED(f); NEED(s);
  uint64_t p[2];
  memcpy(p, params[0], sizeof p);
  NEED((void *)p[0]);
  p[1] += gx + 10 * gy + 100 * gz + 1000 * bx + 10000 * by + 100000 * bz + 1000000 * shared;
  return extra ? 1 : (memcpy(bytes(p[0]), &p[1], 8), 0);
}
