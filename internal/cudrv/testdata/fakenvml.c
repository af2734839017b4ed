// A monitoring library for tests of the binding. One card, on which the calling process has memory twice.
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void) {
#ifdef FAKE_BROKEN
  return 9;
#endif
  return 0;
}

int nvmlSystemGetDriverVersion(char *s, unsigned len) {
  strncpy(s, "580.1.2", len);
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **card) {
  *card = (void *)7;
  return strcmp(uuid, "GPU-known") ? 6 : 0;
}

struct info {
  unsigned pid;
  unsigned long long bytes;
  unsigned a, b;
};

int nvmlDeviceGetComputeRunningProcesses_v3(void *card, unsigned *n, struct info *list) {
  unsigned me = getpid();
  if (card != (void *)7 || *n < 4) return 2;
  list[0] = (struct info){me, 1000, ~0u, ~0u};
  list[1] = (struct info){me + 1, 50, ~0u, ~0u};
  list[2] = (struct info){me, 200, ~0u, ~0u};
  list[3] = (struct info){me, ~0ull, ~0u, ~0u};
  *n = 4;
  return 0;
}
