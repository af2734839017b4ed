// Foreign CUDA code in the process of a program: two threads that use the driver in their own way and check that nobody
// disturbs them. It is built and brought in without the program's help:
//
//	cc -shared -fPIC -O2 -pthread -o foreign.so internal/cudrv/testdata/foreign.c -ldl
//	env CUZK_FOREIGN=report.txt LD_PRELOAD=./foreign.so ./bench fleet ...
//
// Without the variable it does nothing. One thread makes a context of its own, the other takes the primary one, and each
// keeps its context current from then on. A round allocates, copies a pattern to the card and back, overwrites a half,
// copies that back, and pops and pushes the context. After each step the thread's current context must be what the thread
// has made it, and what comes back must be the pattern. The report has a line for each thread, written anew after each
// round, since Go programs end without destructors.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Own prototypes of the entry points in use: X(field, "exported symbol", parameters).
#define SYMBOLS(X)                                                            \
  X(init, "cuInit", (unsigned))                                               \
  X(dev_get, "cuDeviceGet", (int *, int))                                     \
  X(primary_retain, "cuDevicePrimaryCtxRetain", (void **, int))               \
  X(ctx_create, "cuCtxCreate_v2", (void **, unsigned, int))                   \
  X(ctx_set, "cuCtxSetCurrent", (void *))                                     \
  X(ctx_get, "cuCtxGetCurrent", (void **))                                    \
  X(ctx_push, "cuCtxPushCurrent_v2", (void *))                                \
  X(ctx_pop, "cuCtxPopCurrent_v2", (void **))                                 \
  X(stream_create, "cuStreamCreate", (void **, unsigned))                     \
  X(stream_sync, "cuStreamSynchronize", (void *))                             \
  X(mem_alloc, "cuMemAlloc_v2", (uint64_t *, size_t))                         \
  X(mem_free, "cuMemFree_v2", (uint64_t))                                     \
  X(copy_htod, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, void *)) \
  X(copy_dtoh, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *))    \
  X(memset8, "cuMemsetD8Async", (uint64_t, unsigned char, size_t, void *))

enum { LINE = 96, MOST = 1 << 20, NAP_US = 500 };

// guest is one thread's view.
struct guest {
  int slot; // 0 has a context of its own, 1 the primary one
  void *ctx, *stream;
  unsigned char *pattern, *back;
  unsigned long rounds, faults;
  char first[40]; // fault
#define X(field, symbol, params) int(*field) params;
  SYMBOLS(X)
#undef X
};

static int report_fd;

static void write_report(const struct guest *g) {
  char line[LINE + 1];
  int n = snprintf(line, sizeof line, "%s context: rounds %lu faults %lu %s", g->slot ? "primary" : "own", g->rounds,
                   g->faults, g->first);
  if (n < LINE - 1) memset(line + n, ' ', LINE - 1 - n);
  line[LINE - 1] = '\n';
  if (pwrite(report_fd, line, LINE, (off_t)g->slot * LINE) != LINE) abort();
}

static void fault(struct guest *g, const char *step, long code) {
  if (!g->faults++) snprintf(g->first, sizeof g->first, "first: %s %ld", step, code);
}

// step counts a call that failed, and a context that is no longer the thread's.
static void step(struct guest *g, const char *name, int result) {
  void *now = NULL;
  if (result) fault(g, name, result);
  int r = g->ctx_get(&now);
  if (r) fault(g, "cuCtxGetCurrent", r);
  if (now == g->ctx) return;
  fault(g, "other context after this", 0);
  g->ctx_set(g->ctx);
}

#define STEP(g, call) step(g, #call, (g)->call)

static void check(struct guest *g, const char *what, const unsigned char *want, size_t n) {
  if (memcmp(want, g->back, n)) fault(g, what, (long)n);
}

static void round_trip(struct guest *g, size_t n) {
  uint64_t p = 0;
  STEP(g, mem_alloc(&p, n));
  STEP(g, copy_htod(p, g->pattern, n, g->stream));
  memset(g->back, 0, n);
  STEP(g, copy_dtoh(g->back, p, n, g->stream));
  STEP(g, stream_sync(g->stream));
  check(g, "pattern", g->pattern, n);

  unsigned char v = (unsigned char)(g->rounds + 1);
  STEP(g, memset8(p, v, n / 2, g->stream));
  STEP(g, copy_dtoh(g->back, p, n, g->stream));
  STEP(g, stream_sync(g->stream));
  for (size_t i = 0; i < n / 2; i++)
    if (g->back[i] != v) {
      fault(g, "memset", (long)i);
      break;
    }
  memmove(g->back, g->back + n / 2, n - n / 2);
  check(g, "half", g->pattern + n / 2, n - n / 2);
  STEP(g, mem_free(p));
}

// pop_push takes the context off the thread, which has none then, and puts it back.
static void pop_push(struct guest *g) {
  void *popped = NULL, *now = NULL;
  int r = g->ctx_pop(&popped);
  if (r || popped != g->ctx) fault(g, "pop", r);
  r = g->ctx_get(&now);
  if (r || now) fault(g, "context below", r);
  STEP(g, ctx_push(g->ctx));
}

// begin opens the driver and makes the context current.
static int begin(struct guest *g) {
  void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!lib) return fault(g, "dlopen", 0), 0;
#define X(field, symbol, params)                 \
  *(void **)(&g->field) = dlsym(lib, symbol);    \
  if (!g->field) return fault(g, symbol, 0), 0;
  SYMBOLS(X)
#undef X
  int dev = 0, r = g->init(0);
  if (!r) r = g->dev_get(&dev, 0);
  if (!r && g->slot) r = g->primary_retain(&g->ctx, dev);
  if (!r) r = g->slot ? g->ctx_set(g->ctx) : g->ctx_create(&g->ctx, 0, dev);
  if (r) return fault(g, "begin", r), 0;
  STEP(g, stream_create(&g->stream, 1)); // non-blocking
  return !g->faults;
}

static void *run(void *slot) {
  struct guest *g = calloc(1, sizeof *g);
  if (!g) abort();
  g->slot = (int)(intptr_t)slot;
  g->pattern = malloc(MOST), g->back = malloc(MOST);
  if (!g->pattern || !g->back) abort();
  uint64_t x = 88172645463325252u + (uint64_t)g->slot;
  write_report(g);
  for (int ok = begin(g); ok; write_report(g)) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17; // xorshift
    size_t n = 2 + x % (MOST - 2);
    for (size_t i = 0; i < n; i++) g->pattern[i] = (unsigned char)(x >> 8 * (i % 8)) ^ (unsigned char)(i >> 8);
    round_trip(g, n);
    pop_push(g);
    g->rounds++;
    usleep(NAP_US);
  }
  write_report(g);
  return NULL;
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("CUZK_FOREIGN");
  if (!path) return;
  report_fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0644);
  if (report_fd < 0) abort();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); // the program's signals are not for these threads
  for (intptr_t slot = 0; slot < 2; slot++) {
    pthread_t t;
    if (pthread_create(&t, NULL, run, (void *)slot)) abort();
    pthread_detach(t);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
