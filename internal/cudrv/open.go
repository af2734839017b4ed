package cudrv

import (
	"errors"
	"fmt"
)

// Reasons why a driver can't be used. They are found in an [*OpenError] with errors.Is.
var (
	// ErrNoDriver: there is no driver library, or the program was built without cgo.
	ErrNoDriver = errors.New("cudrv: no CUDA driver")
	// ErrTooOld: the driver is older than MinVersion or lacks a symbol.
	ErrTooOld = errors.New("cudrv: CUDA driver too old")
	// ErrNoDevice: the driver is there and finds no card.
	ErrNoDevice = errors.New("cudrv: no CUDA device")
	// ErrInit: the driver failed to start.
	ErrInit = errors.New("cudrv: CUDA driver does not start")
)

// OpenError says why [Open] failed.
type OpenError struct {
	Path    string // the library asked for; empty for the default places
	Reason  error  // one of the errors above
	Detail  string // the loader's sentence, or empty
	Symbol  string // the symbol that is missing, or empty
	Version int    // the driver's version when it is too old, or 0 if it does not say
	Result  Result // what cuInit answered, or Success
}

func (e *OpenError) Error() string {
	s := e.Reason.Error()
	if e.Path != "" {
		s += " at " + e.Path
	}
	if e.Symbol != "" {
		s += ": symbol " + e.Symbol + " is missing"
	}
	if e.Version != 0 {
		s += fmt.Sprintf(": it offers CUDA %s, the kernels need CUDA %s or later (driver 580)",
			VersionString(e.Version), VersionString(MinVersion))
	}
	if e.Result != Success {
		s += ": cuInit: " + e.Result.String()
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap gives the reason.
func (e *OpenError) Unwrap() error { return e.Reason }

// VersionString writes a driver version as CUDA's own: 13020 is "13.2".
func VersionString(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// defaultPaths are tried in order when no path is given: the loader's search, then the
// place where Windows puts the driver for Linux programs.
var defaultPaths = []string{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// Open opens the driver library at path, or in the default places if path is empty,
// starts it and checks its version. It may be called several times; each [Lib] works.
//
// The error is an [*OpenError]. Of several default places the first one that holds a
// library decides; if none does, the error names the first.
func Open(path string) (*Lib, error) {
	paths := defaultPaths
	if path != "" {
		paths = []string{path}
	}
	var first *OpenError
	for _, p := range paths {
		l, err := open(p)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, ErrNoDriver) {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}
