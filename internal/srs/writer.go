package srs

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gocuzk/cuzk/internal/wire"
)

// Writer writes a parameter file from front to back, a few points at a time: each section in order
// begins with its count, followed by that many points. The first error stays.
type Writer struct {
	w       io.Writer
	next    int // section to begin
	missing int // points that the open section still lacks
	buf     []byte
	err     error
}

// NewWriter writes vk and returns a Writer for the sections. w is best buffered by the Writer's caller only if
// points come in small numbers: each call is one write.
func NewWriter(w io.Writer, vk *VerifyingKey) *Writer {
	o := &Writer{w: w}
	o.buf = vk.Append(o.buf)
	o.flush()
	return o
}

// order is the order of list sections in the file.
func order(i int) Section { return [...]Section{H, L, A, BG1, BG2}[i] }

const numSections = 5

// Begin starts a section of n points.
func (o *Writer) Begin(s Section, n int) error {
	switch {
	case o.err != nil:
	case o.missing > 0:
		o.err = fmt.Errorf("srs: write section %s: %d points of the section before are missing", s, o.missing)
	case o.next == numSections || order(o.next) != s:
		o.err = fmt.Errorf("srs: write section %s: out of order", s)
	case n < 0 || int64(n) > math.MaxUint32:
		o.err = fmt.Errorf("srs: write section %s: %w: %d", s, ErrCount, n)
	default:
		o.next++
		o.missing = n
		o.buf = binary.BigEndian.AppendUint32(o.buf[:0], uint32(n))
		o.flush()
	}
	return o.err
}

// Encoded writes points of the section that was begun, one encoding after another: wire.G1Size bytes each, in b_g2
// wire.G2Size.
func (o *Writer) Encoded(raw []byte) error {
	if o.err != nil {
		return o.err
	}
	if o.next == 0 {
		o.err = fmt.Errorf("srs: write %d bytes of points before a section", len(raw))
		return o.err
	}
	section, size := order(o.next-1), wire.G1Size
	if section == BG2 {
		size = wire.G2Size
	}
	n := len(raw) / size
	if len(raw)%size != 0 || n > o.missing {
		o.err = fmt.Errorf("srs: write section %s: %d bytes in points of %d, of which the section lacks %d",
			section, len(raw), size, o.missing)
		return o.err
	}
	for i := range n {
		if atInfinity(raw[i*size : (i+1)*size]) {
			o.err = fmt.Errorf("srs: write section %s: %w", section, wire.Infinity)
			return o.err
		}
	}
	o.missing -= n
	_, o.err = o.w.Write(raw)
	return o.err
}

// atInfinity tells whether an encoding is that of the point at infinity, or of coordinates that stand for it.
func atInfinity(point []byte) bool {
	const flag = 0x40
	return point[0]&flag != 0 || !slices.ContainsFunc(point, func(b byte) bool { return b != 0 })
}

// Finish returns the first error, also if sections or points are missing. It does not close the
// underlying writer.
func (o *Writer) Finish() error {
	if o.err == nil && (o.next < numSections || o.missing > 0) {
		o.err = fmt.Errorf("srs: write: %d sections and %d points are missing", numSections-o.next, o.missing)
	}
	return o.err
}

func (o *Writer) flush() {
	if o.err == nil {
		_, o.err = o.w.Write(o.buf)
	}
}
