package srs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/gocuzk/cuzk/internal/hostmem"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/wire"
)

// Key is an open parameter file. It may be used by several goroutines.
type Key struct {
	path   string
	file   *hostmem.File
	vk     *VerifyingKey
	tables [5]table
}

// table is where the points of a list section are.
type table struct {
	section Section
	offset  int64 // of the first point
	n       int
	size    int64 // of one point
}

// Open maps the parameter file at path, reads its verifying key and checks that the counts fit the
// file's size exactly. Faults of the contents are *Error.
func Open(path string, ledger *hostmem.Ledger) (*Key, error) {
	f, err := hostmem.Open(path, hostmem.ProvingKey, ledger)
	if err != nil {
		return nil, err
	}
	k := &Key{path: path, file: f}
	err = k.readVerifyingKey()
	if err == nil {
		err = k.readCounts()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return k, nil
}

// Path is the file's name as it was given.
func (k *Key) Path() string { return k.path }

// VerifyingKey is the key's first section. It must not be changed.
func (k *Key) VerifyingKey() *VerifyingKey { return k.vk }

// Len is the number of points in a list section.
func (k *Key) Len(s Section) int {
	if t := k.table(s); t != nil {
		return t.n
	}
	return 0
}

// Bytes is the size of the file.
func (k *Key) Bytes() int64 { return k.file.Size() }

// Close unmaps the file once nobody reads from it.
func (k *Key) Close() error { return k.file.Close() }

// CopyTo copies the file into memory of Bytes() bytes, and returns a Key that reads from there. Memory must not change as
// long as that is in use; k may be closed. progress, which may be nil, is called now and then, from one goroutine at a time,
// with the number of bytes copied; done never falls. It returns context.Cause(ctx) when ctx ends.
func (k *Key) CopyTo(ctx context.Context, memory []byte, progress func(done, total int64)) (*Key, error) {
	const chunk = 16 << 20
	if int64(len(memory)) != k.Bytes() {
		return nil, fmt.Errorf("srs: %s has %d bytes, the memory for it %d", k.path, k.Bytes(), len(memory))
	}
	report := reporter(0, k.Bytes(), progress)
	err := parallel.Ranges(ctx, len(memory), chunk, func(_, lo, hi int) error {
		err := k.file.View(int64(lo), int64(hi-lo), func(b []byte) error {
			copy(memory[lo:hi], b)
			return nil
		})
		if err != nil {
			return k.fail(k.sectionAt(int64(lo)), -1, int64(lo), err)
		}
		k.file.Forget(int64(lo), int64(hi-lo))
		report(hi - lo)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := parallel.Guard(func() error { report(0); return nil }); err != nil {
		return nil, err
	}
	held := *k
	held.file = hostmem.Memory(memory)
	return &held, nil
}

// sectionAt is the section that a byte of the file is in.
func (k *Key) sectionAt(offset int64) Section {
	in := VK
	for _, t := range k.tables {
		if t.offset-countSize <= offset {
			in = t.section
		}
	}
	return in
}

func (k *Key) table(s Section) *table {
	for i := range k.tables {
		if k.tables[i].section == s {
			return &k.tables[i]
		}
	}
	return nil
}

func (k *Key) readVerifyingKey() error {
	r := bufio.NewReaderSize(&fileReader{f: k.file}, 1<<16)
	vk, err := ReadVerifyingKey(r, k.path)
	k.vk = vk
	return err
}

func (k *Key) readCounts() error {
	at := k.vk.Size()
	for i, s := range []Section{H, L, A, BG1, BG2} {
		t := table{section: s, offset: at + countSize, size: wire.G1Size}
		if s == BG2 {
			t.size = wire.G2Size
		}
		n, err := k.count(at)
		if err != nil {
			return k.fail(s, -1, at, err)
		}
		t.n = int(n)
		left := k.file.Size() - t.offset
		if int64(n) > left/t.size {
			return k.fail(s, -1, at, fmt.Errorf("%w: %d points need %d bytes, %d are left", ErrTruncated, n, int64(n)*t.size, left))
		}
		if err := k.plausible(s, t.n); err != nil {
			return k.fail(s, -1, at, err)
		}
		at = t.offset + int64(t.n)*t.size
		k.tables[i] = t
	}
	if at != k.file.Size() {
		return k.fail(BG2, -1, at, fmt.Errorf("%w: %d", ErrTrailing, k.file.Size()-at))
	}
	return nil
}

// plausible refuses counts that contradict what is known so far, so that counts that were swapped or
// damaged in a way that still fits the size are named.
func (k *Key) plausible(s Section, n int) error {
	switch s {
	case H:
		if bits.OnesCount64(uint64(n)+1) != 1 {
			return fmt.Errorf("%w: %d points is not one less than a power of two", ErrCount, n)
		}
	case A:
		if n < len(k.vk.IC) {
			return fmt.Errorf("%w: %d points for %d public inputs", ErrCount, n, len(k.vk.IC))
		}
	case BG2:
		if n != k.Len(BG1) {
			return fmt.Errorf("%w: %d points, but b_g1 has %d", ErrCount, n, k.Len(BG1))
		}
	}
	return nil
}

func (k *Key) count(at int64) (n uint32, err error) {
	if k.file.Size()-at < countSize {
		return 0, ErrTruncated
	}
	err = k.file.View(at, countSize, func(b []byte) error {
		n = binary.BigEndian.Uint32(b)
		return nil
	})
	return n, err
}

func (k *Key) fail(s Section, index int, offset int64, err error) error {
	return &Error{File: k.path, Section: s, Index: index, Offset: offset, Err: err}
}

// fileReader reads a File from its start.
type fileReader struct {
	f  *hostmem.File
	at int64
}

func (r *fileReader) Read(p []byte) (int, error) {
	n := min(int64(len(p)), r.f.Size()-r.at)
	if n == 0 {
		return 0, io.EOF
	}
	err := r.f.View(r.at, n, func(b []byte) error {
		copy(p, b)
		return nil
	})
	if err != nil {
		return 0, err
	}
	r.at += n
	return int(n), nil
}
