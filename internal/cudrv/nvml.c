//go:build cgo && linux

#include "nvml.h"

#include <dlfcn.h>
#include <stdlib.h>

int nvml_open(const char *path, nvml_api **out) {
  void *lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!lib) return 1;
  nvml_api *a = calloc(1, sizeof *a);
  if (!a) return 1;
  *(void **)(&a->init) = dlsym(lib, "nvmlInit_v2");
  *(void **)(&a->version) = dlsym(lib, "nvmlSystemGetDriverVersion");
  *(void **)(&a->by_uuid) = dlsym(lib, "nvmlDeviceGetHandleByUUID");
  *(void **)(&a->processes) = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (!a->init || !a->version || !a->by_uuid || !a->processes || a->init()) {
    free(a);
    return 1;
  }
  *out = a;
  return 0;
}

int nvml_version(const nvml_api *a, char *s, unsigned len) { return a->version(s, len); }

// process is one entry of NVML's list, in its layout.
struct process {
  unsigned pid;
  unsigned long long bytes; // all ones: not known
  unsigned gpu_instance, compute_instance;
};

int nvml_used(const nvml_api *a, const char *uuid, unsigned pid, uint64_t *bytes) {
  enum { kMost = 512 };
  void *card;
  int r = a->by_uuid(uuid, &card);
  if (r) return r;
  struct process *list = calloc(kMost, sizeof *list);
  if (!list) return 1;
  unsigned n = kMost;
  r = a->processes(card, &n, list);
  *bytes = 0;
  for (unsigned i = 0; !r && i < n; i++)
    if (list[i].pid == pid && ~list[i].bytes) *bytes += list[i].bytes;
  free(list);
  return r;
}
