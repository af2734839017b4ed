//go:build cgo && linux

package cudrv

/*
#cgo noescape nvml_open
#cgo nocallback nvml_open
#cgo noescape nvml_version
#cgo nocallback nvml_version
#cgo noescape nvml_used
#cgo nocallback nvml_used
#include <stdlib.h>
#include "nvml.h"
*/
import "C"

import (
	"os"
	"unsafe"
)

// NVML is the opened monitoring library: the real [Monitor].
type NVML struct{ api *C.nvml_api }

var _ Monitor = (*NVML)(nil)

// OpenMonitor opens the monitoring library at path, or in the default places if path is empty. It is nil where there is
// none.
func OpenMonitor(path string) Monitor {
	paths := []string{"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}
	if path != "" {
		paths = []string{path}
	}
	for _, path := range paths {
		p := C.CString(path)
		n := new(NVML)
		r := C.nvml_open(p, &n.api)
		C.free(unsafe.Pointer(p))
		if r == 0 {
			return n
		}
	}
	return nil
}

// DriverVersion is the version of the kernel driver, or empty.
func (n *NVML) DriverVersion() string {
	var s [96]C.char
	if C.nvml_version(n.api, &s[0], C.uint(len(s))) != 0 {
		return ""
	}
	return C.GoString(&s[0])
}

// ProcessBytes is what this process has of a card's memory.
func (n *NVML) ProcessBytes(uuid string) uint64 {
	u := C.CString(uuid)
	defer C.free(unsafe.Pointer(u))
	var b C.uint64_t
	if C.nvml_used(n.api, u, C.uint(os.Getpid()), &b) != 0 {
		return 0
	}
	return uint64(b)
}
