package main

import (
	"context"
	"log/slog"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/pce"
)

// openSystem loads the circuit's constraint system from the cache folder, or records it and puts it there.
func openSystem(ctx context.Context, e *env, cache string, blank circuits.Circuit) (*pce.System, error) {
	return cuzk.NewSystems(cache, e.logger()).Open(ctx, blank)
}

// logger writes warnings of libraries to the standard error, without the time.
func (e *env) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}
