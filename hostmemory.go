package cuzk

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// hostMemory is the default for the most memory of the host: three quarters of what is available, but never 0, or no limit
// where the system does not tell.
func hostMemory() int64 {
	n := min(availableMemory("/proc/meminfo"), groupMemory("/sys/fs/cgroup"))
	if n == math.MaxInt64 {
		return n
	}
	return max(n/4*3, 1)
}

// availableMemory is what Linux says that new programs can have, in bytes; MaxInt64 if there is no such file.
func availableMemory(meminfo string) int64 {
	n, ok := readField(meminfo, "MemAvailable:")
	if !ok {
		return math.MaxInt64
	}
	return n << 10
}

// groupMemory is what the limit of the process's container leaves beside what can't be given back, in bytes; MaxInt64 if
// there is no limit.
func groupMemory(dir string) int64 {
	b, err := os.ReadFile(filepath.Join(dir, "memory.max"))
	if err != nil {
		return math.MaxInt64
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil { // "max"
		return math.MaxInt64
	}
	used, _ := readField(filepath.Join(dir, "memory.stat"), "anon")
	return max(limit-used, 0)
}

// readField is the number behind a name at the beginning of a line.
func readField(path, name string) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 2 || fields[0] != name {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 53)
		return n, err == nil
	}
	return 0, false
}
