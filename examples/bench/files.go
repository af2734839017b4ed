package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// openRegular opens a regular file. Opening a pipe or a device can block for good, where no signal helps, so others
// are refused before.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return os.Open(path)
}

// checkOut refuses an output path before any work is done for it: a file is put in its place by renaming, which
// must not happen to a device, a link or a folder, and needs a folder to be in.
func checkOut(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: exists and is not a regular file", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err = os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a folder", filepath.Dir(path))
	}
	return err
}

// stickyWriter keeps the first error, for a program that prints in many places.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}
