package hostmem

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"unsafe"
)

var (
	// ErrTruncated reports a file that is shorter than when it was opened.
	ErrTruncated = errors.New("file was cut short while in use")
	// ErrClosed reports the use of a closed File.
	ErrClosed = errors.New("file is closed")
)

// File is a file opened for reading in place, or memory in place of one. Its methods may be called from several goroutines.
type File struct {
	size    int64
	purpose Purpose
	ledger  *Ledger

	mu     sync.RWMutex // held for reading while a range is in use
	f      *os.File     // nil once closed, and with memory
	mapped []byte       // nil: not mapped, ranges are read
	memory []byte       // nil: there is a file, or it is closed
}

// Memory is a File that reads from memory, which is the caller's and is not counted.
func Memory(b []byte) *File { return &File{size: int64(len(b)), memory: b} }

// Open opens the regular file at path. The ledger, which may be nil, counts it until Close.
func Open(path string, purpose Purpose, ledger *Ledger) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe could block for good
		return nil, fmt.Errorf("%s is not a regular file: %v", path, info.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil && info.Size() > math.MaxInt {
		err = fmt.Errorf("%s has %d bytes, more than this platform can address", path, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	o := &File{size: info.Size(), purpose: purpose, ledger: ledger, f: f}
	if o.size > 0 {
		if o.mapped, err = mapFile(f, int(o.size)); err != nil {
			f.Close()
			return nil, fmt.Errorf("map %s: %w", path, err)
		}
	}
	ledger.add(purpose, int64(len(o.mapped)))
	return o, nil
}

// Size is the file's size in bytes when it was opened.
func (o *File) Size() int64 { return o.size }

// View calls use with bytes [off, off+n) of the file. The slice must not be written to or kept, and use must
// not call methods of the File. The error is what use returns, ErrTruncated if the file has become shorter
// than the range, or ErrClosed.
func (o *File) View(off, n int64, use func(b []byte) error) error {
	if off < 0 || n < 0 || off > o.size-n {
		return fmt.Errorf("range of %d bytes at %d is outside a file of %d", n, off, o.size)
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.memory != nil {
		return use(o.memory[off : off+n : off+n])
	}
	if o.f == nil {
		return ErrClosed
	}
	info, err := o.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < off+n {
		return fmt.Errorf("%w: %d bytes instead of %d", ErrTruncated, info.Size(), o.size)
	}
	if o.mapped == nil {
		b := make([]byte, n)
		if _, err := o.f.ReadAt(b, off); err != nil {
			return fmt.Errorf("%w: %w", ErrTruncated, err)
		}
		return use(b)
	}
	return o.guarded(o.mapped[off:off+n:off+n], use)
}

// guarded calls use and turns a memory fault inside the mapping into ErrTruncated. Other panics
// go on.
func (o *File) guarded(b []byte, use func(b []byte) error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		v := recover()
		if v == nil {
			return
		}
		if fault, ok := v.(interface{ Addr() uintptr }); ok && o.holds(fault.Addr()) {
			err = fmt.Errorf("%w: fault at byte %d", ErrTruncated, fault.Addr()-o.base())
			return
		}
		panic(v)
	}()
	return use(b)
}

func (o *File) base() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(o.mapped))) }

func (o *File) holds(addr uintptr) bool {
	return addr >= o.base() && addr-o.base() < uintptr(len(o.mapped))
}

// Forget says that bytes [off, off+n) will not be needed for a while: their pages no longer count as this
// process's memory until they are read again. The contents stay in the system's file cache.
func (o *File) Forget(off, n int64) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	page := int64(os.Getpagesize())
	first := (max(off, 0) + page - 1) / page * page
	end := min(off+n, int64(len(o.mapped))) / page * page
	if first < end {
		forget(o.mapped[first:end])
	}
}

// Close waits for running views and unmaps the file. Later calls do nothing.
func (o *File) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.memory = nil
	if o.f == nil {
		return nil
	}
	var err error
	if o.mapped != nil {
		o.ledger.add(o.purpose, -int64(len(o.mapped)))
		err = unmap(o.mapped)
		o.mapped = nil
	}
	err = errors.Join(err, o.f.Close())
	o.f = nil
	return err
}
