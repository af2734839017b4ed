//go:build !purego

package affine

import "unsafe"

// prefetch96 asks for the cache lines of 96 bytes at p, and does not wait for them.
//
//go:noescape
func prefetch96(p unsafe.Pointer)
