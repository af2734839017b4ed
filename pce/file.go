package pce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/crypto/blake2b"
)

// A constraint system file is a header, sections, and a trailer, all little-endian, each section
// starting at a multiple of 64 bytes:
//
//	header     magic, version, counts, layout digest; offset and length of each section
//	name       the circuit's name
//	dictionary coefficients, 32 bytes each, canonical
//	templates  one record for each template
//	names      template names, one after the other
//	ends       u32; see template
//	terms      pairs of u32
//	runs       u32
//	calls      records
//	binds      u32
//	trailer    BLAKE2b-256 of each section with its header entry, then of all that precedes
//
// The arrays of all templates follow one another in their section, in the order of the records.
const (
	fileMagic   = "cuzkPCE\x00"
	fileVersion = 1

	alignment  = 64
	headerSize = 256
	digestSize = blake2b.Size256
)

// Sections in file order.
const (
	secName = iota
	secDictionary
	secTemplates
	secNames
	secEnds
	secTerms
	secRuns
	secCalls
	secBinds
	sectionCount
)

func sectionName(i int) string {
	return [sectionCount]string{"name", "dictionary", "templates", "names", "ends", "terms", "runs", "calls", "binds"}[i]
}

// fileHeader is the start of a file.
type fileHeader struct {
	Magic    [8]byte
	Version  uint32
	Zero     uint32
	Rows     uint64
	Inputs   uint64
	Bits     uint64
	Dense    uint64
	Layout   [32]byte
	Sections [sectionCount]struct{ Offset, Length uint64 }
}

// templateRecord is an entry of the template table.
type templateRecord struct {
	Name, Slots, Inputs, Bits, Dense, Rows uint32 // Name is a length
	Ends, Terms, Runs, Calls, Binds        uint32 // lengths of its parts of the arrays
	Zero                                   uint32
}

// callRecord is an entry of the calls array.
type callRecord struct {
	Template, OwnRows, Runs, Inputs, Bits, Dense, Binds uint32
	Zero                                                uint32
}

// WriteTo writes the system as a file. It implements io.WriterTo.
func (s *System) WriteTo(w io.Writer) (int64, error) {
	sections := s.sections()
	h := fileHeader{Version: fileVersion, Layout: s.layoutDigest()}
	copy(h.Magic[:], fileMagic)
	c := s.Counts()
	h.Rows, h.Inputs, h.Bits, h.Dense = uint64(c.Rows), uint64(c.Inputs), uint64(c.Bits), uint64(c.Dense)
	at := uint64(headerSize)
	for i, b := range sections {
		h.Sections[i].Offset, h.Sections[i].Length = at, uint64(len(b))
		at = align(at + uint64(len(b)))
	}
	head := make([]byte, headerSize)
	if _, err := binary.Encode(head, binary.LittleEndian, &h); err != nil {
		return 0, err
	}
	whole := newDigest()
	out := &countingWriter{w: io.MultiWriter(w, whole)}
	trailer := make([]byte, 0, (sectionCount+1)*digestSize)
	out.write(head)
	for i, b := range sections {
		out.write(b)
		out.write(make([]byte, align(uint64(out.n))-uint64(out.n)))
		d := sectionDigest(head, i, b)
		trailer = append(trailer, d[:]...)
	}
	out.write(trailer)
	out.w = w
	out.write(whole.Sum(nil))
	return out.n, out.err
}

// Digest is BLAKE2b-256 of the system's file, by which copies of one recording are told apart from
// others. For the rows' identity see [System.R1CSDigest].
func (s *System) Digest() [32]byte { return s.digest() }

func (s *System) makeDigest() [32]byte {
	h := newDigest()
	if _, err := s.WriteTo(h); err != nil {
		panic("pce: hashing failed: " + err.Error()) // a hash takes whatever it is given
	}
	return [32]byte(h.Sum(nil))
}

// WriteFile puts the system into a file, which appears under its name only when it is complete.
func (s *System) WriteFile(path string) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("pce: write %s: exists and is not a regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("pce: write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("pce: write %s: %w", path, err), f.Close(), os.Remove(f.Name()))
		}
	}()
	if _, err = s.WriteTo(f); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return f.Close()
}

func (s *System) sections() [sectionCount][]byte {
	var b [sectionCount]bytes.Buffer
	put := func(section int, v any) {
		if err := binary.Write(&b[section], binary.LittleEndian, v); err != nil {
			panic("pce: " + err.Error()) // only types of fixed size are given
		}
	}
	b[secName].WriteString(s.name)
	for _, v := range s.dict {
		var le [fr.Bytes]byte
		fr.LittleEndian.PutElement(&le, v)
		b[secDictionary].Write(le[:])
	}
	for _, t := range s.templates {
		put(secTemplates, templateRecord{
			Name: uint32(len(t.name)), Slots: t.slots, Inputs: t.inputs, Bits: t.bits, Dense: t.dense, Rows: t.rows,
			Ends: uint32(len(t.ends)), Terms: uint32(len(t.terms)), Runs: uint32(len(t.runs)),
			Calls: uint32(len(t.calls)), Binds: uint32(len(t.binds)),
		})
		b[secNames].WriteString(t.name)
		put(secEnds, t.ends)
		put(secTerms, t.terms)
		put(secRuns, t.runs)
		put(secBinds, t.binds)
		for _, c := range t.calls {
			put(secCalls, callRecord{
				Template: c.template, OwnRows: c.ownRows, Runs: c.runs,
				Inputs: c.inputs, Bits: c.bits, Dense: c.dense, Binds: c.binds,
			})
		}
	}
	var out [sectionCount][]byte
	for i := range b {
		out[i] = b[i].Bytes()
	}
	return out
}

func align(n uint64) uint64 { return (n + alignment - 1) / alignment * alignment }

// sectionDigest covers a section and where the header says that it is.
func sectionDigest(head []byte, i int, section []byte) [digestSize]byte {
	h := newDigest()
	at := binary.Size(fileHeader{}) - (sectionCount-i)*16
	h.Write(head[at : at+16])
	h.Write(section)
	return [digestSize]byte(h.Sum(nil))
}

// countingWriter keeps the first error.
type countingWriter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *countingWriter) write(b []byte) {
	if c.err != nil {
		return
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.err = err
}
