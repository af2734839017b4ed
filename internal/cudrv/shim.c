//go:build cgo && linux

#include "shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int cudrv_open(const char *path, cudrv_api **out, char *msg, size_t msg_len, int *version) {
  *version = 0;
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    const char *why = dlerror();
    snprintf(msg, msg_len, "%s", why ? why : "unknown reason");
    return 1;
  }
  cudrv_api *a = calloc(1, sizeof *a);
  if (!a) {
    snprintf(msg, msg_len, "no memory for the symbol table");
    return 3;
  }
  const char *missing = 0;
#define X(field, symbol, params)              \
  *(void **)(&a->field) = dlsym(lib, symbol); \
  if (!a->field && !missing) missing = symbol;
  CUDRV_SYMBOLS(X)
#undef X
  if (a->version && a->version(version)) *version = 0;
  if (missing) {
    snprintf(msg, msg_len, "%s", missing);
    free(a);
    return 2;
  }
  *out = a;
  return 0;
}

// IN_CONTEXT pushes ctx, evaluates call and pops ctx: one crossing from Go, on one thread.
#define IN_CONTEXT(a, ctx, call)              \
  do {                                        \
    void *popped_;                            \
    int r_ = (a)->ctx_push((void *)(ctx));    \
    if (r_) return r_;                        \
    r_ = (call);                              \
    int q_ = (a)->ctx_pop(&popped_);          \
    return r_ ? r_ : q_;                      \
  } while (0)

#define H(h) ((void *)(h))

int cudrv_init(const cudrv_api *a) { return a->init(0); }
int cudrv_version(const cudrv_api *a, int *v) { return a->version(v); }
int cudrv_dev_count(const cudrv_api *a, int *n) { return a->dev_count(n); }
int cudrv_dev_get(const cudrv_api *a, int ordinal, int *d) { return a->dev_get(d, ordinal); }
int cudrv_dev_name(const cudrv_api *a, int d, char *s, int len) { return a->dev_name(s, len, d); }
int cudrv_dev_uuid(const cudrv_api *a, int d, void *uuid16) { return a->dev_uuid(uuid16, d); }
int cudrv_dev_pci(const cudrv_api *a, int d, char *s, int len) { return a->dev_pci(s, len, d); }
int cudrv_dev_mem(const cudrv_api *a, int d, size_t *n) { return a->dev_mem(n, d); }
int cudrv_dev_attr(const cudrv_api *a, int attr, int d, int *v) { return a->dev_attr(v, attr, d); }

int cudrv_primary_retain(const cudrv_api *a, int d, cu_h *ctx) {
  return a->primary_retain((void **)ctx, d);
}
int cudrv_primary_release(const cudrv_api *a, int d) { return a->primary_release(d); }
int cudrv_ctx_get(const cudrv_api *a, cu_h *ctx) { return a->ctx_get((void **)ctx); }

int cudrv_mem_info(const cudrv_api *a, cu_h ctx, size_t *free, size_t *total) {
  IN_CONTEXT(a, ctx, a->mem_info(free, total));
}
int cudrv_mem_alloc(const cudrv_api *a, cu_h ctx, size_t n, uint64_t *p) {
  IN_CONTEXT(a, ctx, a->mem_alloc(p, n));
}
int cudrv_mem_free(const cudrv_api *a, cu_h ctx, uint64_t p) {
  IN_CONTEXT(a, ctx, a->mem_free(p));
}
int cudrv_host_alloc(const cudrv_api *a, cu_h ctx, size_t n, void **p) {
  IN_CONTEXT(a, ctx, a->host_alloc(p, n, 1)); // portable: page-locked for every context
}
int cudrv_host_free(const cudrv_api *a, cu_h ctx, void *p) { IN_CONTEXT(a, ctx, a->host_free(p)); }
int cudrv_host_register(const cudrv_api *a, cu_h ctx, void *p, size_t n) {
  IN_CONTEXT(a, ctx, a->host_register(p, n, 1));
}
int cudrv_host_unregister(const cudrv_api *a, cu_h ctx, void *p) {
  IN_CONTEXT(a, ctx, a->host_unregister(p));
}

int cudrv_stream_create(const cudrv_api *a, cu_h ctx, cu_h *s) {
  IN_CONTEXT(a, ctx, a->stream_create((void **)s, 1)); // non-blocking
}
int cudrv_stream_destroy(const cudrv_api *a, cu_h ctx, cu_h s) {
  IN_CONTEXT(a, ctx, a->stream_destroy(H(s)));
}
int cudrv_stream_sync(const cudrv_api *a, cu_h ctx, cu_h s) {
  IN_CONTEXT(a, ctx, a->stream_sync(H(s)));
}
int cudrv_stream_query(const cudrv_api *a, cu_h ctx, cu_h s) {
  IN_CONTEXT(a, ctx, a->stream_query(H(s)));
}
int cudrv_stream_wait(const cudrv_api *a, cu_h ctx, cu_h s, cu_h e) {
  IN_CONTEXT(a, ctx, a->stream_wait(H(s), H(e), 0));
}

int cudrv_event_create(const cudrv_api *a, cu_h ctx, unsigned flags, cu_h *e) {
  IN_CONTEXT(a, ctx, a->event_create((void **)e, flags));
}
int cudrv_event_destroy(const cudrv_api *a, cu_h ctx, cu_h e) {
  IN_CONTEXT(a, ctx, a->event_destroy(H(e)));
}
int cudrv_event_record(const cudrv_api *a, cu_h ctx, cu_h e, cu_h s) {
  IN_CONTEXT(a, ctx, a->event_record(H(e), H(s)));
}
int cudrv_event_sync(const cudrv_api *a, cu_h ctx, cu_h e) {
  IN_CONTEXT(a, ctx, a->event_sync(H(e)));
}
int cudrv_event_query(const cudrv_api *a, cu_h ctx, cu_h e) {
  IN_CONTEXT(a, ctx, a->event_query(H(e)));
}
int cudrv_event_elapsed(const cudrv_api *a, cu_h ctx, cu_h start, cu_h end, float *ms) {
  IN_CONTEXT(a, ctx, a->event_elapsed(ms, H(start), H(end)));
}

int cudrv_copy_htod(const cudrv_api *a, cu_h ctx, uint64_t dst, const void *src, size_t n, cu_h s) {
  IN_CONTEXT(a, ctx, a->copy_htod(dst, src, n, H(s)));
}
int cudrv_copy_dtoh(const cudrv_api *a, cu_h ctx, void *dst, uint64_t src, size_t n, cu_h s) {
  IN_CONTEXT(a, ctx, a->copy_dtoh(dst, src, n, H(s)));
}
int cudrv_copy_dtod(const cudrv_api *a, cu_h ctx, uint64_t dst, uint64_t src, size_t n, cu_h s) {
  IN_CONTEXT(a, ctx, a->copy_dtod(dst, src, n, H(s)));
}
int cudrv_memset8(const cudrv_api *a, cu_h ctx, uint64_t p, unsigned char v, size_t n, cu_h s) {
  IN_CONTEXT(a, ctx, a->memset8(p, v, n, H(s)));
}

// and_wait waits for the stream also after a failed call: what was enqueued before must not
// outlive the caller's hold on its memory.
static int and_wait(const cudrv_api *a, int r, cu_h s) {
  int q = a->stream_sync(H(s));
  return r ? r : q;
}
int cudrv_copy_htod_wait(const cudrv_api *a, cu_h ctx, uint64_t dst, const void *src, size_t n,
                         cu_h s) {
  IN_CONTEXT(a, ctx, and_wait(a, a->copy_htod(dst, src, n, H(s)), s));
}
int cudrv_copy_dtoh_wait(const cudrv_api *a, cu_h ctx, void *dst, uint64_t src, size_t n, cu_h s) {
  IN_CONTEXT(a, ctx, and_wait(a, a->copy_dtoh(dst, src, n, H(s)), s));
}

int cudrv_module_load(const cudrv_api *a, cu_h ctx, const void *image, cu_h *m, char *log,
                      size_t log_len) {
  int options[2] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER and its size
  void *values[2] = {log, (void *)log_len};
  log[0] = 0;
  IN_CONTEXT(a, ctx, a->module_load((void **)m, image, 2, options, values));
}
int cudrv_module_unload(const cudrv_api *a, cu_h ctx, cu_h m) {
  IN_CONTEXT(a, ctx, a->module_unload(H(m)));
}
int cudrv_module_func(const cudrv_api *a, cu_h ctx, cu_h m, const char *name, cu_h *f) {
  IN_CONTEXT(a, ctx, a->module_func((void **)f, H(m), name));
}
int cudrv_func_attr(const cudrv_api *a, cu_h ctx, int attr, cu_h f, int *v) {
  IN_CONTEXT(a, ctx, a->func_attr(v, attr, H(f)));
}
int cudrv_func_set_attr(const cudrv_api *a, cu_h ctx, cu_h f, int attr, int v) {
  IN_CONTEXT(a, ctx, a->func_set_attr(H(f), attr, v));
}
int cudrv_launch(const cudrv_api *a, cu_h ctx, cu_h f, const uint32_t *g, cu_h s, void *params) {
  void *args[1] = {params};
  IN_CONTEXT(a, ctx, a->launch(H(f), g[0], g[1], g[2], g[3], g[4], g[5], g[6], H(s), args, 0));
}
