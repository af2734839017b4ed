// Command embed is a node in small: an Engine for the whole life of the process, and jobs that come over a channel. What a
// node does with an Engine is in node.go; the rest is about arguments and files.
//
//	embed --params DIR [--test-keys] [--backend auto|cpu|gpu] [--cache DIR]
//
// It reads names of files with phase-1 outputs (C1) from standard input, one a line, proves them on all GPUs, and prints
// each file's name with its proof, verified, as hexadecimal digits; remarks and progress go to standard error. At the end
// of the input it ends when all proofs are made. An interrupt ends it within about a second: open jobs are cancelled. It
// exits with 0 if every line had its proof, with 1 if not, and with 2 on wrong arguments.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	options, code := parse(args, stderr)
	if options == nil {
		return code
	}
	n := &node{proofs: log.New(stdout, "", 0), remarks: log.New(stderr, "embed: ", 0)}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil) // a line that is being decoded is not sent
	jobs := make(chan job)
	go read(ctx, stdin, jobs)
	err := n.run(ctx, options, jobs)
	if err != nil {
		n.remarks.Print(err)
	}
	if failed := n.failed.Load(); failed > 0 {
		n.remarks.Printf("jobs without proof: %d", failed)
	}
	if err != nil || n.failed.Load() > 0 {
		return exitFailed
	}
	return exitOK
}
