//go:build cgo && linux

package cudrv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestForeign lets foreign CUDA code run in the process beside the shim, with the same driver on other threads: neither
// may disturb the other. A driver that lets the one disturb the other is found out.
func TestForeign(t *testing.T) {
	guest := compile(t, "testdata/foreign.c", "-pthread", "-ldl")
	for _, c := range []struct{ flag, fault string }{
		{"-DNDEBUG", ""},
		{"-DFAKE_STEAL", "other context after this"},
		{"-DFAKE_CORRUPT", "first: "},
		{"-DcuCtxSetCurrent=absent", "first: cuCtxSetCurrent"},
	} {
		t.Run(c.flag, func(t *testing.T) {
			report, out, err := runForeign(t, guest, compile(t, "testdata/fakeforeign.c", c.flag))
			if failed := err != nil; failed != (c.fault != "") {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, line := range report {
				if !strings.Contains(line, c.fault) {
					t.Errorf("%q, want %q", line, c.fault)
				}
			}
		})
	}
}

// runForeign runs TestBesideForeign in a process of its own and returns the report of the foreign code.
func runForeign(t *testing.T, guest, driver string) (report []string, out []byte, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(driver, filepath.Join(dir, "libcuda.so.1")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "report")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestBesideForeign$", "-test.timeout", "2m")
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+guest, "LD_LIBRARY_PATH="+dir, foreignReport+"="+path)
	out, err = cmd.CombinedOutput()
	text, readErr := os.ReadFile(path)
	if readErr != nil {
		t.Fatal(readErr)
	}
	report = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(report) != 2 {
		t.Fatalf("report: %q", text)
	}
	return report, out, err
}

// foreignReport is the variable that starts the foreign code and names the file for its report.
const foreignReport = "CUZK_FOREIGN"

// TestBesideForeign uses the driver beside the foreign code until that has had enough rounds or has found a fault.
func TestBesideForeign(t *testing.T) {
	path := os.Getenv(foreignReport)
	if path == "" {
		t.Skip("no foreign code in this process")
	}
	l, err := Open("libcuda.so.1")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for g := range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := useContext(l, Device(g%2)); err != nil {
					t.Errorf("goroutine %d: %v", g, err)
					return
				}
				time.Sleep(100 * time.Microsecond) // so that the foreign threads are not starved
			}
		})
	}
	for begun := time.Now(); !foreignIsDone(t, path) && time.Since(begun) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
	close(done)
	wg.Wait()
	for _, line := range foreignLines(t, path) {
		if !strings.Contains(line, " faults 0 ") || strings.Contains(line, " rounds 0 ") {
			t.Error(line)
		}
	}
}

// useContext allocates, sets and frees on a card, and requires that no context stays on the thread.
func useContext(l *Lib, d Device) error {
	c, r := l.PrimaryRetain(d)
	if r != Success {
		return fmt.Errorf("retain: %v", r)
	}
	s, r := l.StreamCreate(c)
	if r != Success {
		return fmt.Errorf("stream: %v", r)
	}
	p, r := l.MemAlloc(c, 64)
	if r != Success {
		return fmt.Errorf("alloc: %v", r)
	}
	for _, r := range []Result{l.MemsetAsync(c, p, 1, 64, s), l.StreamSynchronize(c, s), l.MemFree(c, p), l.StreamDestroy(c, s),
		l.PrimaryRelease(d)} {
		if r != Success {
			return fmt.Errorf("use: %v", r)
		}
	}
	if cur, r := l.CurrentContext(); cur != 0 || r != Success {
		return fmt.Errorf("a thread kept context %d (%v)", cur, r)
	}
	return nil
}

func foreignLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// foreignIsDone tells whether both threads have had enough rounds or found a fault.
func foreignIsDone(t *testing.T, path string) bool {
	t.Helper()
	const enough = 60
	done := 0
	for _, line := range foreignLines(t, path) {
		var rounds, faults int
		_, after, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(after, "rounds %d faults %d", &rounds, &faults); err == nil && (rounds >= enough || faults > 0) {
			done++
		}
	}
	return done == 2
}
