//go:build !cgo || !linux

package cudrv

import (
	"errors"
	"testing"
)

func TestNoDriver(t *testing.T) {
	l, err := Open("")
	var oe *OpenError
	if l != nil || !errors.Is(err, ErrNoDriver) || !errors.As(err, &oe) || oe.Detail == "" {
		t.Fatalf("got %v, %v", l, err)
	}
}
