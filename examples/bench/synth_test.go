package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSynth: a sector that is made up is written, read again, and is what --synthetic makes.
func TestSynth(t *testing.T) {
	for _, wrapper := range [][]string{nil, {"--lotus"}} {
		file := filepath.Join(t.TempDir(), "c1.json")
		code, _, stderr := bench(t, append([]string{"synth", "--type", "porep", "--size", "2KiB", "--seed", "3", "--out", file}, wrapper...)...)
		require.Zero(t, code, stderr)
		entries, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, err)
		require.Len(t, entries, 1)
		fromFile := witnessLine(t, "--type", "porep", "--c1", file)
		require.Equal(t, witnessLine(t, "--type", "porep", "--synthetic", "2KiB", "--seed", "3"), fromFile)
		require.NotEqual(t, witnessLine(t, "--type", "porep", "--synthetic", "2KiB"), fromFile)
	}
	requireError(t, exitUsage, []string{"synth", "--type", "porep", "--size", "3KiB"}, "2KiB, 8MiB")
	requireError(t, exitUsage, []string{"synth", "--type", "porep"}, "--size is missing")
	requireError(t, exitUsage, []string{"witness", "--type", "porep", "--c1", c1File, "--synthetic", "2KiB"}, "one of --c1 and --synthetic")
}

func TestSynthLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, _ := benchContext(ctx, "synth", "--type", "porep", "--size", "2KiB", "--out", filepath.Join(dir, "c1.json"))
	require.Equal(t, exitFailed, code)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// witnessLine runs witness and leaves out what differs from run to run.
func witnessLine(t *testing.T, args ...string) witnessReport {
	t.Helper()
	code, stdout, stderr := bench(t, append([]string{"witness", "--json", "--hash"}, args...)...)
	require.Zero(t, code, stderr)
	var r witnessReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.NotEmpty(t, r.Partitions)
	r.PeakRSSBytes = 0
	for i := range r.Partitions {
		r.Partitions[i].MS = 0
	}
	return r
}

func TestEval(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, args := range [][]string{{"--c1", c1File}, {"--synthetic", "8MiB", "--keep"}} {
		code, stdout, stderr := bench(t, append([]string{"eval", "--type", "porep", "--json"}, args...)...)
		require.Zero(t, code, stderr)
		var r evalReport
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		require.True(t, r.Satisfied)
		require.Positive(t, r.Rows)
	}
	for _, k := range []string{"1", "-1"} {
		args := []string{"eval", "--type", "porep", "--c1", c1File, "--partition", k}
		requireError(t, exitFailed, args, "no partition "+k+" of 1")
		_, stdout, _ := bench(t, args...)
		require.NotContains(t, stdout, "record", "it is judged before")
	}
}

func TestRecordJSON(t *testing.T) {
	code, stdout, stderr := bench(t, "record", "--type", "porep", "--size", "8MiB", "--json")
	require.Zero(t, code, stderr)
	var r recordReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, "porep-8MiB", r.Circuit)
	require.Equal(t, 3_844_929, r.Rows)
}

// TestOutputs: an output that is no place for a file is refused before any work, and what cannot be printed is a
// failure.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("target", link))
	for _, path := range []string{dir, link, filepath.Join(dir, "missing", "file"), os.DevNull} {
		requireError(t, exitFailed, []string{"record", "--type", "porep", "--size", "2KiB", "--out", path})
		requireError(t, exitFailed, []string{"synth", "--type", "porep", "--size", "2KiB", "--out", path})
	}
	info, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeDevice)
	for _, args := range [][]string{{"help"}, {"inspect", vkFile}, verifyArgs("c1", c1File, vkFile, proofFile)} {
		var stderr bytes.Buffer
		require.Equal(t, exitFailed, run(t.Context(), args, brokenPipe{}, &stderr))
		require.Contains(t, stderr.String(), "standard output: broken")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken") }
