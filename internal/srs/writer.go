package srs

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

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

// G1 writes points of the section that was begun.
func (o *Writer) G1(points []bls12381.G1Affine) error {
	return appendPoints(o, points, wire.AppendG1, false)
}

// G2 writes points of section b_g2.
func (o *Writer) G2(points []bls12381.G2Affine) error {
	return appendPoints(o, points, wire.AppendG2, true)
}

func appendPoints[P interface{ comparable }](o *Writer, points []P, encode func([]byte, *P) []byte, g2 bool) error {
	if o.err != nil {
		return o.err
	}
	inG2 := o.next > 0 && order(o.next-1) == BG2
	if o.next == 0 || inG2 != g2 || len(points) > o.missing {
		o.err = fmt.Errorf("srs: write %d points: the section lacks %d, or has points of the other group", len(points), o.missing)
		return o.err
	}
	var infinity P
	o.buf = o.buf[:0]
	for i := range points {
		if points[i] == infinity {
			o.err = fmt.Errorf("srs: write section %s: %w", order(o.next-1), wire.Infinity)
			return o.err
		}
		o.buf = encode(o.buf, &points[i])
	}
	o.missing -= len(points)
	o.flush()
	return o.err
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
