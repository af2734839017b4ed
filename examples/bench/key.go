package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

// keyFiles are a parameter file and the verifying key that belongs to it.
type keyFiles struct {
	circuit, params, vk string
	test                bool            // insecure
	backend             groth16.Backend // where makeKey made them
}

// findKey looks for a circuit's parameters in a folder, under the reference's names first.
func findKey(dir string, p circuitParams) (*keyFiles, error) {
	path, test, err := cuzk.TestParamsFolder(dir).Find(p.Name())
	if err != nil {
		return nil, err
	}
	return &keyFiles{circuit: p.Name(), params: path, test: test}, nil
}

// open opens the parameter file. A verifying key beside it must be the one inside.
func (k *keyFiles) open(ctx context.Context) (*groth16.ProvingKey, error) {
	return cuzk.TestParamsFolder(filepath.Dir(k.params)).OpenKey(ctx, k.circuit)
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
	return &keyFiles{circuit: system.Name(), params: files.Params, vk: files.VK, test: true, backend: files.Backend}, nil
}
