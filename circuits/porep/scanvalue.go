package porep

import (
	"errors"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// maxKey is the longest text that is kept; all names of fields and variants are shorter.
const maxKey = 64

// text reads a string, without its escapes, and appends at most maxKey bytes of it to dst. What is
// longer, or has characters outside ASCII in escapes, equals no name of a field.
func (s *scanner) text(dst []byte) ([]byte, error) {
	if err := s.expect('"', "a string"); err != nil {
		return nil, err
	}
	for {
		c, end, err := s.char()
		if err != nil || end {
			return dst, err
		}
		if len(dst) < maxKey {
			dst = append(dst, c)
		}
	}
}

// char reads one byte of a string, after its opening quote, or its end. An escape is one byte too: the
// character, or 0xff, which no text has, in place of one outside ASCII.
func (s *scanner) char() (c byte, end bool, err error) {
	c, err = s.byte()
	switch {
	case err != nil:
		return 0, false, err
	case c == '"':
		return 0, true, nil
	case c == '\\':
		c, err = s.escape()
		return c, false, err
	case c < 0x20:
		s.pos--
		return 0, false, s.failf(ErrSyntax, "control character %q in a string", c)
	}
	return c, false, nil
}

// escape reads what follows a backslash.
func (s *scanner) escape() (byte, error) {
	c, err := s.byte()
	if err != nil {
		return 0, err
	}
	switch c {
	case '"', '\\', '/':
		return c, nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return s.unicode()
	}
	return 0, s.failf(ErrSyntax, `unknown escape \%c`, c)
}

// unicode reads the four digits of a \u escape.
func (s *scanner) unicode() (byte, error) {
	var v uint
	for range 4 {
		c, err := s.byte()
		if err != nil {
			return 0, err
		}
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, s.failf(ErrSyntax, "%q in a \\u escape", c)
		}
		v = v<<4 | uint(c)
	}
	if v < 0x80 {
		return byte(v), nil
	}
	return 0xff, nil
}

// stringReader gives the bytes of a string that is being scanned, after its opening quote, and reads
// the closing one.
type stringReader struct{ s *scanner }

// Read implements io.Reader. Its errors are *DecodeError of the scanner, and io.EOF at the quote.
func (r stringReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := plain(p[n:], r.s.buf[r.s.pos:r.s.end])
		r.s.pos += k
		if n += k; k > 0 {
			continue
		}
		c, end, err := r.s.char()
		switch {
		case err != nil:
			return n, err
		case end:
			return n, io.EOF
		}
		p[n] = c
		n++
	}
	return n, nil
}

// plain copies the characters at the beginning of src that mean themselves and is their number.
func plain(dst, src []byte) int {
	n := min(len(dst), len(src))
	for i, c := range src[:n] {
		if c == '"' || c == '\\' || c < 0x20 {
			return i
		}
		dst[i] = c
	}
	return n
}

// uint reads a whole number from 0 to limit.
func (s *scanner) uint(limit uint64) (uint64, error) {
	c, err := s.peek()
	switch {
	case err != nil:
		return 0, err
	case c == '-':
		return 0, s.failf(ErrRange, "negative, want 0 to %d", limit)
	case c < '0' || c > '9':
		return 0, s.wrongType(c, "a number")
	}
	var v uint64
	for digits := 0; ; digits++ {
		c, err := s.peekByte()
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		if err != nil || c < '0' || c > '9' {
			return v, s.afterNumber(c)
		}
		if digits == 1 && v == 0 {
			return 0, s.failf(ErrSyntax, "number with a leading zero")
		}
		d := uint64(c - '0')
		if d > limit || v > (limit-d)/10 {
			return 0, s.failf(ErrRange, "more than %d", limit)
		}
		v = v*10 + d
		s.pos++
	}
}

// afterNumber refuses a fraction or exponent.
func (s *scanner) afterNumber(c byte) error {
	if c == '.' || c == 'e' || c == 'E' {
		return s.failf(ErrType, "a fraction or exponent, want a whole number")
	}
	return nil
}

// bytes32 reads an array of 32 numbers from 0 to 255.
func (s *scanner) bytes32(dst *[32]byte) error {
	const longest = 1 + 32*len("255,")
	s.fill(longest)
	if n := compact32(s.buf[s.pos:s.end], dst); n > 0 {
		s.pos += n
		return nil
	}
	return s.array(len(dst), func(i int) error {
		v, err := s.uint(255)
		dst[i] = byte(v)
		return err
	})
}

// compact32 reads such an array without white space from the beginning of b and is the number of bytes
// read. It is 0 for anything unusual, right or wrong, of which the general path takes care: nearly
// all of a phase-1 output passes here.
func compact32(b []byte, dst *[32]byte) int {
	if len(b) == 0 || b[0] != '[' {
		return 0
	}
	at := 1
	for i := range dst {
		v, digits := uint(0), 0
		for ; at+digits < len(b) && digits < 4; digits++ {
			d := uint(b[at+digits]) - '0'
			if d > 9 {
				break
			}
			v = v*10 + d
		}
		leadingZero := digits > 1 && b[at] == '0'
		at += digits
		if digits == 0 || leadingZero || v > 255 || at >= len(b) {
			return 0
		}
		want := byte(',')
		if i == len(dst)-1 {
			want = ']'
		}
		if b[at] != want {
			return 0
		}
		at++
		dst[i] = byte(v)
	}
	return at
}

// element reads a canonical field element: 32 numbers, least significant byte first.
func (s *scanner) element(dst *fr.Element) error {
	var b [fr.Bytes]byte
	if err := s.bytes32(&b); err != nil {
		return err
	}
	e, err := fr.LittleEndian.Element(&b)
	if err != nil {
		return s.failf(ErrNonCanonical, "%x", b)
	}
	*dst = e
	return nil
}

// skip reads a value of any kind, nested at the given depth.
func (s *scanner) skip(depth int) error {
	if depth == maxDepth {
		return s.failf(ErrDepth, "more than %d levels", maxDepth)
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return s.members(func([]byte) error {
			if err := s.colon(); err != nil {
				return err
			}
			return s.skip(depth + 1)
		})
	case '[':
		_, err := s.elements(func(int) error { return s.skip(depth + 1) })
		return err
	case '"':
		var room [maxKey]byte
		_, err := s.text(room[:0])
		return err
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number(c)
}

// literal reads the word.
func (s *scanner) literal(word string) error {
	for i := range word {
		c, err := s.byte()
		if err != nil {
			return err
		}
		if c != word[i] {
			return s.failf(ErrSyntax, "unexpected %q, want %s", c, word)
		}
	}
	return nil
}

// number reads a number of any form that begins with c.
func (s *scanner) number(c byte) error {
	if c == '-' {
		s.pos++
	}
	zero, err := s.digits()
	if err != nil {
		return err
	}
	if zero > 0 {
		return s.failf(ErrSyntax, "number with a leading zero")
	}
	if s.at('.') {
		s.pos++
		if _, err := s.digits(); err != nil {
			return err
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		_, err = s.digits()
	}
	return err
}

// at tells whether the next byte is c.
func (s *scanner) at(c byte) bool {
	next, err := s.peekByte()
	return err == nil && next == c
}

// digits reads one or more digits. needless is how many follow a leading zero.
func (s *scanner) digits() (needless int, err error) {
	c, err := s.peekByte()
	if err != nil {
		return 0, err
	}
	if c < '0' || c > '9' {
		return 0, s.failf(ErrSyntax, "unexpected %q, want a value", c)
	}
	n := 0
	for {
		next, err := s.peekByte()
		if err != nil || next < '0' || next > '9' {
			break // the end of the document is found by the next read
		}
		s.pos++
		n++
	}
	if c == '0' {
		needless = n - 1
	}
	return needless, nil
}
