package groth16

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/crypto/blake2b"

	"github.com/gocuzk/cuzk/pce"
)

// TestKey names the files of a key for tests.
type TestKey struct {
	Params string // test-<circuit>.params
	VK     string // test-<circuit>.vk
	Setup  string // test-<circuit>.setup.json, which says that the key is insecure
	// Backend is where WriteTestKey did the heavy work: BackendGPU or BackendCPU.
	Backend Backend
}

// TestKeyFiles returns the names that [WriteTestKey] uses in dir for a circuit.
func TestKeyFiles(dir, circuit string) TestKey {
	base := filepath.Join(dir, "test-"+circuit)
	return TestKey{Params: base + ".params", VK: base + ".vk", Setup: base + ".setup.json"}
}

// sidecar is the contents of the .setup.json file.
type sidecar struct {
	Insecure bool       `json:"insecure"`
	Warning  string     `json:"warning"`
	Circuit  string     `json:"circuit"`
	System   string     `json:"system_digest"`
	Secrets  string     `json:"secrets"`
	Params   fileDigest `json:"params"`
	VK       fileDigest `json:"vk"`
}

type fileDigest struct {
	File       string `json:"file"`
	Size       int64  `json:"size"`
	BLAKE2b512 string `json:"blake2b512"`
}

const insecureWarning = "The secrets of this key are known to whoever made it. Proofs under it prove nothing. For tests only."

// WriteTestKey makes a key for tests and writes it into dir: parameter file and verifying key in the reference's formats,
// and beside them a file that marks them as insecure. Files appear under their names when they are complete, the
// parameter file last; after an error, the end of ctx included, none of this call's half-written files is left. See
// [WriteTestParams] for cost and errors.
func WriteTestKey(ctx context.Context, dir string, system *pce.System, o *TestKeyOptions) (_ *TestKey, err error) {
	if err := checkSystem("make params", system); err != nil {
		return nil, err
	}
	key := TestKeyFiles(dir, system.Name())
	note := sidecar{
		Insecure: true, Warning: insecureWarning, Circuit: system.Name(),
		System: digestHex(system), Secrets: "given",
	}
	if o == nil || o.Secrets == nil {
		note.Secrets = "random, not kept"
	}
	var files tempFiles
	defer func() { err = errors.Join(err, files.discard()) }()

	var vk *VerifyingKey
	note.Params, err = files.write(key.Params, func(w io.Writer) error {
		vk, key.Backend, err = writeTestParams(ctx, w, system, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	note.VK, err = files.write(key.VK, func(w io.Writer) error {
		_, err := vk.WriteTo(w)
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = files.write(key.Setup, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(note)
	})
	if err != nil {
		return nil, err
	}
	return &key, files.commit()
}

func digestHex(system *pce.System) string {
	d := system.Digest()
	return hex.EncodeToString(d[:])
}

// tempFiles are files on the way to their names.
type tempFiles struct {
	names []string // final names, in the order of writing
	temps []string
}

// write writes a new temporary file that is to be called name.
func (t *tempFiles) write(name string, contents func(io.Writer) error) (fileDigest, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-"+filepath.Base(name)+"-*")
	if err != nil {
		return fileDigest{}, fmt.Errorf("groth16: write %s: %w", name, err)
	}
	t.names, t.temps = append(t.names, name), append(t.temps, f.Name())
	w := newDigester(f)
	err = contents(w)
	if err == nil {
		err = errors.Join(w.buf.Flush(), f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fileDigest{}, fmt.Errorf("groth16: write %s: %w", name, err)
	}
	return fileDigest{File: filepath.Base(name), Size: w.n, BLAKE2b512: hex.EncodeToString(w.hash.Sum(nil))}, nil
}

// commit gives the files their names, the last written first.
func (t *tempFiles) commit() error {
	for len(t.temps) > 0 {
		last := len(t.temps) - 1
		if err := os.Rename(t.temps[last], t.names[last]); err != nil {
			return fmt.Errorf("groth16: write test key: %w", err)
		}
		t.temps, t.names = t.temps[:last], t.names[:last]
	}
	return nil
}

// discard removes what was not committed.
func (t *tempFiles) discard() error {
	var errs []error
	for _, name := range t.temps {
		errs = append(errs, os.Remove(name))
	}
	t.temps, t.names = nil, nil
	return errors.Join(errs...)
}

// digester buffers, hashes and counts what is written.
type digester struct {
	buf  *bufio.Writer
	hash hash.Hash
	n    int64
}

func newDigester(w io.Writer) *digester {
	h, err := blake2b.New512(nil)
	if err != nil {
		panic(err) // only a key that is too long is refused
	}
	return &digester{buf: bufio.NewWriterSize(w, 1<<20), hash: h}
}

// Write hashes and writes at the same time: with a GPU to make the points, each takes longer than that.
func (d *digester) Write(p []byte) (int, error) {
	var hashing sync.WaitGroup
	hashing.Go(func() { d.hash.Write(p) })
	d.n += int64(len(p))
	n, err := d.buf.Write(p)
	hashing.Wait()
	return n, err
}
