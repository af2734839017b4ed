package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	// maxInputFile bounds files with vanilla proofs: those of three full partitions of WindowPoSt-32GiB.
	maxInputFile = 1 << 28
	// maxJSONValue bounds a string or number in them. The longest vanilla proof has 0.8 MB in base64.
	maxJSONValue = 1 << 22
	// maxPartitions bounds the vanilla proofs of an update.
	maxPartitions = 256
)

// use says what a file is read for.
type use int

const (
	// toProve takes all that there is, so that an unknown field is a mistake.
	toProve use = iota
	// toVerify takes the statement alone; unknown fields are left out, so that the project's test vectors can be read.
	toVerify
)

// jsonError is a fault in an input file.
type jsonError struct {
	path string // for instance "sectors[3].comm_r"; empty for the document as a whole
	err  error
}

func (e *jsonError) Error() string {
	if e.path == "" {
		return e.err.Error()
	}
	return e.path + ": " + e.err.Error()
}

func (e *jsonError) Unwrap() error { return e.err }

// jsonReader reads a document whose fields are known. Unlike encoding/json by itself it refuses fields that occur twice or
// are spelt with other letters, null, and data after the end; its errors are *jsonError.
type jsonReader struct {
	d    *json.Decoder
	from io.Reader
	got  int64 // bytes read
	use  use
	path string
}

// readJSON reads the document in a regular file of at most limit bytes.
func readJSON(ctx context.Context, path string, limit int64, u use, document func(r *jsonReader) error) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > limit {
		return fmt.Errorf("%s: longer than %d bytes", path, limit)
	}
	if err := decodeJSON(contextReader{ctx, io.LimitReader(f, limit)}, u, document); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// decodeJSON reads a document and the end after it.
func decodeJSON(from io.Reader, u use, document func(r *jsonReader) error) error {
	r := &jsonReader{from: from, use: u}
	r.d = json.NewDecoder(r)
	r.d.UseNumber()
	if err := document(r); err != nil {
		return err
	}
	return r.end()
}

// Read implements io.Reader for the decoder, which asks for more as long as a value has not ended.
func (r *jsonReader) Read(p []byte) (int, error) {
	if r.got-r.d.InputOffset() > maxJSONValue {
		return 0, fmt.Errorf("a value longer than %d bytes", maxJSONValue)
	}
	n, err := r.from.Read(p)
	r.got += int64(n)
	return n, err
}

// fail is an error at the place that is being read.
func (r *jsonReader) fail(format string, args ...any) error {
	return &jsonError{r.path, fmt.Errorf(format, args...)}
}

// in reads a part of the document.
func (r *jsonReader) in(step string, read func() error) error {
	outer := r.path
	if r.path += step; outer == "" {
		r.path = strings.TrimPrefix(step, ".")
	}
	defer func() { r.path = outer }()
	return read()
}

// token is the next token.
func (r *jsonReader) token() (json.Token, error) {
	t, err := r.d.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	case errors.As(err, &syntax):
		err = fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	}
	return nil, r.fail("%w", err)
}

// end refuses data after the document.
func (r *jsonReader) end() error {
	at := r.d.InputOffset()
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return r.fail("data after the end of the document at byte %d", at)
	}
	return nil
}

// kindOf is what a token begins, for errors.
func kindOf(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return "an object"
		}
		return "an array"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case nil:
		return "null"
	}
	return fmt.Sprint(t) // true or false
}

func (r *jsonReader) open(delim json.Delim) error {
	t, err := r.token()
	if err == nil && t != delim {
		err = r.fail("%s, want %s", kindOf(t), kindOf(delim))
	}
	return err
}

// jsonField is a field of an object.
type jsonField struct {
	name     string
	optional bool
	read     func() error
}

// object reads an object with some of the fields and all that are not optional.
func (r *jsonReader) object(fields ...jsonField) error {
	if err := r.open('{'); err != nil {
		return err
	}
	seen := make([]bool, len(fields))
	for r.d.More() {
		if err := r.member(fields, seen); err != nil {
			return err
		}
	}
	if _, err := r.token(); err != nil {
		return err
	}
	for i, f := range fields {
		if !seen[i] && !f.optional {
			return r.in("."+f.name, func() error { return r.fail("missing") })
		}
	}
	return nil
}

// member reads one field of an object.
func (r *jsonReader) member(fields []jsonField, seen []bool) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	for i, f := range fields {
		if f.name != t {
			continue
		}
		return r.in("."+f.name, func() error {
			if seen[i] {
				return r.fail("occurs twice")
			}
			seen[i] = true
			return f.read()
		})
	}
	if r.use == toProve {
		return r.fail("unknown field %.60q", t)
	}
	var skipped json.RawMessage
	if err := r.d.Decode(&skipped); err != nil {
		return r.fail("field %.60q: %w", t, err)
	}
	return nil
}

// array reads an array of at most limit elements.
func (r *jsonReader) array(limit int, element func(i int) error) error {
	if err := r.open('['); err != nil {
		return err
	}
	for i := 0; r.d.More(); i++ {
		if i == limit {
			return r.fail("more than %d elements", limit)
		}
		if err := r.in("["+strconv.Itoa(i)+"]", func() error { return element(i) }); err != nil {
			return err
		}
	}
	_, err := r.token()
	return err
}

// into keeps what read returns.
func into[T any](to *T, read func() (T, error)) func() error {
	return func() (err error) {
		*to, err = read()
		return err
	}
}

func (r *jsonReader) text() (string, error) {
	t, err := r.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", r.fail("%s, want a string", kindOf(t))
	}
	return s, nil
}

// number reads a whole number, written without point and exponent.
func (r *jsonReader) number(most uint64) (uint64, error) {
	t, err := r.token()
	if err != nil {
		return 0, err
	}
	text, ok := t.(json.Number)
	if !ok {
		return 0, r.fail("%s, want a number", kindOf(t))
	}
	n, err := strconv.ParseUint(text.String(), 10, 64)
	if err != nil || n > most {
		return 0, r.fail("%.40s, want a whole number from 0 to %d", text, most)
	}
	return n, nil
}

func (r *jsonReader) uint64() (uint64, error) { return r.number(math.MaxUint64) }

func (r *jsonReader) count() (int, error) {
	n, err := r.number(math.MaxInt32)
	return int(n), err
}

// bytes32 reads 32 bytes as hex.
func (r *jsonReader) bytes32() (b [32]byte, err error) {
	text, err := r.text()
	if err != nil {
		return b, err
	}
	raw, err := hex.DecodeString(text)
	if err != nil {
		return b, r.fail("%w", err)
	}
	if len(raw) != len(b) {
		return b, r.fail("%d bytes, want %d", len(raw), len(b))
	}
	return [32]byte(raw), nil
}

// base64 reads a byte string.
func (r *jsonReader) base64() ([]byte, error) {
	text, err := r.text()
	if err != nil {
		return nil, err
	}
	if i := strings.IndexAny(text, "\r\n"); i >= 0 { // which the decoder would leave out
		return nil, r.fail("%w", base64.CorruptInputError(i))
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, r.fail("%w", err)
	}
	return raw, nil
}
