package main

import (
	"bytes"
	"os"
	"strconv"
)

// peakRSS is the most memory that the process has had resident, in bytes, mapped files included; 0 if the system does not
// tell. VmHWM comes first because the figure of getrusage is inherited from the process that started this one.
func peakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return maxRSS()
	}
	for line := range bytes.Lines(status) {
		value, ok := bytes.CutPrefix(line, []byte("VmHWM:"))
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
		if err == nil {
			return kib << 10
		}
	}
	return maxRSS()
}
