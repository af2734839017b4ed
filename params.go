package cuzk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/groth16"
)

// Params is where an Engine gets proving keys from. It may be used by several goroutines.
type Params interface {
	// OpenKey opens the proving key of a circuit, which is called "porep-32GiB" for instance. The caller closes it. It is
	// called anew for each key that an Engine loads, also after it has failed.
	OpenKey(ctx context.Context, circuit string) (*groth16.ProvingKey, error)
}

// ErrParams reports that a circuit has no parameters, or none that can be used; see ParamsError.
var ErrParams = errors.New("cuzk: no usable parameters")

// ParamsError says why there is no key for a circuit. It is an ErrParams.
type ParamsError struct {
	Circuit string
	Folder  string
	Tried   []string // names that were looked for and are not there
	File    string   // name of the file that is at fault; empty if none was found
	Err     error    // for instance fs.ErrNotExist, or a *groth16.ParamsError
}

func (e *ParamsError) Error() string {
	if e.File != "" {
		return fmt.Sprintf("cuzk: parameters for %s: %s in %s: %v", e.Circuit, e.File, e.Folder, e.Err)
	}
	return fmt.Sprintf("cuzk: no parameters for %s in %s, looked for %v: %v", e.Circuit, e.Folder, e.Tried, e.Err)
}

// Unwrap makes a ParamsError an ErrParams.
func (e *ParamsError) Unwrap() []error { return []error{ErrParams, e.Err} }

// Folder serves the parameter files of a folder, which must be local since proving keys are mapped. It keeps nothing open
// and remembers nothing: a file that was missing or damaged is used as soon as it is there. Errors are *ParamsError.
type Folder struct {
	dir  string
	test bool
}

// ParamsFolder serves the files of dir that have the reference's names, "v28-….params" and "v28-….vk".
func ParamsFolder(dir string) *Folder { return &Folder{dir: dir} }

// TestParamsFolder serves the files of dir that have the reference's names and, for circuits that have none, keys for
// tests as groth16.WriteTestKey names them. Whoever made such a key can prove anything under it.
func TestParamsFolder(dir string) *Folder { return &Folder{dir: dir, test: true} }

// OpenKey implements [Params]. A verifying key beside the parameter file must be the one inside. Opening takes some 75 µs
// a public input, which is two seconds for a WindowPoSt of 32 GiB and milliseconds for others.
func (f *Folder) OpenKey(ctx context.Context, circuit string) (*groth16.ProvingKey, error) {
	base, _, err := f.find(circuit, paramsExt)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	key, err := groth16.OpenProvingKey(base + paramsExt)
	if err != nil {
		return nil, f.fault(circuit, base+paramsExt, err)
	}
	if err := compareVK(key.VerifyingKey(), base); err != nil {
		return nil, f.fault(circuit, base+vkExt, errors.Join(err, key.Close()))
	}
	return key, nil
}

// VerifyingKey reads a circuit's verifying key from its own file or, where there is none, from the parameter file.
func (f *Folder) VerifyingKey(ctx context.Context, circuit string) (*groth16.VerifyingKey, error) {
	base, ext, err := f.find(circuit, vkExt, paramsExt)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if ext == vkExt {
		vk, err := groth16.OpenVerifyingKey(base + vkExt)
		if err != nil {
			return nil, f.fault(circuit, base+vkExt, err)
		}
		return vk, nil
	}
	key, err := groth16.OpenProvingKey(base + paramsExt)
	if err != nil {
		return nil, f.fault(circuit, base+paramsExt, err)
	}
	return key.VerifyingKey(), key.Close()
}

// Find is the parameter file that OpenKey opens for a circuit, and whether that is a key for tests. Nothing is read.
func (f *Folder) Find(circuit string) (path string, test bool, err error) {
	base, ext, err := f.find(circuit, paramsExt)
	if err != nil {
		return "", false, err
	}
	return base + ext, filepath.Base(base) == testPrefix+circuit, nil
}

const (
	paramsExt  = ".params"
	vkExt      = ".vk"
	testPrefix = "test-" // as groth16.TestKeyFiles has it
)

// find is the path, without its extension, under which there is something with one of the extensions.
func (f *Folder) find(circuit string, extensions ...string) (base, ext string, err error) {
	e := &ParamsError{Circuit: circuit, Folder: f.dir}
	for _, name := range f.names(circuit) {
		for _, ext := range extensions {
			_, err := os.Lstat(filepath.Join(f.dir, name+ext))
			if err == nil {
				return filepath.Join(f.dir, name), ext, nil
			}
			e.Tried = append(e.Tried, name+ext)
			if !errors.Is(err, fs.ErrNotExist) {
				e.Err = err
				return "", "", e
			}
		}
	}
	e.Err = f.missing(circuit, extensions)
	return "", "", e
}

// names are the names without extension that a circuit's files can have, in the order of preference.
func (f *Folder) names(circuit string) (names []string) {
	for _, c := range filecoinCircuits() {
		if c.Name() == circuit {
			names = append(names, c.CacheName())
		}
	}
	if f.test && filepath.Base(circuit) == circuit { // a name is not a path
		names = append(names, testPrefix+circuit)
	}
	return names
}

// missing is an fs.ErrNotExist that says what is wrong, if something is, with the folder or the circuit's name.
func (f *Folder) missing(circuit string, extensions []string) error {
	if _, err := os.Stat(f.dir); err != nil {
		return err
	}
	if len(f.names(circuit)) == 0 {
		return fmt.Errorf("not the name of a Filecoin circuit: %w", fs.ErrNotExist)
	}
	for _, ext := range extensions {
		name := testPrefix + circuit + ext
		if _, err := os.Lstat(filepath.Join(f.dir, name)); err == nil && !f.test {
			return fmt.Errorf("%w; %s is for tests and not served here", fs.ErrNotExist, name)
		}
	}
	return fs.ErrNotExist
}

// fault is an error about a file that is there.
func (f *Folder) fault(circuit, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("broken link: %w", err)
	}
	return &ParamsError{Circuit: circuit, Folder: f.dir, File: filepath.Base(path), Err: err}
}

// filecoinCircuit names a circuit and its parameter files.
type filecoinCircuit interface {
	Name() string
	CacheName() string
}

// filecoinCircuits are the circuits whose parameter files have names in the reference.
func filecoinCircuits() (all []filecoinCircuit) {
	add := func(c filecoinCircuit, err error) {
		if err == nil { // it is for the sizes of Sizes
			all = append(all, c)
		}
	}
	for _, size := range porep.Sizes() {
		p, err := porep.ParamsFor(size)
		add(p, err)
	}
	for _, size := range post.Sizes() {
		for _, kind := range []post.Kind{post.Winning, post.Window} {
			p, err := post.ParamsFor(kind, size)
			add(p, err)
		}
	}
	for _, size := range update.Sizes() {
		for _, variant := range []update.Variant{update.Sha256, update.Poseidon} {
			p, err := update.ParamsFor(variant, size)
			add(p, err)
		}
	}
	return all
}

// compareVK returns an error if there is a verifying key beside a parameter file that is not the one in it.
func compareVK(inside *groth16.VerifyingKey, base string) error {
	info, err := os.Stat(base + vkExt)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var want strings.Builder
	if _, err := inside.WriteTo(&want); err != nil {
		return err
	}
	if info.Mode().IsRegular() && info.Size() == int64(want.Len()) {
		got, err := os.ReadFile(base + vkExt)
		if err != nil || string(got) == want.String() {
			return err
		}
	}
	if _, err := groth16.OpenVerifyingKey(base + vkExt); err != nil { // says what is wrong with it
		return err
	}
	return fmt.Errorf("%s is not the verifying key in %s", base+vkExt, base+paramsExt)
}
