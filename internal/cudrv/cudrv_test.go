//go:build cgo && linux

package cudrv

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// compileFake compiles the fake driver.
func compileFake(t *testing.T, flags ...string) string {
	t.Helper()
	return compile(t, "testdata/fakecuda.c", flags...)
}

// compile compiles a C file into a library and returns its path. The test is skipped where there is no C compiler.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	out := filepath.Join(t.TempDir(), "lib.so.1")
	args := append([]string{"-shared", "-fPIC", "-w", "-o", out, source}, flags...)
	if msg, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, msg)
	}
	return out
}

func openFake(t *testing.T) *Lib {
	t.Helper()
	l, err := Open(compileFake(t))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// symbols reads the exported names from the one list of them.
func symbols(t *testing.T) []string {
	t.Helper()
	src, err := os.ReadFile("shim.h")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`X\(\w+, "(cu\w+)"`).FindAllSubmatch(src, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) < 40 {
		t.Fatalf("only %d symbols found in shim.h", len(names))
	}
	return names
}

// A driver that lacks a symbol says which, and its version unless that is what it lacks.
func TestMissingSymbols(t *testing.T) {
	const version = "cuDriverGetVersion"
	for _, name := range symbols(t) {
		t.Run(name, func(t *testing.T) {
			_, err := Open(compileFake(t, "-O0", "-DFAKE_VERSION=11040", "-D"+name+"=absent"))
			var oe *OpenError
			if !errors.As(err, &oe) || oe.Symbol != name || !errors.Is(err, ErrTooOld) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), name) {
				t.Errorf("the message does not name the symbol: %v", err)
			}
			if says := strings.Contains(err.Error(), "it offers CUDA 11.4, the kernels need CUDA 13.0"); says == (name == version) {
				t.Errorf("the message does not give the versions: %v", err)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name, path string
		flags      []string
		want       error
		text       string
	}{
		{name: "no library", path: "/nowhere/libcuda.so.1", want: ErrNoDriver, text: "/nowhere"},
		{name: "old", flags: []string{"-DFAKE_VERSION=12080"}, want: ErrTooOld, text: "12.8, the kernels need CUDA 13.0"},
		{name: "no device", flags: []string{"-DFAKE_INIT=100"}, want: ErrNoDevice, text: "CUDA_ERROR_NO_DEVICE"},
		{name: "stub", flags: []string{"-DFAKE_INIT=34"}, want: ErrNoDriver, text: "STUB"},
		{name: "broken", flags: []string{"-DFAKE_INIT=803"}, want: ErrInit, text: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.path
			if path == "" {
				path = compileFake(t, c.flags...)
			}
			l, err := Open(path)
			if !errors.Is(err, c.want) || l != nil {
				t.Fatalf("got %v, %v", l, err)
			}
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q does not contain %q", err, c.text)
			}
		})
	}
}

func TestDeviceProperties(t *testing.T) {
	l := openFake(t)
	if n, r := l.DeviceCount(); n != 4 || r != Success {
		t.Fatal(n, r)
	}
	d, r := l.DeviceGet(2)
	if d != 2 || r != Success {
		t.Fatal(d, r)
	}
	if _, r := l.DeviceGet(9); r != InvalidDevice {
		t.Error(r)
	}
	if s, _ := l.DeviceName(0); s != "Fake A" {
		t.Error(s)
	}
	if s, _ := l.DevicePCI(d); s != "0000:1d:00.0" {
		t.Error(s)
	}
	if u, _ := l.DeviceUUID(d); u[0] != 0xa2 || u[15] != 0xa2 {
		t.Error(u)
	}
	if n, _ := l.DeviceTotalMem(d); n != 3<<33 {
		t.Error(n)
	}
	if v, _ := l.DeviceAttribute(AttrMajor, d); v != 7502 {
		t.Error(v)
	}
}

// TestCalls drives every call that takes a context once, with the values checked.
func TestCalls(t *testing.T) {
	l := openFake(t)
	must := func(r Result) {
		t.Helper()
		if r != Success {
			t.Fatal(r)
		}
	}
	c, r := l.PrimaryRetain(1)
	must(r)
	if free, total, r := l.MemInfo(c); free != 1002 || total != 2000 || r != Success {
		t.Error(free, total, r)
	}
	s, r := l.StreamCreate(c)
	must(r)
	a, r := l.MemAlloc(c, 64)
	must(r)
	b, r := l.MemAlloc(c, 64)
	must(r)
	if _, r := l.MemAlloc(c, 2<<30); r != OutOfMemory {
		t.Error(r)
	}
	must(l.CopyToDevice(c, a, []byte("0123456789abcdef"), s))
	must(l.CopyOnDeviceAsync(c, b, a, 16, s))
	must(l.MemsetAsync(c, b, 'x', 4, s))
	got := make([]byte, 16)
	must(l.CopyToHost(c, got, b, s))
	if string(got) != "xxxx456789abcdef" {
		t.Errorf("%q", got)
	}
	p, r := l.HostAlloc(c, 32)
	must(r)
	must(l.CopyToHostAsync(c, p, a, 16, s))
	must(l.CopyToDeviceAsync(c, b, p, 16, s))
	must(l.CopyToHost(c, got, b, s))
	if string(got) != "0123456789abcdef" {
		t.Errorf("%q", got)
	}
	must(l.HostRegister(c, p, 32))
	must(l.HostUnregister(c, p))
	must(l.HostFree(c, p))
	e, r := l.EventCreate(c, EventBlocking)
	must(r)
	f, r := l.EventCreate(c, 0)
	must(r)
	must(l.EventRecord(c, e, s))
	must(l.StreamWaitEvent(c, s, e))
	must(l.EventSynchronize(c, e))
	must(l.EventQuery(c, e))
	if ms, r := l.EventElapsed(c, e, f); ms != 1.5 || r != Success {
		t.Error(ms, r)
	}
	if r := l.StreamQuery(c, s); r != NotReady {
		t.Error(r)
	}
	testModule(t, l, c, s, a)
	must(l.EventDestroy(c, e))
	must(l.EventDestroy(c, f))
	must(l.MemFree(c, a))
	must(l.MemFree(c, b))
	must(l.StreamSynchronize(c, s))
	must(l.StreamDestroy(c, s))
	must(l.PrimaryRelease(1))
}

func testModule(t *testing.T, l *Lib, c Context, s Stream, a DevicePtr) {
	t.Helper()
	if _, log, r := l.ModuleLoad(c, []byte("no kernels")); r != InvalidImage || log != "bad image" {
		t.Error(log, r)
	}
	if _, _, r := l.ModuleLoad(c, nil); r != InvalidImage {
		t.Error(r)
	}
	m, _, r := l.ModuleLoad(c, []byte("good image"))
	if r != Success {
		t.Fatal(r)
	}
	if _, r := l.ModuleFunction(c, m, "absent"); r != NotFound {
		t.Error(r)
	}
	k, r := l.ModuleFunction(c, m, "k")
	if r != Success {
		t.Fatal(r)
	}
	if v, r := l.FuncAttribute(c, FuncRegisters, k); v != 11 || r != Success {
		t.Error(v, r)
	}
	if r := l.FuncSetAttribute(c, k, FuncMaxDynamicShared, 1<<16); r != Success {
		t.Error(r)
	}
	params := binary.LittleEndian.AppendUint64(nil, uint64(a))
	params = binary.LittleEndian.AppendUint64(params, 5_000_000_000)
	g := Launch{Grid: [3]uint32{1, 2, 3}, Block: [3]uint32{4, 5, 6}, SharedBytes: 7, Stream: s}
	if r := l.LaunchKernel(c, k, g, params); r != Success {
		t.Fatal(r)
	}
	if r := l.LaunchKernel(c, k, g, nil); r != InvalidValue {
		t.Error(r)
	}
	got := make([]byte, 8)
	if r := l.CopyToHost(c, got, a, s); r != Success {
		t.Fatal(r)
	}
	if v := binary.LittleEndian.Uint64(got); v != 5_007_654_321 {
		t.Error(v)
	}
	if r := l.ModuleUnload(c, m); r != Success {
		t.Error(r)
	}
}

// TestContextHygiene lets 64 goroutines use four contexts without locking a thread. The fake
// refuses a handle in a foreign context, so a call that ran in a wrong one fails; and no
// thread may keep a context.
func TestContextHygiene(t *testing.T) {
	l := openFake(t)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			c, r := l.PrimaryRetain(Device(g % 4))
			if r != Success {
				t.Error(r)
				return
			}
			s, r := l.StreamCreate(c)
			if r != Success {
				t.Error(r)
				return
			}
			for range 300 {
				p, r := l.MemAlloc(c, 64)
				if r != Success {
					t.Errorf("goroutine %d: %v", g, r)
					return
				}
				runtime.Gosched()
				if cur, r := l.CurrentContext(); cur != 0 || r != Success {
					t.Errorf("goroutine %d: a thread kept context %d", g, cur)
					return
				}
				if r := l.MemsetAsync(c, p, 1, 64, s); r != Success {
					t.Errorf("goroutine %d: %v", g, r)
				}
				// A failing call must pop its context too.
				if r := l.EventDestroy(c, 0); r != InvalidHandle {
					t.Errorf("goroutine %d: %v", g, r)
				}
				if r := l.MemFree(c, p); r != Success {
					t.Errorf("goroutine %d: %v", g, r)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestForeignHandleIsRefused(t *testing.T) {
	l := openFake(t)
	p, r := l.MemAlloc(1, 64)
	if r != Success {
		t.Fatal(r)
	}
	if r := l.MemFree(2, p); r != InvalidContext {
		t.Error(r)
	}
	if r := l.MemFree(99, p); r != InvalidContext {
		t.Error(r)
	}
	if r := l.MemFree(1, p); r != Success {
		t.Error(r)
	}
}

func TestResult(t *testing.T) {
	if s := IllegalAddress.String(); s != "CUDA_ERROR_ILLEGAL_ADDRESS" {
		t.Error(s)
	}
	if s := Result(12345).String(); s != "CUresult 12345" {
		t.Error(s)
	}
	if !IllegalAddress.Sticky() || !MPSClientTerminated.Sticky() || OutOfMemory.Sticky() || NotReady.Sticky() {
		t.Error("sticky results")
	}
}

func BenchmarkAllocFree(b *testing.B) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		b.Skip(err)
	}
	out := filepath.Join(b.TempDir(), "libcuda.so.1")
	if err := exec.Command(cc, "-shared", "-fPIC", "-w", "-o", out, "testdata/fakecuda.c").Run(); err != nil {
		b.Fatal(err)
	}
	l, err := Open(out)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, _ := l.MemAlloc(1, 64)
		l.MemFree(1, p)
	}
}
