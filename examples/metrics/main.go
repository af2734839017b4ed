// Command metrics shows how a program that embeds an Engine tells Prometheus about it: [handler] maps a snapshot of the
// Engine to the text format, without any dependency.
//
//	metrics [--listen ADDRESS] [--params DIR] [--backend auto|cpu|gpu]
//
// It opens an Engine, proves a tiny circuit on each device, and serves the Engine's metrics at /metrics until it is
// interrupted. It exits with 0 then, with 1 if something failed, and with 2 on wrong arguments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/groth16"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program; it returns the exit code.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	f := flag.NewFlagSet("metrics", flag.ContinueOnError)
	f.SetOutput(stderr)
	listen := f.String("listen", "127.0.0.1:9178", "address to serve at")
	params := f.String("params", ".", "folder with the parameter files")
	o := &cuzk.Options{SelfTest: true, Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	f.Func("backend", "where to prove: auto, cpu, gpu", func(name string) error {
		for o.Backend = groth16.BackendAuto; o.Backend <= groth16.BackendCPU; o.Backend++ {
			if o.Backend.String() == name {
				return nil
			}
		}
		return errors.New("want auto, cpu or gpu")
	})
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "metrics: unexpected argument %q\n", f.Arg(0))
		return exitUsage
	}
	o.Params = cuzk.ParamsFolder(*params)
	if err := serve(ctx, *listen, o, stderr); err != nil {
		fmt.Fprintf(stderr, "metrics: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// serve opens an Engine and serves its metrics until ctx ends.
func serve(ctx context.Context, address string, o *cuzk.Options, stderr io.Writer) (err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	engine, err := cuzk.Open(ctx, o)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, engine.Close(context.Background())) }()
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler(engine.Stats))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Fprintf(stderr, "metrics: serving at http://%v/metrics\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
