package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

// keyFiles are a parameter file and the verifying key that belongs to it.
type keyFiles struct {
	params, vk string
	test       bool            // insecure
	backend    groth16.Backend // where makeKey made them
}

// findKey looks for a circuit's parameters in a folder, under the reference's names first.
func findKey(dir string, p circuitParams) (*keyFiles, error) {
	test := groth16.TestKeyFiles(dir, p.Name())
	cached := filepath.Join(dir, p.CacheName())
	for _, k := range []keyFiles{
		{params: cached + ".params", vk: cached + ".vk"},
		{params: test.Params, vk: test.VK, test: true},
	} {
		_, err := os.Stat(k.params)
		if err == nil {
			return &k, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("no parameters for %s in %s: neither %s.params nor %s: %w",
		p.Name(), dir, filepath.Base(cached), filepath.Base(test.Params), fs.ErrNotExist)
}

// open opens the parameter file. A verifying key beside it must be the one inside.
func (k *keyFiles) open() (*groth16.ProvingKey, error) {
	key, err := groth16.OpenProvingKey(k.params)
	if err != nil {
		return nil, err
	}
	if err := k.compareVK(key.VerifyingKey()); err != nil {
		return nil, errors.Join(err, key.Close())
	}
	return key, nil
}

func (k *keyFiles) compareVK(inside *groth16.VerifyingKey) error {
	beside, err := groth16.OpenVerifyingKey(k.vk)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var a, b bytes.Buffer
	if _, err := inside.WriteTo(&a); err != nil {
		return err
	}
	if _, err := beside.WriteTo(&b); err != nil {
		return err
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		return fmt.Errorf("%s is not the verifying key in %s", k.vk, k.params)
	}
	return nil
}

// maxTestRows bounds the circuits that parameters are made for without being asked: those of 32 GiB would take a hundred
// times the minute and the gigabyte of 2 KiB.
const maxTestRows = 1 << 24

// makeKey makes test parameters in a folder.
func makeKey(ctx context.Context, e *env, dir string, system *pce.System, o groth16.TestKeyOptions) (*keyFiles, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	e.notef("making INSECURE test parameters for %s in %s: whoever makes them can prove anything under them",
		system.Name(), dir)
	bar := newProgress(e.stderr, "test parameters")
	o.Progress = bar.set
	files, err := groth16.WriteTestKey(ctx, dir, system, &o)
	bar.end()
	if err != nil {
		return nil, err
	}
	return &keyFiles{params: files.Params, vk: files.VK, test: true, backend: files.Backend}, nil
}
