package cuzk

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/pce"
)

// countedCircuit adds a line to a file each time it is recorded.
type countedCircuit struct {
	file string
	wait func() // in Synthesize; nil: not at all
	err  error
}

func (c *countedCircuit) Name() string { return "counted" }

func (c *countedCircuit) PublicInputs() ([]fr.Element, error) {
	return []fr.Element{fr.NewElement(9)}, nil
}

func (c *countedCircuit) Synthesize(b pce.Builder) error {
	f, err := os.OpenFile(c.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, "recorded")
	if err := errors.Join(err, f.Close(), c.err); err != nil {
		return err
	}
	if c.wait != nil {
		c.wait()
	}
	x := b.Alloc(fr.NewElement(3))
	b.Inputize(b.Mul(x, x))
	return nil
}

// recordings is how often the circuit was recorded.
func (c *countedCircuit) recordings(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	return strings.Count(string(text), "\n")
}

func counted(t *testing.T) *countedCircuit {
	return &countedCircuit{file: filepath.Join(t.TempDir(), "count")}
}

// logger keeps warnings.
func logger() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn})), &b
}

// fileNames are the names in a folder.
func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestSystemsRecordOnce(t *testing.T) {
	c, dir := counted(t), filepath.Join(t.TempDir(), "new", "folder")
	var wg sync.WaitGroup
	systems := []*Systems{NewSystems(dir, nil), NewSystems(dir, nil)}
	got := make([]*pce.System, 8)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = systems[i%2].Open(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, c.recordings(t))
	require.Equal(t, []string{fileName("counted")}, fileNames(t, dir))
	for i, s := range got {
		require.Same(t, got[i%2], s)
		require.Equal(t, got[0].Digest(), s.Digest())
	}
	_, err := NewSystems(dir, nil).Open(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 1, c.recordings(t))
}

// The child processes of the tests below are this test with their part in the environment.
const childEnv = "CUZK_SYSTEMS_TEST_CHILD" // "folder count [hang]"

func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSystemsChild$", "-test.v")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, string(os.PathListSeparator)))
	return cmd
}

func TestSystemsChild(t *testing.T) {
	args := filepath.SplitList(os.Getenv(childEnv))
	if len(args) < 2 {
		t.Skip("this is what other tests start as a process of its own")
	}
	c := &countedCircuit{file: args[1]}
	if len(args) > 2 {
		c.wait = func() { select {} }
	}
	_, err := NewSystems(args[0], nil).Open(t.Context(), c)
	require.NoError(t, err)
}

func TestSystemsRecordOnceAcrossProcesses(t *testing.T) {
	c, dir := counted(t), t.TempDir()
	for range 3 {
		cmd := child(t, dir, c.file)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		defer func() {
			require.NoError(t, cmd.Wait(), &out)
			require.Contains(t, out.String(), "--- PASS: TestSystemsChild")
			require.Equal(t, 1, c.recordings(t))
		}()
	}
	_, err := NewSystems(dir, nil).Open(t.Context(), c)
	require.NoError(t, err)
}

// A process that dies while it records, without a chance to clean up, blocks nobody.
func TestSystemsHolderKilled(t *testing.T) {
	c, dir := counted(t), t.TempDir()
	cmd := child(t, dir, c.file, "hang")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { return c.recordings(t) == 1 }, time.Minute, time.Millisecond)

	// While it lives there is nothing to do but wait.
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*lockPause, cause)
	defer cancel()
	systems := NewSystems(dir, nil)
	_, err := systems.Open(ctx, c)
	require.ErrorIs(t, err, cause)
	require.Equal(t, 1, c.recordings(t))

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	_, err = systems.Open(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 2, c.recordings(t))
	require.Equal(t, []string{fileName("counted")}, fileNames(t, dir))
}

func TestSystemsReplaceUnusableFiles(t *testing.T) {
	c, dir := counted(t), t.TempDir()
	path := filepath.Join(dir, fileName("counted"))
	good, err := NewSystems(dir, nil).Open(t.Context(), c)
	require.NoError(t, err)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	other, err := pce.Record(t.Context(), "another", counted(t).Synthesize, nil)
	require.NoError(t, err)
	var foreign bytes.Buffer
	_, err = other.WriteTo(&foreign)
	require.NoError(t, err)
	for text, contents := range map[string][]byte{
		"file is too short":   file[:len(file)/2],
		"digest mismatch":     append(bytes.Clone(file[:len(file)-1]), file[len(file)-1]^1),
		"unsupported version": append(append(bytes.Clone(file[:8]), 99), file[9:]...),
		"another circuit":     foreign.Bytes(),
		"magic":               bytes.Repeat([]byte{1}, 1000),
		"section header":      {},
	} {
		before := c.recordings(t)
		require.NoError(t, os.WriteFile(path, contents, 0o600))
		log, warnings := logger()
		system, err := NewSystems(dir, log).Open(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, good.Digest(), system.Digest())
		require.Equal(t, before+1, c.recordings(t))
		require.Equal(t, 1, strings.Count(warnings.String(), "recorded anew"), warnings)
		require.Contains(t, warnings.String(), text)
		again, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, file, again)
	}
}

// Where nothing can be written, systems come from memory, with one warning for all.
func TestSystemsWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	folder := t.TempDir() // a folder in the place of the file
	require.NoError(t, os.Mkdir(filepath.Join(folder, fileName("counted")), 0o700))
	for _, dir := range []string{file, filepath.Join(file, "below"), folder} {
		c := counted(t)
		log, warnings := logger()
		systems := NewSystems(dir, log)
		first, err := systems.Open(t.Context(), c)
		require.NoError(t, err)
		again, err := systems.Open(t.Context(), c)
		require.NoError(t, err)
		require.Same(t, first, again)
		require.Equal(t, 1, c.recordings(t))
		require.Equal(t, 1, strings.Count(warnings.String(), "kept in memory only"), warnings)
		_, err = systems.Open(t.Context(), &renamed{c, "second"})
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(warnings.String(), "kept in memory only"), warnings)
	}
	require.Equal(t, []string{fileName("counted"), fileName("second")}, fileNames(t, folder))

	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} { // there is no cache folder of the user then
		t.Setenv(name, "")
	}
	c := counted(t)
	log, warnings := logger()
	_, err := NewSystems("", log).Open(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(warnings.String(), "no cache folder"), warnings)
}

// renamed is a circuit under another name.
type renamed struct {
	*countedCircuit
	name string
}

func (r *renamed) Name() string { return r.name }

// A failure is nobody's but that of those who waited for it.
func TestSystemsForgetFailures(t *testing.T) {
	c, systems := counted(t), NewSystems(t.TempDir(), nil)
	c.err = errors.New("broken")
	for range 2 {
		_, err := systems.Open(t.Context(), c)
		require.ErrorIs(t, err, c.err)
	}
	c.err = nil
	_, err := systems.Open(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 3, c.recordings(t))
}

// One of two who wait goes away: the other gets what was begun. When both go, nothing is left running.
func TestSystemsContext(t *testing.T) {
	started, finish := make(chan struct{}, 2), make(chan struct{})
	c, systems := counted(t), NewSystems(t.TempDir(), nil)
	c.wait = func() {
		started <- struct{}{}
		<-finish
	}
	cause := errors.New("enough")
	begin := func() (cancel func(), result chan error) {
		ctx, stop := context.WithCancelCause(t.Context())
		result = make(chan error, 1)
		go func() {
			_, err := systems.Open(ctx, c)
			result <- err
		}()
		return func() { stop(cause) }, result
	}
	cancel, first := begin()
	<-started
	_, second := begin()
	require.Eventually(t, func() bool {
		systems.mu.Lock()
		defer systems.mu.Unlock()
		return systems.loads["counted"].waiting == 2
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-first, cause)
	close(finish)
	require.NoError(t, <-second)
	require.Equal(t, 1, c.recordings(t))

	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	_, err := systems.Open(ctx, c)
	require.ErrorIs(t, err, cause)

	// The last one to go waits until the recording has ended.
	systems, finish = NewSystems(t.TempDir(), nil), make(chan struct{})
	cancel, last := begin()
	<-started
	cancel()
	require.Eventually(t, func() bool {
		systems.mu.Lock()
		defer systems.mu.Unlock()
		return len(systems.loads) == 0
	}, time.Minute, time.Millisecond)
	require.Empty(t, last)
	close(finish)
	require.ErrorIs(t, <-last, cause)
	require.NotContains(t, fileNames(t, systems.dir), fileName("counted")+".lock")
	_, err = systems.Open(t.Context(), c)
	require.NoError(t, err)
}

func TestSystemsRemoveWhatTheDeadLeft(t *testing.T) {
	c, dir := counted(t), t.TempDir()
	old := time.Now().Add(-2 * staleTemporary)
	dead, alive := "."+fileName("counted")+".123", "."+fileName("counted")+".456"
	another := "." + fileName("another") + ".789"
	for _, name := range []string{dead, alive, another, fileName("counted") + ".lock"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		if name != alive {
			require.NoError(t, os.Chtimes(filepath.Join(dir, name), old, old))
		}
	}
	_, err := NewSystems(dir, nil).Open(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, []string{another, alive, fileName("counted")}, fileNames(t, dir))
}

// Locks of both kinds keep others out until they are given back.
func TestLocks(t *testing.T) {
	for name, try := range map[string]func(string) (func(), error){
		"system": tryLock,
		"lease":  func(path string) (func(), error) { return lease(path, time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.lock")
			_, err := try(filepath.Join(dir, "none", "x.lock"))
			require.ErrorIs(t, err, os.ErrNotExist)
			var inside, held int
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 20 {
						unlock, err := try(path)
						if errors.Is(err, errNotLocked) {
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						held++
						inside++
						if inside != 1 {
							t.Error("two have the lock")
						}
						mu.Unlock()
						time.Sleep(time.Millisecond)
						mu.Lock()
						inside--
						mu.Unlock()
						unlock()
					}
				})
			}
			wg.Wait()
			require.Positive(t, held)
			require.Empty(t, fileNames(t, dir))
		})
	}
}

// A lease lasts as long as its holder renews it.
func TestLeaseOfTheDeadRunsOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := lease(path, time.Minute)
	require.NoError(t, err)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	_, err = lease(path, time.Minute) // finds it dead
	require.ErrorIs(t, err, errNotLocked)
	second, err := lease(path, time.Minute)
	require.NoError(t, err)
	second()
	unlock() // of what is no longer there
	require.NoFileExists(t, path)

	renewed := filepath.Join(t.TempDir(), "y.lock")
	unlock, err = lease(renewed, 40*time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(renewed, old, old))
	require.Eventually(t, func() bool {
		info, err := os.Stat(renewed)
		return err == nil && time.Since(info.ModTime()) < time.Minute
	}, time.Minute, time.Millisecond)
	unlock()
	require.NoFileExists(t, renewed)
}

// Files of constraint systems outlive the program that wrote them. If a layout is another one than here, files of before do
// not fit its witnesses: raise circuits.Revision and note the new digests.
func TestRevisionOfLayouts(t *testing.T) {
	require.Equal(t, 1, circuits.Revision)
	for name, digest := range map[string]string{
		"porep-2KiB":           "54225cb0af69339125b6976080d644fddfcf5f0aecb4536947dd9c3e45792e9d",
		"winning-post-2KiB":    "a21696206530b6a6f03518cdb33ed79ad7bd4544e27aa43bfb0b260fc14cace7",
		"window-post-2KiB":     "06de6678e841b774d02b2bd4c9f26367575b3db36d384629cb1e22b4e73a21aa",
		"update-2KiB":          "85a33eeae180dedc90c61d868bc497738208e9d529a5cc3122c6bb804479915e",
		"update-poseidon-2KiB": "b751458ca33d6aa59c2c51c1b5b7de91e0c211816e5e5ee31825b5f5f61cc669",
	} {
		system, err := pce.Record(t.Context(), name, blankOf(name).Synthesize, nil)
		require.NoError(t, err)
		require.Equal(t, digest, hex.EncodeToString(system.Layout().Digest[:]), name)
	}
}
