package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/pce"
)

const c1File = "../../testdata/porep-2KiB.c1.json"

// keyFolder has the key of a circuit that takes milliseconds.
func keyFolder(t *testing.T, v *enginetest.Vector) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(groth16.TestKeyFiles(dir, v.Circuit.Name()).Params, v.Params, 0o600))
	return dir
}

// openNode is a node on the processor, and what it prints.
func openNode(t *testing.T, dir string) (n *node, proofs, remarks *bytes.Buffer) {
	t.Helper()
	engine, err := cuzk.Open(t.Context(), &cuzk.Options{
		Params: cuzk.TestParamsFolder(dir), Cache: dir, Backend: groth16.BackendCPU,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	proofs, remarks = &bytes.Buffer{}, &bytes.Buffer{}
	return &node{engine: engine, proofs: log.New(proofs, "", 0), remarks: log.New(remarks, "", 0)}, proofs, remarks
}

// Jobs come over the channel; each good one has its proof, which holds, and a bad one spoils none.
func TestServe(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	n, proofs, remarks := openNode(t, keyFolder(t, v))
	wrong := *v.Circuit
	wrong.Aux = append([]fr.Element{fr.NewElement(12345)}, wrong.Aux[1:]...)
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			jobs <- job{name: name, task: cuzk.Statements(v.Circuit, v.Circuit)}
		}
		jobs <- job{name: "wrong", task: cuzk.Statements(&wrong)}
		jobs <- job{name: "undecodable", err: errors.New("no task")}
	}()
	n.serve(t.Context(), jobs)
	require.EqualValues(t, 2, n.failed.Load())
	vk, err := groth16.ReadVerifyingKey(bytes.NewReader(v.VK))
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^(\w) ([0-9a-f]{768})$`).FindAllStringSubmatch(proofs.String(), -1)
	require.Len(t, lines, 6)
	require.Equal(t, 6, strings.Count(proofs.String(), "\n"))
	seen := map[string]bool{}
	for _, l := range lines {
		seen[l[1]] = true
		b, err := hex.DecodeString(l[2])
		require.NoError(t, err)
		list, err := groth16.ParseProofs(b)
		require.NoError(t, err)
		for _, p := range list {
			require.NoError(t, groth16.Verify(vk, p, v.Circuit.Inputs))
		}
		require.Contains(t, remarks.String(), l[1]+": 100 %")
	}
	require.Len(t, seen, 6)
	require.Contains(t, remarks.String(), "wrong: ")
	require.Contains(t, remarks.String(), "undecodable: no task")
}

// slowCircuit tells when its witness is being made, which takes until ctx ends.
type slowCircuit struct {
	*enginetest.Explicit
	begun chan<- struct{}
	ctx   context.Context
}

func (s *slowCircuit) Synthesize(b pce.Builder) error {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.ctx.Done()
	return s.Explicit.Synthesize(b)
}

// When ctx ends, jobs that are being proved and jobs that wait are cancelled, and everything comes to an end.
func TestServeInterrupted(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	n, proofs, remarks := openNode(t, keyFolder(t, v))
	ctx, cancel := context.WithCancelCause(t.Context())
	first := make(chan job, 1)
	first <- job{name: "first", task: cuzk.Statements(v.Circuit)} // so that key and system are loaded
	close(first)
	n.serve(ctx, first)
	require.Zero(t, n.failed.Load(), remarks)
	proofs.Reset()

	begun, jobs := make(chan struct{}, 1), make(chan job)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.serve(ctx, jobs)
	}()
	for range concurrentJobs {
		jobs <- job{name: "slow", task: cuzk.Statements(&slowCircuit{v.Circuit, begun, ctx})}
	}
	<-begun
	cancel(errors.New("enough"))
	<-ended
	require.Empty(t, proofs.String())
	require.EqualValues(t, concurrentJobs, n.failed.Load())
	require.Equal(t, concurrentJobs, strings.Count(remarks.String(), "enough"), remarks)
}

// runNode runs the program on the processor.
func runNode(t *testing.T, ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"--backend", "cpu", "--cache", t.TempDir()}, args...)
	code = run(ctx, args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := runNode(t, t.Context(), "", "--params", dir)
	require.Equal(t, exitOK, code)
	require.Empty(t, stdout+stderr)

	broken := filepath.Join(dir, "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte("{}"), 0o600))
	code, stdout, stderr = runNode(t, t.Context(), "none\n"+broken+"\n"+c1File, "--params", dir)
	require.Equal(t, exitFailed, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "embed: none: open none: no such file")
	require.Contains(t, stderr, "embed: "+broken+": porep: ")
	require.Contains(t, stderr, "embed: "+c1File+": cuzk: no parameters for porep-2KiB in "+dir)
	require.Contains(t, stderr, "embed: jobs without proof: 3")

	code, _, stderr = runNode(t, t.Context(), strings.Repeat("x", 1<<20), "--params", dir)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "standard input: bufio.Scanner: token too long")

	for _, args := range [][]string{nil, {"--params", dir, "more"}, {"--params", dir, "--backend", "tpu"}, {"--nothing"}} {
		code, stdout, stderr = runNode(t, t.Context(), "", args...)
		require.Equal(t, exitUsage, code)
		require.Empty(t, stdout)
		require.NotEmpty(t, stderr)
	}
	code, _, _ = runNode(t, t.Context(), "", "-h")
	require.Equal(t, exitOK, code)
}

// The child process of the next test is the program itself.
const childEnv = "CUZK_EMBED_TEST_CHILD"

func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		t.Skip("this is what another test starts as a process of its own")
	}
	os.Args = []string{"embed", "--params", dir, "--cache", dir, "--backend", "cpu"}
	main()
}

// An interrupt ends a node that has nothing to do but to wait for lines.
func TestInterrupt(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+t.TempDir())
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(stdin, "none\n")
	require.NoError(t, err)
	text := make([]byte, 1000)
	n, err := stderr.Read(text) // it is at work
	require.NoError(t, err)
	require.Contains(t, string(text[:n]), "embed: none: ")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	defer time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }).Stop()
	rest, err := io.ReadAll(stderr)
	require.NoError(t, err)
	require.Contains(t, string(rest), "embed: interrupt signal received\n")
	err = cmd.Wait()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, exitFailed, exit.ExitCode(), "not killed")
}
