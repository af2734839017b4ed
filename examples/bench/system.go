package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/pce"
)

// openSystem loads the circuit's constraint system from the cache folder, or records it and puts it there.
func openSystem(ctx context.Context, e *env, cache string, blank circuits.Circuit) (*pce.System, error) {
	path := filepath.Join(cache, blank.Name()+".pce")
	system, err := pce.Open(path, blank.Name())
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		return system, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		e.notef("recording %s anew: %v", blank.Name(), err)
	}
	system, err = pce.Record(ctx, blank.Name(), blank.Synthesize, nil)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err == nil {
		err = system.WriteFile(path)
		if err != nil {
			e.notef("not cached: %v", err)
		}
	} else {
		e.notef("not cached: %v", err)
	}
	return system, nil
}
