//go:build !unix

package hostmem

import "os"

// mapFile maps nothing: ranges are read into the heap.
func mapFile(*os.File, int) ([]byte, error) { return nil, nil }

func unmap([]byte) error { return nil }

func forget([]byte) {}
