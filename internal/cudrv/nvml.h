// A few calls of NVML, the driver's monitoring library, opened at run time like the driver itself.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct nvml_api {
  int (*init)(void);
  int (*version)(char *, unsigned);
  int (*by_uuid)(const char *, void **);
  int (*processes)(void *, unsigned *, void *);
} nvml_api;

// nvml_open opens and starts the library. It returns 0 and sets *out, or something else where there is none that works.
int nvml_open(const char *path, nvml_api **out);

// nvml_version writes the driver's version, "580.95.05". It returns NVML's result, as the call below does.
int nvml_version(const nvml_api *a, char *s, unsigned len);

// nvml_used sets *bytes to what a process has of a card's memory.
int nvml_used(const nvml_api *a, const char *uuid, unsigned pid, uint64_t *bytes);
