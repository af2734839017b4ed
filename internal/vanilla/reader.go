package vanilla

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Reader reads bincode (version 1, its defaults: little-endian, fixed width). After the first fault
// all reads return zero values; [Reader.Finish] returns the fault.
//
// Names of fields are given in order to say where a fault is; bincode itself has none.
type Reader struct {
	data []byte
	at   int
	path []step
	err  *Error
}

// step is one part of the path to a field.
type step struct {
	name  string
	index int // of an element of a list, else −1
}

// NewReader reads data, which must not change meanwhile.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Finish returns the first fault as an *Error, data that is left over being one too, or nil.
func (r *Reader) Finish() error {
	if r.err == nil && r.at < len(r.data) {
		r.fail(r.at, fmt.Errorf("%w: %d bytes", ErrTrailing, len(r.data)-r.at))
	}
	if r.err == nil {
		return nil // and not an error that holds a nil pointer
	}
	return r.err
}

// fail records a fault of the current field, which begins at offset; the first one counts.
func (r *Reader) fail(offset int, err error) {
	if r.err == nil {
		r.err = &Error{Path: r.pathString(), Offset: int64(offset), Err: err}
	}
}

func (r *Reader) pathString() string {
	var b strings.Builder
	for _, s := range r.path {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
		if s.index >= 0 {
			fmt.Fprintf(&b, "[%d]", s.index)
		}
	}
	return b.String()
}

// In reads the fields of a part with read.
func (r *Reader) In(name string, read func()) { r.in(step{name, -1}, read) }

func (r *Reader) in(s step, read func()) {
	r.path = append(r.path, s)
	read()
	r.path = r.path[:len(r.path)-1]
}

// List reads a sequence that must have n elements, each with read.
func (r *Reader) List(name string, n int, read func(i int)) {
	r.In(name, func() {
		at := r.at
		if got := r.uint64(); r.err == nil && got != uint64(n) {
			r.fail(at, fmt.Errorf("%w: %d, want %d", ErrCount, got, n))
		}
	})
	for i := 0; i < n && r.err == nil; i++ {
		r.in(step{name, i}, func() { read(i) })
	}
}

// Elements reads a sequence of len(out) field elements.
func (r *Reader) Elements(name string, out []fr.Element) {
	r.List(name, len(out), func(i int) { out[i] = r.element() })
}

// Element reads a field element: 32 bytes, canonical.
func (r *Reader) Element(name string) (e fr.Element) {
	r.In(name, func() { e = r.element() })
	return e
}

func (r *Reader) element() fr.Element {
	at := r.at
	b := r.take(fr.Bytes)
	if b == nil {
		return fr.Element{}
	}
	e, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(b))
	if err != nil {
		r.fail(at, fmt.Errorf("%w: %x", ErrNonCanonical, b))
	}
	return e
}

// Uint64 reads a number.
func (r *Reader) Uint64(name string) (v uint64) {
	r.In(name, func() { v = r.uint64() })
	return v
}

func (r *Reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// below reads a number that must be less than n.
func (r *Reader) below(name string, n int) (v int) {
	r.In(name, func() {
		at := r.at
		got := r.uint64()
		if got >= uint64(n) {
			r.fail(at, fmt.Errorf("%w: %d, want less than %d", ErrRange, got, n))
			return
		}
		v = int(got)
	})
	return v
}

// variant reads the number of an enum's variant, which must be want.
func (r *Reader) variant(want uint32) {
	at := r.at
	b := r.take(4)
	if b == nil {
		return
	}
	if got := binary.LittleEndian.Uint32(b); got != want {
		r.fail(at, fmt.Errorf("%w: %d, want %d", ErrVariant, got, want))
	}
}

// take is the next n bytes, nil after a fault.
func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if len(r.data)-r.at < n {
		r.fail(r.at, io.ErrUnexpectedEOF)
		return nil
	}
	b := r.data[r.at : r.at+n]
	r.at += n
	return b
}
