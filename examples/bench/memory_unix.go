//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// maxRSS is what getrusage says; the unit is bytes on macOS and KiB elsewhere.
func maxRSS() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
