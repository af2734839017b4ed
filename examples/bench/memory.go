package main

import (
	"bytes"
	"os"
	"strconv"
)

// statusBytes is a line of the process's status, in bytes; 0 if the system has none.
func statusBytes(name string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		value, ok := bytes.CutPrefix(line, []byte(name+":"))
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 64)
		if err == nil {
			return kib << 10
		}
	}
	return 0
}

// anonymousRSS is the resident memory that no file stands behind, in bytes; 0 if the system does not tell.
func anonymousRSS() int64 { return statusBytes("RssAnon") }

// peakRSS is the most memory that the process has had resident, in bytes, mapped files included; 0 if the system does not
// tell. VmHWM comes first because the figure of getrusage is inherited from the process that started this one.
func peakRSS() int64 {
	if n := statusBytes("VmHWM"); n > 0 {
		return n
	}
	return maxRSS()
}
