package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/gocuzk/cuzk/internal/synth"
)

// synthesize implements "synth": it writes the input of a proof about sectors that are made up.
func synthesize(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "synth")
	kind := f.addType()
	size := f.String("size", "", "sector size")
	made := f.addMadeUp()
	lotus := f.Bool("lotus", false, "of a porep: write Lotus's wrapper")
	out := f.String("out", "", "file to write; standard output by default")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	if err := f.checkKind(); err != nil {
		return err
	}
	if err := f.require("size"); err != nil {
		return err
	}
	if err := f.refuseUnused(rule{"lotus", *kind == kindPoRep, "--type " + *kind}); err != nil {
		return err
	}
	if err := made.check(f, *kind); err != nil {
		return err
	}
	in, err := made.up(ctx, f, *kind, *size, nil)
	if err != nil {
		return err
	}
	return writeTo(ctx, e, *out, func(w io.Writer) error {
		switch in := in.(type) {
		case *postInput:
			return in.write(w)
		case *updateInput:
			return in.write(w)
		}
		c1 := in.(*porepInput).c1
		if *lotus {
			return c1.EncodeLotus(w, synth.Sector)
		}
		return c1.EncodeJSON(w)
	})
}

// writeTo lets write fill standard output, or a file that appears when it is complete.
func writeTo(ctx context.Context, e *env, path string, write func(io.Writer) error) error {
	if path == "" {
		return write(contextWriter{ctx, e.stdout})
	}
	if err := checkOut(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = write(contextWriter{ctx, f})
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// contextWriter writes until ctx ends.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w contextWriter) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.w.Write(p)
}
