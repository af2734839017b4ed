package srs

import (
	"errors"
	"fmt"
)

// Section names a part of a key file.
type Section string

// The sections, in the order of the file.
const (
	VK  Section = "vk"
	H   Section = "h"
	L   Section = "l"
	A   Section = "a"
	BG1 Section = "b_g1"
	BG2 Section = "b_g2"
)

// Error locates a fault in a key file.
type Error struct {
	File    string // as given; empty if the key did not come from a file
	Section Section
	Index   int   // element in the section, or -1
	Offset  int64 // byte in the file
	Err     error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("section %s at offset %d: %v", e.Section, e.Offset, e.Err)
	if e.Index >= 0 {
		s = fmt.Sprintf("section %s element %d at offset %d: %v", e.Section, e.Index, e.Offset, e.Err)
	}
	if e.File != "" {
		s = e.File + ": " + s
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrTruncated reports a file that ends before its counts are satisfied.
	ErrTruncated = errors.New("file is too short")
	// ErrTrailing reports bytes after the end.
	ErrTrailing = errors.New("bytes after the end")
	// ErrCount reports a count that no key can have.
	ErrCount = errors.New("impossible count")
)
