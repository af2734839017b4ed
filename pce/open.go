package pce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/crypto/blake2b"
)

// Reasons within a FormatError.
var (
	// ErrVersion reports a file of another format version.
	ErrVersion = errors.New("unsupported version")
	// ErrCircuit reports the file of another circuit.
	ErrCircuit = errors.New("constraint system of another circuit")
	// ErrDigest reports a file whose contents do not match its digests.
	ErrDigest = errors.New("digest mismatch")
	// ErrTruncated reports a file shorter than it says.
	ErrTruncated = errors.New("file is too short")
	errIndex     = errors.New("index out of range")
	errTrailing  = errors.New("file is too long")
	errPadding   = errors.New("reserved bytes are not zero")
)

// maxFileSize bounds what Open reads; the largest Filecoin circuit has a file of some 25 MB.
const maxFileSize = 1 << 32

// Open loads a file made by WriteFile. If name is not empty, the circuit in the file must have it.
//
// The file is read once and kept in memory: it is small, and a copy cannot change or vanish under a
// running proof. All digests and every index are checked, so a System that Open returns is as safe to
// use as a recorded one. Faults are *FormatError, which is an ErrFormat; what the operating system says
// is passed on as it is.
func Open(path, name string) (*System, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("pce: open: %w", err)
	}
	if !info.Mode().IsRegular() { // opening a pipe could block for good
		return nil, &FormatError{File: path, Section: "header", Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pce: open: %w", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, fmt.Errorf("pce: open: %w", err)
	}
	if info.Size() > maxFileSize {
		return nil, &FormatError{File: path, Section: "header", Err: fmt.Errorf("%w: %d bytes", errTrailing, info.Size())}
	}
	data := make([]byte, info.Size())
	if n, err := io.ReadFull(f, data); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, &FormatError{File: path, Section: "header", Offset: int64(n), Err: ErrTruncated}
		}
		return nil, fmt.Errorf("pce: read %s: %w", path, err)
	}
	return decode(data, path, name)
}

// decode is Open for the contents of a file.
func decode(data []byte, path, name string) (*System, error) {
	d := &decoder{file: path, data: data}
	s, err := d.system()
	if err != nil {
		return nil, err
	}
	if name != "" && s.name != name {
		return nil, d.fault(secName, 0, fmt.Errorf("%w: %q, want %q", ErrCircuit, s.name, name))
	}
	return s, nil
}

type decoder struct {
	file string
	data []byte
	head fileHeader
}

// fault is an error at an offset within a section.
func (d *decoder) fault(section int, offset int, err error) error {
	return &FormatError{
		File: d.file, Section: sectionName(section),
		Offset: int64(d.head.Sections[section].Offset) + int64(offset), Err: err,
	}
}

func (d *decoder) headerFault(offset int, err error) error {
	return &FormatError{File: d.file, Section: "header", Offset: int64(offset), Err: err}
}

func (d *decoder) system() (*System, error) {
	if err := d.header(); err != nil {
		return nil, err
	}
	if err := d.digests(); err != nil {
		return nil, err
	}
	dict, err := d.dictionary()
	if err != nil {
		return nil, err
	}
	templates, err := d.templates(len(dict))
	if err != nil {
		return nil, err
	}
	s := newSystem(string(d.section(secName)), dict, templates)
	if err := s.checkExtent(); err != nil {
		return nil, d.fault(secTemplates, 0, err)
	}
	root := s.root()
	if h := &d.head; uint64(root.rows) != h.Rows || uint64(root.inputs) != h.Inputs ||
		uint64(root.bits) != h.Bits || uint64(root.dense) != h.Dense || s.layoutDigest() != h.Layout {
		return nil, d.headerFault(16, errors.New("counts or layout digest disagree with the templates"))
	}
	return s, nil
}

func (d *decoder) header() error {
	if len(d.data) < headerSize {
		return d.headerFault(len(d.data), ErrTruncated)
	}
	if !bytes.HasPrefix(d.data, []byte(fileMagic)) {
		return d.headerFault(0, fmt.Errorf("magic %q, want %q", d.data[:8], fileMagic))
	}
	n, err := binary.Decode(d.data, binary.LittleEndian, &d.head)
	if err != nil {
		return d.headerFault(0, err)
	}
	if d.head.Version != fileVersion {
		return d.headerFault(8, fmt.Errorf("%w %d, want %d", ErrVersion, d.head.Version, fileVersion))
	}
	if d.head.Zero != 0 || !allZero(d.data[n:headerSize]) {
		return d.headerFault(n, errPadding)
	}
	at := uint64(headerSize)
	for i, s := range d.head.Sections {
		if s.Offset != at {
			return d.headerFault(n-16*(sectionCount-i), fmt.Errorf("section %s: %w: at %d, want %d",
				sectionName(i), errIndex, s.Offset, at))
		}
		if s.Length > uint64(len(d.data)) || at+s.Length > uint64(len(d.data)) {
			return d.headerFault(n-16*(sectionCount-i), fmt.Errorf("section %s: %w: %d bytes at %d in a file of %d",
				sectionName(i), ErrTruncated, s.Length, at, len(d.data)))
		}
		end := at + s.Length
		at = align(end)
		if pad := d.data[end:min(at, uint64(len(d.data)))]; !allZero(pad) {
			return d.fault(i, int(s.Length), errPadding)
		}
	}
	switch want := at + (sectionCount+1)*digestSize; {
	case uint64(len(d.data)) < want:
		return &FormatError{File: d.file, Section: "trailer", Offset: int64(len(d.data)), Err: ErrTruncated}
	case uint64(len(d.data)) > want:
		return &FormatError{File: d.file, Section: "trailer", Offset: int64(want), Err: errTrailing}
	}
	return nil
}

// digests compares the whole first, since one pass suffices for a sound file, and looks for the
// damaged section only if it differs.
func (d *decoder) digests() error {
	body, want := d.data[:len(d.data)-digestSize], d.data[len(d.data)-digestSize:]
	if got := blake2b.Sum256(body); bytes.Equal(got[:], want) {
		return nil
	}
	trailer := len(d.data) - (sectionCount+1)*digestSize
	for i := range sectionCount {
		got := sectionDigest(d.data[:headerSize], i, d.section(i))
		if at := trailer + i*digestSize; !bytes.Equal(got[:], d.data[at:at+digestSize]) {
			return d.fault(i, 0, ErrDigest)
		}
	}
	return &FormatError{File: d.file, Section: "trailer", Offset: int64(trailer), Err: ErrDigest}
}

func (d *decoder) section(i int) []byte {
	s := d.head.Sections[i]
	return d.data[s.Offset : s.Offset+s.Length : s.Offset+s.Length]
}

func (d *decoder) dictionary() ([]fr.Element, error) {
	b := d.section(secDictionary)
	if len(b)%fr.Bytes != 0 || len(b) < 2*fr.Bytes {
		return nil, d.fault(secDictionary, len(b), ErrTruncated)
	}
	dict := make([]fr.Element, len(b)/fr.Bytes)
	for i := range dict {
		v, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(b[i*fr.Bytes:]))
		if err != nil {
			return nil, d.fault(secDictionary, i*fr.Bytes, errors.New("coefficient is not reduced"))
		}
		dict[i] = v
	}
	if minus := minusOne(); !dict[codeOne].IsOne() || !dict[codeMinusOne].Equal(&minus) {
		return nil, d.fault(secDictionary, 0, errors.New("the first coefficients are not 1 and -1"))
	}
	return dict, nil
}

// cursor takes successive parts of a section.
type cursor struct {
	d       *decoder
	section int
	at      int
}

func (c *cursor) take(n, size int) ([]byte, error) {
	b := c.d.section(c.section)
	if n > (len(b)-c.at)/size {
		return nil, c.d.fault(c.section, c.at, ErrTruncated)
	}
	part := b[c.at : c.at+n*size]
	c.at += n * size
	return part, nil
}

func (d *decoder) templates(coeffs int) ([]*template, error) {
	var cur [sectionCount]cursor
	for i := range cur {
		cur[i] = cursor{d: d, section: i}
	}
	size := binary.Size(templateRecord{})
	n := len(d.section(secTemplates)) / size
	if n == 0 {
		return nil, d.fault(secTemplates, 0, ErrTruncated)
	}
	templates := make([]*template, n)
	for i := range templates {
		at := cur[secTemplates].at
		b, err := cur[secTemplates].take(1, size)
		if err != nil {
			return nil, err
		}
		var r templateRecord
		if _, err := binary.Decode(b, binary.LittleEndian, &r); err != nil {
			return nil, d.fault(secTemplates, at, err)
		}
		if r.Zero != 0 {
			return nil, d.fault(secTemplates, at, errPadding)
		}
		if templates[i], err = readTemplate(&r, &cur); err != nil {
			return nil, err
		}
	}
	for i := range cur[secTemplates:] {
		if c := &cur[secTemplates+i]; c.at != len(d.section(c.section)) {
			return nil, d.fault(c.section, c.at, errTrailing)
		}
	}
	for i := range templates {
		if err := validate(templates, i, coeffs); err != nil {
			return nil, d.fault(secTemplates, i*size, err)
		}
	}
	return templates, nil
}

func readTemplate(r *templateRecord, cur *[sectionCount]cursor) (*template, error) {
	t := &template{slots: r.Slots, inputs: r.Inputs, bits: r.Bits, dense: r.Dense, rows: r.Rows}
	name, err := cur[secNames].take(int(r.Name), 1)
	if err != nil {
		return nil, err
	}
	t.name = string(name)
	u32 := func(section, n int) ([]uint32, error) {
		b, err := cur[section].take(n, 4)
		if err != nil {
			return nil, err
		}
		out := make([]uint32, n)
		for i := range out {
			out[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
		return out, nil
	}
	if t.ends, err = u32(secEnds, int(r.Ends)); err != nil {
		return nil, err
	}
	if t.binds, err = u32(secBinds, int(r.Binds)); err != nil {
		return nil, err
	}
	runs, err := u32(secRuns, int(r.Runs))
	if err != nil {
		return nil, err
	}
	t.runs = make([]classRun, len(runs))
	for i, v := range runs {
		t.runs[i] = classRun(v)
	}
	b, err := cur[secTerms].take(int(r.Terms), 8)
	if err != nil {
		return nil, err
	}
	t.terms = make([]Term, r.Terms)
	for i := range t.terms {
		t.terms[i] = Term{binary.LittleEndian.Uint32(b[8*i:]), binary.LittleEndian.Uint32(b[8*i+4:])}
	}
	const words = 8
	if b, err = cur[secCalls].take(int(r.Calls), 4*words); err != nil {
		return nil, err
	}
	t.calls = make([]call, r.Calls)
	for i := range t.calls {
		var w [words]uint32
		for k := range w {
			w[k] = binary.LittleEndian.Uint32(b[4*(words*i+k):])
		}
		if w[7] != 0 {
			c := &cur[secCalls]
			return nil, c.d.fault(secCalls, c.at-len(b)+4*words*i, errPadding)
		}
		t.calls[i] = call{template: w[0], ownRows: w[1], runs: w[2], inputs: w[3], bits: w[4], dense: w[5], binds: w[6]}
	}
	return t, nil
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// newDigest is the hash of files and layouts. Without a key it cannot fail.
func newDigest() hash.Hash {
	h, err := blake2b.New256(nil)
	if err != nil {
		panic("pce: " + err.Error())
	}
	return h
}
