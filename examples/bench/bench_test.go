package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

var slow = flag.Bool("slow", false, "run the tests that take minutes")

const (
	c1File        = "../../testdata/porep-2KiB.c1.json"
	vkFile        = "testdata/porep-2KiB.vk"
	proofFile     = "testdata/porep-2KiB.proof"
	statementPath = "testdata/porep-2KiB.statement.json"
	secretsPath   = "testdata/porep-2KiB.secrets.json"
)

// bench runs the program.
func bench(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return benchContext(t.Context(), args...)
}

func benchContext(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// requireError runs the program and requires an exit code and one line of error that contains all texts.
func requireError(t *testing.T, code int, args []string, texts ...string) {
	t.Helper()
	got, _, stderr := bench(t, args...)
	require.Equal(t, code, got, stderr)
	require.True(t, strings.HasPrefix(stderr, "bench: "), stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	for _, text := range texts {
		require.Contains(t, stderr, text)
	}
}

func gpuSingle() []string {
	return []string{"single", "--type", "window-post", "--synthetic", "2KiB", "--device", "0"}
}

func TestUsageErrors(t *testing.T) {
	for _, x := range []struct {
		args []string
		text string
	}{
		{nil, "no command"},
		{[]string{"prove"}, `no command "prove"`},
		{[]string{"single"}, "--type is missing"},
		{[]string{"single", "--type", "porep"}, "one of --c1 and --synthetic is needed"},
		{[]string{"single", "--type", "porep", "--c1", c1File, "--backend", "tpu"}, `--backend is "tpu", want auto, cpu, gpu`},
		{[]string{"single", "--type", "porep", "--c1", c1File, "--sector", "41"}, "--sector needs --miner"},
		{[]string{"single", "--type", "porep", "--c1", c1File, "more"}, `unexpected argument "more"`},
		{[]string{"single", "--miner", "-1"}, "invalid value"},
		{[]string{"single", "--nonsense"}, "flag provided but not defined"},
		{append(gpuSingle(), "--memory-mib", "-5"), "--memory-mib is -5, want 1 to 8796093022207"},
		{append(gpuSingle(), "--memory-mib", "17592186044416"), "--memory-mib is 17592186044416, want 1 to"}, // 2^64 bytes
		{[]string{"setup", "--type", "porep"}, "--size is missing"},
		{[]string{"record", "--type", "PoRep", "--size", "2KiB"}, `--type is "PoRep", want porep, winning-post`},
		{[]string{"record", "--type", "porep", "--size", "2kib"}, `no porep of size "2kib", only 2KiB, 4KiB`},
		{[]string{"record", "--type", "porep", "--size", "8KiB"}, "no porep of size"},
		{[]string{"r1cs-digest", "--size", "2KiB"}, "--type is missing"},
		{[]string{"witness", "--type", "porep"}, "one of --c1 and --synthetic is needed"},
		{[]string{"single", "--type", "update"}, "one of --input and --synthetic is needed"},
		{[]string{"single", "--type", "update", "--c1", c1File}, "--c1 is not used with --type update"},
		{[]string{"single", "--type", "porep", "--input", c1File}, "--input is not used with --type porep"},
		{[]string{"single", "--type", "window-post", "--synthetic", "2KiB", "--miner", "1"}, "--miner is not used with --type window-post"},
		{[]string{"eval", "--type", "window-post", "--synthetic", "3KiB"}, `no window-post of size "3KiB", only 2KiB, 8MiB`},
		{[]string{"eval", "--type", "winning-post", "--synthetic", "2KiB", "--sectors", "1"}, "--sectors is not used with --type winning-post"},
		{[]string{"synth", "--type", "update", "--size", "2KiB", "--lotus"}, "--lotus is not used with --type update"},
		{[]string{"verify", "--type", "update", "--vk", vkFile, "--proof", proofFile, "--c1", c1File}, "--c1 and --miner are for --type porep"},
		{[]string{"verify", "--type", "porep", "--vk", vkFile}, "--proof is missing"},
		{[]string{"verify", "--type", "porep", "--vk", vkFile, "--proof", proofFile}, "either --c1 or --statement"},
		{[]string{"verify", "--type", "porep", "--vk", vkFile, "--proof", proofFile, "--c1", c1File, "--statement", statementPath}, "either --c1 or --statement"},
		{[]string{"verify", "--type", "porep", "--vk", vkFile, "--proof", proofFile, "--statement", statementPath, "--miner", "1"}, "--miner is for --c1"},
		{[]string{"inspect"}, "file name missing"},
	} {
		requireError(t, exitUsage, x.args, x.text)
	}
}

func TestHelp(t *testing.T) {
	code, stdout, stderr := bench(t, "help")
	require.Zero(t, code)
	require.Empty(t, stderr)
	for _, c := range commands() {
		require.Contains(t, stdout, "bench "+c.name)
		code, stdout, stderr := bench(t, c.name, "-h")
		require.Zero(t, code)
		require.Empty(t, stderr)
		require.Contains(t, stdout, c.about)
	}
}

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
}

// busy is how long a command may take to end after it was cancelled: a second, and what a busy machine or the race detector adds.
func busy() time.Duration {
	if testing.Short() {
		return time.Minute
	}
	return 5 * time.Second
}

func TestDigestEqualsTheTable(t *testing.T) {
	skipIfShort(t)
	text, err := os.ReadFile("../../testdata/r1cs-digests.json")
	require.NoError(t, err)
	var table []map[string]any
	require.NoError(t, json.Unmarshal(text, &table))
	for _, c := range [][2]string{
		{"porep", "2KiB"}, {"porep", "4KiB"}, {"winning-post", "2KiB"}, {"window-post", "2KiB"}, {"update-poseidon", "2KiB"},
	} {
		code, stdout, stderr := bench(t, "r1cs-digest", "--type", c[0], "--size", c[1])
		require.Zero(t, code, stderr)
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		i := slices.IndexFunc(table, func(e map[string]any) bool { return e["circuit"] == c[0] && e["sector_size"] == c[1] })
		require.GreaterOrEqual(t, i, 0)
		want := maps.Clone(table[i])
		if want["zero_terms"] != 0.0 {
			delete(want, "sha256_nozero") // not known here
		}
		require.Equal(t, want, got)
	}
}

func TestWitnessEqualsTheReference(t *testing.T) {
	skipIfShort(t)
	code, stdout, stderr := bench(t, "witness", "--type", "porep", "--c1", c1File, "--json", "--workers", "1", "--hash")
	require.Zero(t, code, stderr)
	var got witnessReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Equal(t, "porep-2KiB", got.Circuit)
	require.Len(t, got.Partitions, 1)
	// From the vectors' fixed.json.
	require.Equal(t, "50a03cfbec2f556d1108f54003d3d2b92793a999cdbf0813cb5ac59388bfe3b2", got.Partitions[0].SHA256Inputs)
	require.Equal(t, "6f400af0be9fe94084d6dfd332c13ae1417b463c61fe69492646a430f565cbb3", got.Partitions[0].SHA256Aux)
	require.Equal(t, 2685673, got.Partitions[0].Aux)

	code, stdout, stderr = bench(t, "witness", "--type", "porep", "--c1", c1File, "--hash")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "sha256 aux         6f400af0")
	code, stdout, stderr = bench(t, "witness", "--type", "porep", "--c1", c1File)
	require.Zero(t, code, stderr)
	require.NotContains(t, stdout, "sha256")
}

// cancelOn is a writer that cancels a context when a text is written.
type cancelOn struct {
	text   string
	cancel func(error)
	mu     sync.Mutex
	at     time.Time
}

func (c *cancelOn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() && strings.Contains(string(p), c.text) {
		c.at = time.Now()
		c.cancel(errors.New("enough of it"))
	}
	return len(p), nil
}

func TestCancelledSetupLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	trigger := &cancelOn{text: "making INSECURE", cancel: cancel}
	code := run(ctx, []string{"single", "--type", "porep", "--c1", c1File, "--cache", dir}, &bytes.Buffer{}, trigger)
	require.Equal(t, exitFailed, code)
	require.False(t, trigger.at.IsZero())
	require.Less(t, time.Since(trigger.at), busy())
	require.Equal(t, []string{fmt.Sprintf("porep-2KiB.%d.pce", circuits.Revision)}, fileNames(t, dir), "only the finished constraint system stays")
}

func TestCancelWhileComputing(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"r1cs-digest", "--type", "porep", "--size", "32GiB"},
		{"record", "--type", "porep", "--size", "64GiB", "--verify-blocks", "--out", filepath.Join(dir, "x.pce")},
	} {
		cause := errors.New("enough of it")
		ctx, cancel := context.WithCancelCause(t.Context())
		const delay = 300 * time.Millisecond
		time.AfterFunc(delay, func() { cancel(cause) })
		start := time.Now()
		code, stdout, stderr := benchContext(ctx, args...)
		require.Equal(t, exitFailed, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "enough of it")
		require.Less(t, time.Since(start), delay+busy())
		require.Empty(t, fileNames(t, dir))
	}
}

// A context that has ended already stops every command, and nothing is written.
func TestCancelledFromTheStart(t *testing.T) {
	cause := errors.New("enough of it")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	dir := t.TempDir()
	for _, args := range [][]string{
		{"single", "--type", "porep", "--c1", c1File, "--cache", dir},
		{"setup", "--type", "porep", "--size", "2KiB", "--cache", dir},
		{"record", "--type", "porep", "--size", "2KiB", "--out", filepath.Join(dir, "x.pce")},
		{"r1cs-digest", "--type", "porep", "--size", "2KiB"},
		{"witness", "--type", "porep", "--c1", c1File},
		{"verify", "--type", "porep", "--c1", c1File, "--vk", vkFile, "--proof", proofFile},
		{"verify", "--type", "porep", "--statement", statementPath, "--vk", vkFile, "--proof", proofFile},
		{"single", "--type", "window-post", "--input", windowPoSt, "--cache", dir},
		{"witness", "--type", "window-post", "--synthetic", "2KiB"},
		{"verify", "--type", "window-post", "--statement", windowPoSt, "--vk", vkFile, "--proof", proofFile},
		{"verify", "--type", "update", "--statement", snapDeals, "--vk", vkFile, "--proof", proofFile},
		{"inspect", vkFile},
	} {
		code, _, stderr := benchContext(ctx, args...)
		require.NotZero(t, code, args)
		require.Contains(t, stderr, "enough of it", args)
		require.Empty(t, fileNames(t, dir))
	}
}

func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// smallKey makes the key of a circuit with three rows.
func smallKey(t *testing.T) (*pce.System, *groth16.TestKey) {
	t.Helper()
	system, err := pce.Record(t.Context(), "small", func(b pce.Builder) error {
		x := b.Alloc(fr.NewElement(3))
		y := b.Mul(x, x)
		b.Inputize(b.Mul(y, x))
		return nil
	}, nil)
	require.NoError(t, err)
	key, err := groth16.WriteTestKey(t.Context(), t.TempDir(), system, nil)
	require.NoError(t, err)
	return system, key
}
