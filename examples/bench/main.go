package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process where it is
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK        = 0
	exitFailed    = 1 // an error, or a verdict of "false"
	exitUsage     = 2 // wrong arguments
	exitNoVerdict = 2 // verify: no verdict
)

// command is one subcommand.
type command struct {
	name, args, about string
	run               func(ctx context.Context, e *env, args []string) error
}

func commands() []command {
	return []command{
		{"single", "--type T (--c1 FILE | --input FILE | --synthetic SIZE) [flags]", "prove one statement and verify the proof", single},
		{"setup", "--type T --size S [--out DIR] [--secrets FILE] [--backend B] [--device D]", "make insecure test parameters", setup},
		{"record", "--type T --size S [--out FILE] [--verify-blocks]", "record a constraint system", record},
		{"r1cs-digest", "--type T --size S", "print counts and digests of a circuit's rows as JSON", r1csDigest},
		{"witness", "--type T (--c1 FILE | --input FILE | --synthetic SIZE) [--hash] [--json]", "make the witnesses of a statement, checking it on the way", witness},
		{"eval", "--type T (--c1 FILE | --input FILE | --synthetic SIZE) [--keep] [--json]", "evaluate and check all rows for a witness", eval},
		{"synth", "--type T --size S [--seed N] [--sectors N] [--lotus] [--out FILE]", "write the input of a proof about sectors that are made up", synthesize},
		{"verify", "--type T (--c1 FILE | --statement FILE) --vk FILE --proof FILE", "verify a proof: exit 0 true, 1 false, 2 neither", verify},
		{"fleet", "(--types T,… | --log N) [--jobs N] [--workers N,…] [flags]", "keep one or more engines busy and measure them: a line of JSON for each number of workers", fleet},
		{"gpu", strings.Join(gpuOpNames(), "|") + " [flags]", "measure a part of proving, or whole proofs, on a GPU, and check the results: a line of JSON each", gpuMeasure},
		{"inspect", "[--check] FILE", "say what a file is and what is in it", inspect},
	}
}

// env is what a command writes to.
type env struct {
	stdout, stderr io.Writer
}

// printf writes to the standard output.
func (e *env) printf(format string, args ...any) { fmt.Fprintf(e.stdout, format, args...) }

// notef writes a remark to the standard error, so that the standard output has nothing but results.
func (e *env) notef(format string, args ...any) { fmt.Fprintf(e.stderr, format+"\n", args...) }

// exitError ends the program with a code of its own. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }
func (e *exitError) Unwrap() error { return e.err }

// usagef is an error in the arguments.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &stickyWriter{w: stdout}
	err := dispatch(ctx, &env{out, stderr}, args)
	if errors.Is(err, flag.ErrHelp) {
		err = nil
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("write standard output: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var exit *exitError
	if errors.As(err, &exit) {
		code, err = exit.code, exit.err
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return code
}

func dispatch(ctx context.Context, e *env, args []string) error {
	if len(args) == 0 {
		return usagef("no command; bench help lists them")
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		help(e)
		return nil
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, e, args[1:])
		}
	}
	return usagef("no command %q; bench help lists them", args[0])
}

func help(e *env) {
	e.printf("usage: bench COMMAND [flags]\n\n")
	for _, c := range commands() {
		e.printf("  bench %s %s\n        %s\n", c.name, c.args, c.about)
	}
	e.printf("\nbench COMMAND -h describes the flags.\n")
}
