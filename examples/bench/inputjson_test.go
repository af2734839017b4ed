package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edit is a change of the first match of a pattern in a document; no pattern: the whole document.
type edit struct{ pattern, to string }

func (e edit) apply(t *testing.T, text string) string {
	t.Helper()
	if e.pattern == "" {
		return e.to
	}
	at := regexp.MustCompile(e.pattern).FindStringSubmatchIndex(text)
	require.NotNil(t, at, e.pattern)
	return text[:at[0]] + e.to + text[at[1]:]
}

// readInput reads an input file of a kind to prove it.
func readInput(t *testing.T, kind, path string) error {
	t.Helper()
	if kind == kindUpdate {
		_, err := readUpdate(t.Context(), path, kind)
		return err
	}
	_, err := readPoSt(t.Context(), path, kind)
	return err
}

// Every fault of an input file is an error that names the field.
func TestInputFilesAreStrict(t *testing.T) {
	files := map[string]string{
		kindWindowPoSt: synthFile(t, "--type", kindWindowPoSt, "--size", "2KiB", "--sectors", "3"),
		kindUpdate:     synthFile(t, "--type", kindUpdate, "--size", "2KiB"),
	}
	const window, snap = kindWindowPoSt, kindUpdate
	hex32 := strings.Repeat("00", 32)
	for name, c := range map[string]struct {
		kind string
		edit
		fault string
	}{
		"twice": {window, edit{`^{`, `{"randomness":"` + hex32 + `",`}, `randomness: occurs twice`},
		"twice, the same": {window, edit{`{"sector_id":7`, `{"sector_id":7,"sector_id":7`},
			`sectors[0].sector_id: occurs twice`},
		"list twice": {window, edit{`^{`, `{"sectors":[],`}, `sectors: occurs twice`},
		"unknown":    {window, edit{`^{`, `{"comment":"x",`}, `unknown field "comment"`},
		"unknown in sector": {window, edit{`{"sector_id":10`, `{"cost":1,"sector_id":10`},
			`sectors[1]: unknown field "cost"`},
		"long name": {window, edit{`^{`, `{"` + strings.Repeat("x", 1000) + `":1,`},
			`unknown field "` + strings.Repeat("x", 60) + `"`},
		"other letters": {window, edit{`"randomness"`, `"Randomness"`}, `unknown field "Randomness"`},
		"null": {window, edit{`"randomness":"[^"]*"`, `"randomness":null`},
			`randomness: null, want a string`},
		"number for text": {window, edit{`"randomness":"[^"]*"`, `"randomness":12`},
			`randomness: a number, want a string`},
		"true for text": {window, edit{`"randomness":"[^"]*"`, `"randomness":true`},
			`randomness: true, want a string`},
		"31 bytes":    {window, edit{`"comm_r":"..`, `"comm_r":"`}, `sectors[0].comm_r: 31 bytes, want 32`},
		"33 bytes":    {snap, edit{`"comm_d_new":"`, `"comm_d_new":"00`}, `comm_d_new: 33 bytes, want 32`},
		"half a byte": {snap, edit{`"comm_r_new":".`, `"comm_r_new":"`}, `comm_r_new: encoding/hex: odd length`},
		"no hex": {snap, edit{`"comm_r_old":".`, `"comm_r_old":"g`},
			`comm_r_old: encoding/hex: invalid byte: U+0067 'g'`},
		"prefix 0x": {snap, edit{`"comm_r_old":"..`, `"comm_r_old":"0x`},
			`comm_r_old: encoding/hex: invalid byte: U+0078 'x'`},
		"empty text": {snap, edit{`"comm_r_old":"[^"]*"`, `"comm_r_old":""`}, `comm_r_old: 0 bytes, want 32`},
		"negative": {window, edit{`"sector_id":7`, `"sector_id":-7`},
			`sectors[0].sector_id: -7, want a whole number from 0 to 18446744073709551615`},
		"fraction": {window, edit{`"sector_id":7`, `"sector_id":7.0`},
			`sectors[0].sector_id: 7.0, want a whole number`},
		"exponent": {window, edit{`"sector_id":7`, `"sector_id":7e0`},
			`sectors[0].sector_id: 7e0, want a whole number`},
		"too large": {window, edit{`"sector_id":7`, `"sector_id":18446744073709551616`},
			`sectors[0].sector_id: 18446744073709551616, want a whole`},
		"text for number": {window, edit{`"sector_id":7`, `"sector_id":"7"`},
			`sectors[0].sector_id: a string, want a number`},
		"absurd partition": {window, edit{`^{`, `{"first_partition":2147483648,`},
			`first_partition: 2147483648, want a whole number from 0 to 2147483647`},
		"no base64": {window, edit{`"vanilla":".`, `"vanilla":"!`},
			`sectors[0].vanilla: illegal base64 data at input byte 0`},
		"line in base64": {window, edit{`"vanilla":"....`, `"vanilla":"AAAA\n`},
			`sectors[0].vanilla: illegal base64 data at input byte 4`},
		"base64 cut": {snap, edit{`."\]`, `"]`}, `vanilla[0]: illegal base64 data`},
		"vanilla proof cut": {window, edit{`"vanilla":"....`, `"vanilla":"`},
			`sectors[0].vanilla: post: vanilla proof 0: `},
		"vanilla of update": {snap, edit{`"vanilla":\["....`, `"vanilla":["`},
			`vanilla[0]: update: vanilla proof of partition 0: `},
		"no vanilla":      {window, edit{`,"vanilla":"[^"]*"`, ``}, `sectors[0].vanilla: missing`},
		"no vanillas":     {snap, edit{`,"vanilla":\[[^]]*\]`, ``}, `vanilla: missing`},
		"no comm_r":       {window, edit{`"comm_r":"[^"]*",`, ``}, `sectors[0].comm_r: missing`},
		"no sectors":      {window, edit{`,"sectors":.*\]`, ``}, `sectors: missing`},
		"object for list": {window, edit{`"sectors":.*\]`, `"sectors":{}`}, `sectors: an object, want an array`},
		"list for object": {window, edit{`"sectors":\[{.*}\]`, `"sectors":[[]]`},
			`sectors[0]: an array, want an object`},
		"list of lists": {snap, edit{`"vanilla":\[`, `"vanilla":[[],`}, `vanilla[0]: an array, want a string`},
		"unknown proof": {window, edit{`StackedDrgWindow2KiBV1_2`, `Window`},
			`registered_proof: post: unknown registered proof "Window"`},
		"proof of another": {window, edit{`StackedDrgWindow2KiBV1_2`, `StackedDrgWinning2KiBV1`},
			`registered_proof: StackedDrgWinning2KiBV1 is no window-post`},
		"not a document":     {snap, edit{``, `[]`}, `an array, want an object`},
		"nothing":            {snap, edit{``, ``}, `unexpected EOF`},
		"no JSON":            {snap, edit{``, `vanilla`}, `at byte 1: invalid character 'v'`},
		"no comma":           {window, edit{`,"comm_r"`, `"comm_r"`}, `sectors[0]: at byte `},
		"a comma more":       {snap, edit{`"\]`, `",]`}, `vanilla[1]: at byte `},
		"cut short":          {snap, edit{`\]}\s*$`, ``}, `vanilla: unexpected EOF`},
		"cut in a string":    {snap, edit{`"\]}\s*$`, ``}, `vanilla[0]: unexpected EOF`},
		"second document":    {snap, edit{`}\s*$`, `} {}`}, `data after the end of the document at byte `},
		"rubbish at the end": {window, edit{`}\s*$`, `}]`}, `data after the end of the document at byte `},
		"too many partitions": {snap, edit{`"vanilla":\[`, `"vanilla":[` + strings.Repeat(`"",`, maxPartitions)},
			`vanilla: more than 256 elements`},
		"too many sectors": {window, edit{`"sectors":\[`, `"sectors":[` +
			strings.Repeat(`{"sector_id":1,"comm_r":"`+hex32+`","vanilla":""},`, maxMadeUp)}, `sectors: more than 30000 elements`},
		"too long a value": {window, edit{`"vanilla":"`, `"vanilla":"` + strings.Repeat("A", 2*maxJSONValue)},
			`sectors[0].vanilla: a value longer than 4194304 bytes`},
		"too long a name": {window, edit{`^{`, `{"` + strings.Repeat("A", 2*maxJSONValue) + `":1,`},
			`a value longer than 4194304 bytes`},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempFile(t, []byte(c.apply(t, string(readFile(t, files[c.kind])))))
			err := readInput(t, c.kind, path)
			require.ErrorContains(t, err, path+": "+c.fault)
		})
	}
	for kind, path := range files {
		require.NoError(t, readInput(t, kind, path))
		white := tempFile(t, fmt.Appendf(nil, "\n%s\n ", readFile(t, path)))
		require.NoError(t, readInput(t, kind, white), "white space around the document")
	}
}

func TestHugeInputFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	require.NoError(t, os.Truncate(path, maxInputFile+1)) // with a hole
	for _, kind := range []string{kindUpdate, kindWindowPoSt} {
		require.EqualError(t, readInput(t, kind, path), fmt.Sprintf("%s: longer than %d bytes", path, maxInputFile))
	}
}

// A statement to verify may have other fields, but what is read is read as strictly.
func TestStatementFiles(t *testing.T) {
	for kind, c := range map[string]struct{ file, field string }{
		kindPoRep: {statementPath, "seed"}, kindWindowPoSt: {windowPoSt, "randomness"}, kindUpdate: {snapDeals, "comm_r_old"},
	} {
		read := func(path string) (err error) {
			switch kind {
			case kindPoRep:
				_, err = readStatement(t.Context(), path)
			case kindUpdate:
				_, err = readUpdateFile(t.Context(), path, kind, toVerify)
			default:
				_, err = readPoStFile(t.Context(), path, kind, toVerify)
			}
			return err
		}
		text := string(readFile(t, c.file))
		require.NoError(t, read(c.file))
		for _, x := range []struct {
			edit
			fault string
		}{
			{edit{`^{`, `{"more":[{"seed":1,"seed":2}],`}, ""},
			{edit{`^{`, `{"` + c.field + `":"` + strings.Repeat("00", 32) + `",`}, c.field + ": occurs twice"},
			{edit{`"` + c.field + `":\s*"..`, `"` + c.field + `":"`}, c.field + ": 31 bytes, want 32"},
			{edit{`"` + c.field + `"`, `"more"`}, c.field + ": missing"},
			{edit{`^{`, `{"more":[,],`}, `field "more": invalid character ','`},
			{edit{`}\s*$`, `}0`}, "data after the end of the document"},
		} {
			path := tempFile(t, []byte(x.apply(t, text)))
			if x.fault == "" {
				require.NoError(t, read(path))
			} else {
				require.ErrorContains(t, read(path), path+": "+x.fault)
			}
		}
	}
}
