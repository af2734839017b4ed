//go:build unix

package cuzk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock, or answers errNotLocked if another has it.
func tryLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockOpen(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() {
		os.Remove(path) // while it is locked; if it can't be removed, an empty file stays
		f.Close()
	}, nil
}

// lockOpen locks a file until it is closed. Since it goes with unlock, a file that was opened may be gone when it is locked:
// then its lock is worth nothing, for others lock a new file of that name.
func lockOpen(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errNotLocked
	}
	if err != nil {
		return err
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(f.Name())
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(mine, there) {
		return errNotLocked
	}
	return err
}
