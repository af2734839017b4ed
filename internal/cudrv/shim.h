// Own prototypes of the driver entry points in use; no cuda.h is needed to build.
#pragma once
#include <stddef.h>
#include <stdint.h>

// CUDRV_SYMBOLS is the only list of driver entry points: X(field, "exported symbol",
// parameters). Handles are void pointers, device addresses 64-bit numbers.
#define CUDRV_SYMBOLS(X)                                                                          \
  X(init, "cuInit", (unsigned))                                                                   \
  X(version, "cuDriverGetVersion", (int *))                                                       \
  X(dev_count, "cuDeviceGetCount", (int *))                                                       \
  X(dev_get, "cuDeviceGet", (int *, int))                                                         \
  X(dev_name, "cuDeviceGetName", (char *, int, int))                                              \
  X(dev_uuid, "cuDeviceGetUuid_v2", (void *, int))                                                \
  X(dev_pci, "cuDeviceGetPCIBusId", (char *, int, int))                                           \
  X(dev_mem, "cuDeviceTotalMem_v2", (size_t *, int))                                              \
  X(dev_attr, "cuDeviceGetAttribute", (int *, int, int))                                          \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (void **, int))                                   \
  X(primary_release, "cuDevicePrimaryCtxRelease_v2", (int))                                       \
  X(ctx_push, "cuCtxPushCurrent_v2", (void *))                                                    \
  X(ctx_pop, "cuCtxPopCurrent_v2", (void **))                                                     \
  X(ctx_get, "cuCtxGetCurrent", (void **))                                                        \
  X(mem_info, "cuMemGetInfo_v2", (size_t *, size_t *))                                            \
  X(mem_alloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                             \
  X(mem_free, "cuMemFree_v2", (uint64_t))                                                         \
  X(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                    \
  X(host_free, "cuMemFreeHost", (void *))                                                         \
  X(host_register, "cuMemHostRegister_v2", (void *, size_t, unsigned))                            \
  X(host_unregister, "cuMemHostUnregister", (void *))                                             \
  X(stream_create, "cuStreamCreate", (void **, unsigned))                                         \
  X(stream_destroy, "cuStreamDestroy_v2", (void *))                                               \
  X(stream_sync, "cuStreamSynchronize", (void *))                                                 \
  X(stream_query, "cuStreamQuery", (void *))                                                      \
  X(stream_wait, "cuStreamWaitEvent", (void *, void *, unsigned))                                 \
  X(event_create, "cuEventCreate", (void **, unsigned))                                           \
  X(event_destroy, "cuEventDestroy_v2", (void *))                                                 \
  X(event_record, "cuEventRecord", (void *, void *))                                              \
  X(event_sync, "cuEventSynchronize", (void *))                                                   \
  X(event_query, "cuEventQuery", (void *))                                                        \
  X(event_elapsed, "cuEventElapsedTime", (float *, void *, void *))                               \
  X(copy_htod, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, void *))                  \
  X(copy_dtoh, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *))                        \
  X(copy_dtod, "cuMemcpyDtoDAsync_v2", (uint64_t, uint64_t, size_t, void *))                      \
  X(memset8, "cuMemsetD8Async", (uint64_t, unsigned char, size_t, void *))                        \
  X(module_load, "cuModuleLoadDataEx", (void **, const void *, unsigned, int *, void **))         \
  X(module_unload, "cuModuleUnload", (void *))                                                    \
  X(module_func, "cuModuleGetFunction", (void **, void *, const char *))                          \
  X(func_attr, "cuFuncGetAttribute", (int *, int, void *))                                        \
  X(func_set_attr, "cuFuncSetAttribute", (void *, int, int))                                      \
  X(launch, "cuLaunchKernel",                                                                     \
    (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,        \
     void **, void **))

// cudrv_api is one opened driver library. It is freed only if the driver can't be used; the library is never closed.
typedef struct cudrv_api {
#define X(field, symbol, params) int(*field) params;
  CUDRV_SYMBOLS(X)
#undef X
} cudrv_api;

// cudrv_open opens the library at path and looks up every symbol. On success it returns 0 and
// sets *out. Otherwise it writes a sentence into msg: 1 the library can't be opened, 2 a symbol
// is missing (its name is the whole message), 3 no memory. *version is the driver's, 0 if it does not say.
int cudrv_open(const char *path, cudrv_api **out, char *msg, size_t msg_len, int *version);

// The calls below return the driver's result. Those that take ctx push it, make their call and
// pop it again.
typedef uintptr_t cu_h; // a handle, as a number
int cudrv_init(const cudrv_api *a);
int cudrv_version(const cudrv_api *a, int *v);
int cudrv_dev_count(const cudrv_api *a, int *n);
int cudrv_dev_get(const cudrv_api *a, int ordinal, int *d);
int cudrv_dev_name(const cudrv_api *a, int d, char *s, int len);
int cudrv_dev_uuid(const cudrv_api *a, int d, void *uuid16);
int cudrv_dev_pci(const cudrv_api *a, int d, char *s, int len);
int cudrv_dev_mem(const cudrv_api *a, int d, size_t *n);
int cudrv_dev_attr(const cudrv_api *a, int attr, int d, int *v);
int cudrv_primary_retain(const cudrv_api *a, int d, cu_h *ctx);
int cudrv_primary_release(const cudrv_api *a, int d);
int cudrv_ctx_get(const cudrv_api *a, cu_h *ctx);
int cudrv_mem_info(const cudrv_api *a, cu_h ctx, size_t *free, size_t *total);
int cudrv_mem_alloc(const cudrv_api *a, cu_h ctx, size_t n, uint64_t *p);
int cudrv_mem_free(const cudrv_api *a, cu_h ctx, uint64_t p);
int cudrv_host_alloc(const cudrv_api *a, cu_h ctx, size_t n, void **p);
int cudrv_host_free(const cudrv_api *a, cu_h ctx, void *p);
int cudrv_host_register(const cudrv_api *a, cu_h ctx, void *p, size_t n);
int cudrv_host_unregister(const cudrv_api *a, cu_h ctx, void *p);
int cudrv_stream_create(const cudrv_api *a, cu_h ctx, cu_h *s);
int cudrv_stream_destroy(const cudrv_api *a, cu_h ctx, cu_h s);
int cudrv_stream_sync(const cudrv_api *a, cu_h ctx, cu_h s);
int cudrv_stream_query(const cudrv_api *a, cu_h ctx, cu_h s);
int cudrv_stream_wait(const cudrv_api *a, cu_h ctx, cu_h s, cu_h e);
int cudrv_event_create(const cudrv_api *a, cu_h ctx, unsigned flags, cu_h *e);
int cudrv_event_destroy(const cudrv_api *a, cu_h ctx, cu_h e);
int cudrv_event_record(const cudrv_api *a, cu_h ctx, cu_h e, cu_h s);
int cudrv_event_sync(const cudrv_api *a, cu_h ctx, cu_h e);
int cudrv_event_query(const cudrv_api *a, cu_h ctx, cu_h e);
int cudrv_event_elapsed(const cudrv_api *a, cu_h ctx, cu_h start, cu_h end, float *ms);
int cudrv_copy_htod(const cudrv_api *a, cu_h ctx, uint64_t dst, const void *src, size_t n, cu_h s);
int cudrv_copy_dtoh(const cudrv_api *a, cu_h ctx, void *dst, uint64_t src, size_t n, cu_h s);
int cudrv_copy_dtod(const cudrv_api *a, cu_h ctx, uint64_t dst, uint64_t src, size_t n, cu_h s);
int cudrv_memset8(const cudrv_api *a, cu_h ctx, uint64_t p, unsigned char v, size_t n, cu_h s);
// Copy and wait for the stream in one crossing: the host memory may belong to Go.
int cudrv_copy_htod_wait(const cudrv_api *a, cu_h ctx, uint64_t dst, const void *src, size_t n,
                         cu_h s);
int cudrv_copy_dtoh_wait(const cudrv_api *a, cu_h ctx, void *dst, uint64_t src, size_t n, cu_h s);
// log receives the compiler's messages, always terminated.
int cudrv_module_load(const cudrv_api *a, cu_h ctx, const void *image, cu_h *m, char *log,
                      size_t log_len);
int cudrv_module_unload(const cudrv_api *a, cu_h ctx, cu_h m);
int cudrv_module_func(const cudrv_api *a, cu_h ctx, cu_h m, const char *name, cu_h *f);
int cudrv_func_attr(const cudrv_api *a, cu_h ctx, int attr, cu_h f, int *v);
int cudrv_func_set_attr(const cudrv_api *a, cu_h ctx, cu_h f, int attr, int v);
// geometry: grid x y z, block x y z, shared bytes. params is the kernel's only parameter.
int cudrv_launch(const cudrv_api *a, cu_h ctx, cu_h f, const uint32_t *geometry, cu_h s,
                 void *params);
