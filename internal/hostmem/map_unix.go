//go:build unix

package hostmem

import (
	"os"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

func unmap(b []byte) error { return unix.Munmap(b) }

// forget is advice; a system that refuses it loses nothing.
func forget(b []byte) { _ = unix.Madvise(b, unix.MADV_DONTNEED) }
