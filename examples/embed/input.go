package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/groth16"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// parse makes options of arguments. Nil means that the program ends with the code, after what was to say is printed.
func parse(args []string, stderr io.Writer) (o *cuzk.Options, code int) {
	f := flag.NewFlagSet("embed", flag.ContinueOnError)
	f.SetOutput(stderr)
	dir := f.String("params", "", "folder with the parameter files")
	test := f.Bool("test-keys", false, "take keys for tests too, under which proofs prove nothing")
	o = &cuzk.Options{Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	f.StringVar(&o.Cache, "cache", "", "folder for constraint systems; by default cuzk in the user's cache folder")
	f.Func("backend", "where to prove: auto, cpu, gpu", func(name string) error {
		for o.Backend = groth16.BackendAuto; o.Backend <= groth16.BackendCPU; o.Backend++ {
			if o.Backend.String() == name {
				return nil
			}
		}
		return errors.New("want auto, cpu or gpu")
	})
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, exitOK
	} else if err != nil {
		return nil, exitUsage
	}
	switch {
	case *dir == "":
		fmt.Fprintln(stderr, "embed: --params is missing")
	case f.NArg() > 0:
		fmt.Fprintf(stderr, "embed: unexpected argument %q\n", f.Arg(0))
	case *test:
		o.Params = cuzk.TestParamsFolder(*dir)
		return o, exitOK
	default:
		o.Params = cuzk.ParamsFolder(*dir)
		return o, exitOK
	}
	return nil, exitUsage
}

// read sends a job for each line until there are no more or ctx ends.
func read(ctx context.Context, lines io.Reader, jobs chan<- job) {
	defer close(jobs)
	s := bufio.NewScanner(lines)
	for s.Scan() {
		j := job{name: strings.TrimSpace(s.Text())}
		j.task, j.err = decode(j.name)
		if !send(ctx, jobs, j) {
			return
		}
	}
	if s.Err() != nil {
		send(ctx, jobs, job{name: "standard input", err: s.Err()})
	}
}

// send tells whether the job was taken before ctx ended.
func send(ctx context.Context, jobs chan<- job, j job) bool {
	select {
	case jobs <- j:
		return true
	case <-ctx.Done():
		return false
	}
}

// decode reads a phase-1 output.
func decode(path string) (cuzk.Task, error) {
	f, err := os.Open(path)
	if err != nil {
		return cuzk.Task{}, err
	}
	defer f.Close()
	c1, err := porep.DecodeC1(f, nil)
	return cuzk.Seal(c1), err
}
