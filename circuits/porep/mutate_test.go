package porep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// node is a value of a compact JSON text with its path as DecodeError writes it.
type node struct {
	path       string
	start, end int
	keyStart   int    // of "name": in front of a member, else start
	parts      []node // elements or members
}

// parse lists the value at text[at:]. The text is well-formed and has no white space or escapes.
func parse(text []byte, at int, path string) node {
	n := node{path: path, start: at, keyStart: at}
	switch c := text[at]; c {
	case '{', '[':
		at++
		for text[at] != c+2 { // '}' and ']' follow their partners by two
			if text[at] == ',' {
				at++
			}
			keyStart, sub := at, fmt.Sprintf("%s[%d]", path, len(n.parts))
			if c == '{' {
				end := at + 1 + bytes.IndexByte(text[at+1:], '"')
				sub = strings.TrimPrefix(path+"."+string(text[at+1:end]), ".")
				at = end + 2
			}
			part := parse(text, at, sub)
			part.keyStart = keyStart
			n.parts = append(n.parts, part)
			at = part.end
		}
		n.end = at + 1
	case '"':
		n.end = at + 2 + bytes.IndexByte(text[at+1:], '"')
	default:
		n.end = at + bytes.IndexAny(text[at:], ",]}")
	}
	return n
}

// isBytes tells whether n is an array of numbers.
func (n node) isBytes(text []byte) bool {
	return text[n.start] == '[' && len(n.parts) == 32 && n.parts[0].parts == nil && text[n.parts[0].start] <= '9'
}

// walk calls visit for n and everything in it down to arrays of bytes.
func (n node) walk(text []byte, visit func(node)) {
	visit(n)
	if n.isBytes(text) {
		return
	}
	for _, p := range n.parts {
		p.walk(text, visit)
	}
}

// splice is text with [start, end) replaced.
func splice(text []byte, start, end int, by string) []byte {
	out := append([]byte(nil), text[:start]...)
	return append(append(out, by...), text[end:]...)
}

// verdict decodes and checks.
func verdict(text []byte, params *Params) error {
	c, err := DecodeC1(bytes.NewReader(text), &DecodeOptions{Params: params})
	if err != nil {
		return err
	}
	return c.Check(context.Background(), 1)
}

// names tells whether err points at the field with this path, or at something that contains it.
func names(err error, path string) bool {
	var d *DecodeError
	if errors.As(err, &d) {
		return d.Path == path || strings.HasPrefix(path, d.Path+".") || strings.HasPrefix(path, d.Path+"[")
	}
	var c *CheckError
	if !errors.As(err, &c) {
		return false
	}
	if c.Challenge < 0 {
		return c.Field == path
	}
	proof := fmt.Sprintf("[%d][%d].", c.Partition, c.Challenge)
	_, rest, ok := strings.Cut(path, proof)
	return ok && strings.HasPrefix(rest+".", strings.TrimSuffix(c.Field, ".path"))
}

// ignored are the values that neither the circuit nor a check uses, as DecodeC1 documents: parents'
// labels in labeling proofs, which their columns have too; the ticket, which only Statement needs; a
// marker without content.
var ignored = regexp.MustCompile(`labeling_proofs\[\d+\]\.parents\[\d+\]$|encoding_proof\.parents\[\d+\]$|^ticket$|\._h$`)

// elsewhere are values of the statement: a change is noticed at the first proof that disagrees.
var elsewhere = map[string]struct {
	field string
	err   error
}{
	"registered_proof": {"replica_column_proofs.drg_parents[0].column.index", ErrParent},
	"replica_id":       {"labeling_proofs[0].node", ErrChallenge},
	"seed":             {"labeling_proofs[0].node", ErrChallenge},
	"comm_d":           {"comm_d_proofs.data.Single.root", ErrRoot},
}

// change is the smallest change of the value n, still of the right form: another low byte, another
// number, another registered proof.
func change(t *testing.T, text []byte, n node) []byte {
	switch {
	case n.isBytes(text):
		n = n.parts[0]
		v, err := strconv.Atoi(string(text[n.start:n.end]))
		require.NoError(t, err)
		return splice(text, n.start, n.end, strconv.Itoa(v^1))
	case text[n.start] >= '0' && text[n.start] <= '9':
		v, err := strconv.Atoi(string(text[n.start:n.end]))
		require.NoError(t, err)
		return splice(text, n.start, n.end, strconv.Itoa(v^1))
	case n.path == "registered_proof":
		return splice(text, n.start, n.end, `"StackedDrg2KiBV1"`)
	}
	return nil
}

// mutations of a vector: the text, and how many to leave out between two that are tried.
func mutated(t *testing.T, name string) (text []byte, params *Params, step int) {
	_, text, s := decodeVector(t, name)
	step = 1
	if testing.Short() {
		step = 211
	}
	return text, s.Params, step
}

// Every value of a phase-1 output, changed one at a time, is noticed, and the error names it.
func TestMutatedValues(t *testing.T) {
	text, params, step := mutated(t, "porep")
	count := 0
	parse(text, 0, "").walk(text, func(n node) {
		bad := change(t, text, n)
		if count++; bad == nil || count%step != 0 && len(n.path) > len("registered_proof") {
			return
		}
		err := verdict(bad, params)
		if ignored.MatchString(n.path) {
			require.NoError(t, err, n.path)
			return
		}
		require.Error(t, err, n.path)
		if want, ok := elsewhere[n.path]; ok {
			var c *CheckError
			require.ErrorAs(t, err, &c)
			require.Equal(t, want.field, c.Field)
			require.ErrorIs(t, err, want.err)
			return
		}
		require.True(t, names(err, n.path), "%s: %v", n.path, err)
	})
	require.Greater(t, count, 1000)
}

// The same with the deeper trees and the eleven layers of the production sizes, some of the values.
func TestMutatedValuesProduction(t *testing.T) {
	for _, name := range []string{"porep-16KiB-11layers", "porep-32KiB-11layers"} {
		text, params, step := mutated(t, name)
		step += 60
		count := 0
		parse(text, 0, "").walk(text, func(n node) {
			if count++; count%step != 0 || len(n.path) < 20 || ignored.MatchString(n.path) {
				return
			}
			if bad := change(t, text, n); bad != nil {
				err := verdict(bad, params)
				require.True(t, names(err, n.path), "%s: %v", n.path, err)
			}
		})
	}
}

// The structure of a phase-1 output: every member left out, doubled or of another type, every array
// too short or too long, every number out of range.
func TestMutatedStructure(t *testing.T) {
	text, params, step := mutated(t, "porep")
	count := 0
	try := func(path, what string, bad []byte, want error) {
		t.Helper()
		if count++; count%step != 0 {
			return
		}
		err := verdict(bad, params)
		require.ErrorIs(t, err, want, "%s %s", path, what)
		require.True(t, names(err, path), "%s %s: %v", path, what, err)
	}
	parse(text, 0, "").walk(text, func(n node) {
		if strings.HasSuffix(n.path, "._h") || n.path == "" {
			return // ignored, whatever it is
		}
		structure(text, n, try)
		if text[n.start] >= '0' && text[n.start] <= '9' {
			try(n.path, "negative", splice(text, n.start, n.end, "-1"), ErrRange)
			try(n.path, "too large", splice(text, n.start, n.end, "18446744073709551616"), ErrRange)
			try(n.path, "a fraction", splice(text, n.start, n.end, "1.5"), ErrType)
			try(n.path, "an exponent", splice(text, n.start, n.end, "1e0"), ErrType)
			try(n.path, "with a leading zero", splice(text, n.start, n.end, "01"), ErrSyntax)
		}
		if n.isBytes(text) {
			b := n.parts[5]
			try(n.path+"[5]", "256", splice(text, b.start, b.end, "256"), ErrRange)
			try(n.path+"[5]", "a string", splice(text, b.start, b.end, `"1"`), ErrType)
			if fieldElement(n.path) {
				try(n.path, "not canonical", splice(text, n.start, n.end, strings.ReplaceAll(zeros(32), "0", "255")), ErrNonCanonical)
			}
		}
	})
	require.Greater(t, count, 5000)
}

// fieldElement tells whether the 32 bytes at a path must be canonical.
func fieldElement(path string) bool {
	return path != "seed" && path != "ticket" && !strings.Contains(path, ".parents[")
}

// structure tries what makes n another kind of thing.
func structure(text []byte, n node, try func(path, what string, bad []byte, want error)) {
	try(n.path, "null", splice(text, n.start, n.end, "null"), ErrType)
	if text[n.start] != '{' {
		try(n.path, "an object", splice(text, n.start, n.end, "{}"), ErrType)
	} else {
		try(n.path, "an array", splice(text, n.start, n.end, "[]"), ErrType)
	}
	if len(n.parts) == 0 {
		return
	}
	last := n.parts[len(n.parts)-1]
	object := text[n.start] == '{'
	if !object {
		short := splice(text, last.keyStart, last.end, "")
		if len(n.parts) > 1 {
			short = splice(text, n.parts[len(n.parts)-2].end, last.end, "")
		}
		try(n.path, "too short", short, ErrCount)
		try(fmt.Sprintf("%s[%d]", n.path, len(n.parts)), "too many", splice(text, last.end, last.end, ","+string(text[last.start:last.end])), ErrCount)
		return
	}
	for _, p := range n.parts {
		if strings.HasSuffix(p.path, "._h") {
			continue
		}
		if n.path == "vanilla_proofs" {
			continue // TestC1Documents has its variants
		}
		missing := ErrMissing
		if strings.HasSuffix(n.path, ".data") {
			missing = ErrVariant
		}
		renamed := splice(text, p.keyStart+1, p.keyStart+1, "x")
		try(p.path, "missing", renamed, missing)
		try(p.path, "twice", splice(text, p.end, p.end, ","+string(text[p.keyStart:p.end])), ErrDuplicate)
	}
}
