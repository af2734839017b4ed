package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// phases times the steps of a command. Unless quiet, it prints each when it is over.
type phases struct {
	e     *env
	quiet bool
	start time.Time
	ms    map[string]float64
}

func newPhases(e *env, quiet bool) *phases {
	return &phases{e: e, quiet: quiet, start: time.Now(), ms: map[string]float64{}}
}

// run does one step.
func (p *phases) run(name string, step func() error) error {
	start := time.Now()
	err := step()
	if err == nil {
		p.add(name, time.Since(start))
	}
	return err
}

// add counts a step that was timed elsewhere.
func (p *phases) add(name string, d time.Duration) {
	p.ms[name] += milliseconds(d)
	if !p.quiet {
		p.e.printf("%-20s %10s\n", name, seconds(d))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Round(time.Microsecond)) / 1e6 }

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// jsonLine prints v as one line of JSON.
func (e *env) jsonLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(append(b, '\n'))
	return err
}

// contextReader reads until ctx ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
