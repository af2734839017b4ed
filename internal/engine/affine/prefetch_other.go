//go:build !amd64 || purego

package affine

import "unsafe"

func prefetch96(unsafe.Pointer) {}
