//go:build cgo && linux

package cudrv

import (
	"path/filepath"
	"testing"
)

func TestMonitor(t *testing.T) {
	m := OpenMonitor(compile(t, "testdata/fakenvml.c"))
	if m == nil {
		t.Fatal("not opened")
	}
	if v := m.DriverVersion(); v != "580.1.2" {
		t.Error(v)
	}
	if n := m.ProcessBytes("GPU-known"); n != 1200 {
		t.Error(n)
	}
	if n := m.ProcessBytes("GPU-unknown"); n != 0 {
		t.Error(n)
	}
}

func TestNoMonitor(t *testing.T) {
	for name, path := range map[string]string{
		"no library":  filepath.Join(t.TempDir(), "libnvidia-ml.so.1"),
		"no symbol":   compile(t, "testdata/fakenvml.c", "-DnvmlDeviceGetComputeRunningProcesses_v3=absent"),
		"not started": compile(t, "testdata/fakenvml.c", "-DFAKE_BROKEN"),
	} {
		if m := OpenMonitor(path); m != nil {
			t.Errorf("%s: opened", name)
		}
	}
}
