package porep

import (
	"errors"
	"fmt"
	"io"
)

const (
	scanBuffer = 64 << 10
	maxDepth   = 128 // nesting of values that are skipped
)

// scanner is a pull parser for JSON over a stream. It reads forward only and keeps one buffer, so its
// memory does not depend on the document. Every error it returns is a *DecodeError with an empty path.
type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int   // the unread bytes are buf[pos:end]
	base     int64 // offset of buf[0] in the document
	err      error // what r returned at the end of buf; sticky
}

func newScanner(r io.Reader) *scanner { return &scanner{r: r, buf: make([]byte, scanBuffer)} }

// fail is err at the current position.
func (s *scanner) fail(err error) error {
	return &DecodeError{Offset: s.base + int64(s.pos), Err: err}
}

// failf wraps a sentinel with a fact.
func (s *scanner) failf(sentinel error, format string, args ...any) error {
	return s.fail(fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...)))
}

// fill tries to have n unread bytes in the buffer, n ≤ scanBuffer. Afterwards there are fewer only at
// the end of the document or an error of the reader.
func (s *scanner) fill(n int) {
	if s.end-s.pos >= n || s.err != nil {
		return
	}
	s.base += int64(s.pos)
	s.end = copy(s.buf, s.buf[s.pos:s.end])
	s.pos = 0
	for stalls := 0; s.end < n && s.err == nil; {
		k, err := s.r.Read(s.buf[s.end:])
		s.end += k
		s.err = err
		if stalls++; k > 0 {
			stalls = 0
		}
		if stalls == 100 {
			s.err = io.ErrNoProgress
		}
	}
}

// byte reads the next byte, white space included.
func (s *scanner) byte() (byte, error) {
	c, err := s.peekByte()
	if err == nil {
		s.pos++
	}
	return c, err
}

// peekByte is the next byte without reading it.
func (s *scanner) peekByte() (byte, error) {
	if s.pos == s.end {
		if s.fill(1); s.pos == s.end {
			return 0, s.endError()
		}
	}
	return s.buf[s.pos], nil
}

// endError tells why there are no more bytes.
func (s *scanner) endError() error {
	if s.err == io.EOF {
		return s.fail(io.ErrUnexpectedEOF)
	}
	// An error of the document around this one already says where it is.
	var outer *DecodeError
	if errors.As(s.err, &outer) {
		return outer
	}
	return s.fail(s.err)
}

// peek skips white space and is the byte after it, unread.
func (s *scanner) peek() (byte, error) {
	for {
		c, err := s.peekByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c, nil
		}
	}
}

// expect reads the byte want after white space, or says that it should begin a value of the given kind.
func (s *scanner) expect(want byte, kind string) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != want {
		return s.wrongType(c, kind)
	}
	s.pos++
	return nil
}

// wrongType reports that a value of another kind begins with c.
func (s *scanner) wrongType(c byte, want string) error {
	got := "a number"
	switch {
	case c == '{':
		got = "an object"
	case c == '[':
		got = "an array"
	case c == '"':
		got = "a string"
	case c == 't' || c == 'f':
		got = "a boolean"
	case c == 'n':
		got = "null"
	case c != '-' && (c < '0' || c > '9'):
		return s.failf(ErrSyntax, "unexpected %q, want %s", c, want)
	}
	return s.failf(ErrType, "%s, want %s", got, want)
}

// finish makes sure that only white space follows.
func (s *scanner) finish() error {
	c, err := s.peek()
	if err == nil {
		return s.failf(ErrTrailing, "%q", c)
	}
	if s.err == io.EOF {
		return nil
	}
	return err
}

// more reads the separator between the elements of an array or object that ends with closing, and
// tells whether another element follows. first says that none has been read yet.
func (s *scanner) more(closing byte, first bool) (bool, error) {
	c, err := s.peek()
	switch {
	case err != nil:
		return false, err
	case c == closing:
		s.pos++
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.failf(ErrSyntax, "unexpected %q, want ',' or %q", c, closing)
	}
	s.pos++
	if c, err = s.peek(); err == nil && c == closing {
		err = s.failf(ErrSyntax, "%q after a comma", c)
	}
	return true, err
}

// elements reads an array and calls read at the beginning of each element. The path of an error of
// read gets the element's index.
func (s *scanner) elements(read func(i int) error) (n int, err error) {
	if err := s.expect('[', "an array"); err != nil {
		return 0, err
	}
	for {
		ok, err := s.more(']', n == 0)
		if err != nil || !ok {
			return n, err
		}
		if err := read(n); err != nil {
			return n, atIndex(n, err)
		}
		n++
	}
}

// array reads an array of exactly want elements.
func (s *scanner) array(want int, read func(i int) error) error {
	n, err := s.elements(func(i int) error {
		if i == want {
			return s.failf(ErrCount, "more than %d", want)
		}
		return read(i)
	})
	if err == nil && n < want {
		err = s.failf(ErrCount, "%d, want %d", n, want)
	}
	return err
}

// object reads an object and calls read at the value of each field of names, in the order of the
// document. Other fields are skipped. A field that comes twice, or is missing, is an error whose path
// names it, as are the errors of read.
func (s *scanner) object(names []string, read func(field int) error) error {
	seen, err := s.fields(names, read)
	if err != nil {
		return err
	}
	for i, name := range names {
		if seen>>i&1 == 0 {
			return inField(name, s.fail(ErrMissing))
		}
	}
	return nil
}

// fields is object without the check for missing fields: bit i of seen tells that names[i] was there.
func (s *scanner) fields(names []string, read func(field int) error) (seen uint, err error) {
	err = s.members(func(key []byte) error {
		for i, name := range names {
			if string(key) != name {
				continue
			}
			if seen>>i&1 != 0 {
				return inField(name, s.fail(ErrDuplicate))
			}
			seen |= 1 << i
			if err := s.colon(); err != nil {
				return inField(name, err)
			}
			return inField(name, read(i))
		}
		if err := s.colon(); err != nil {
			return inField(string(key), err)
		}
		return inField(string(key), s.skip(0))
	})
	return seen, err
}

// members reads an object and calls read after each key, before the colon. key is only valid until
// the next read; keys too long to be a field's are cut.
func (s *scanner) members(read func(key []byte) error) error {
	if err := s.expect('{', "an object"); err != nil {
		return err
	}
	var room [maxKey]byte
	for first := true; ; first = false {
		ok, err := s.more('}', first)
		if err != nil || !ok {
			return err
		}
		key, err := s.text(room[:0])
		if err != nil {
			return err
		}
		if err := read(key); err != nil {
			return err
		}
	}
}

// colon reads the colon between a key and its value.
func (s *scanner) colon() error {
	c, err := s.peek()
	if err == nil && c != ':' {
		err = s.failf(ErrSyntax, "unexpected %q, want ':'", c)
	}
	if err == nil {
		s.pos++
	}
	return err
}

// inField puts a field in front of the path of a DecodeError.
func inField(name string, err error) error { return inPath(name, err) }

// atIndex puts an array index in front of the path of a DecodeError.
func atIndex(i int, err error) error { return inPath(fmt.Sprintf("[%d]", i), err) }

func inPath(segment string, err error) error {
	var d *DecodeError
	if !errors.As(err, &d) {
		return err
	}
	if d.Path != "" && d.Path[0] != '[' {
		segment += "."
	}
	d.Path = segment + d.Path
	return err
}
