package porep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
)

// decodeVector decodes the raw phase-1 output of a vector, and also gives its text and statement.
func decodeVector(t testing.TB, name string) (*C1, []byte, *Statement) {
	t.Helper()
	raw := circuittest.Testdata(t, "c1", name+".json.zst")
	s := loadVector(t, name).statement(t)
	c, err := DecodeC1(bytes.NewReader(raw), &DecodeOptions{Params: s.Params})
	require.NoError(t, err)
	return c, raw, s
}

// Every vector decodes, passes the native check, gives the reference's public inputs, and written
// again it is the same text, byte for byte.
func TestC1Vectors(t *testing.T) {
	for _, name := range c1Vectors() {
		t.Run(name, func(t *testing.T) {
			v := loadVector(t, name)
			c, raw, s := decodeVector(t, name)
			require.Nil(t, c.Lotus)
			require.Equal(t, s.Proof, c.Proof)
			require.Equal(t, string(raw), string(encodeC1(c)))

			require.NoError(t, c.Check(context.Background(), 0))
			in, err := c.PublicInputs()
			require.NoError(t, err)
			require.Equal(t, v.PublicInputs, circuittest.HexesLE(in))

			again, err := c.Statement(v.MinerActor, v.SectorID)
			require.NoError(t, err)
			s.Params = again.Params
			require.Equal(t, s, again)
			_, err = c.Statement(v.MinerActor, v.SectorID+1)
			require.ErrorIs(t, err, ErrReplicaID)
		})
	}
}

func TestC1Lotus(t *testing.T) {
	for _, name := range []string{"porep", "porep-16KiB"} {
		want, _, s := decodeVector(t, name)
		got, err := DecodeC1(bytes.NewReader(circuittest.Testdata(t, "c1", name+".lotus.json.zst")), &DecodeOptions{Params: s.Params})
		require.NoError(t, err)
		require.Equal(t, &Lotus{SectorNumber: s.SectorNumber, SectorSize: want.Params.SectorSize}, got.Lotus)
		got.Lotus = nil
		require.Equal(t, want, got)
	}
}

// A 16 KiB sector that claims to be of 32 GiB is refused as what it claims to be.
func TestC1WithoutItsParams(t *testing.T) {
	_, err := DecodeC1(bytes.NewReader(circuittest.Testdata(t, "c1", "porep-16KiB.lotus.json.zst")), nil)
	requireDecode(t, err, "Phase1Out.vanilla_proofs.StackedDrg32GiBV1[0][0].comm_d_proofs.data.Single.path.path", ErrCount)
	_, err = DecodeC1(strings.NewReader("{}"), &DecodeOptions{Params: &Params{}})
	require.ErrorIs(t, err, ErrParams)
}

// Non-interactive outputs decode; everything else answers that they are not supported.
func TestC1NonInteractive(t *testing.T) {
	c, err := DecodeC1(bytes.NewReader(circuittest.Testdata(t, "c1", "porep-ni.json.zst")), nil)
	require.NoError(t, err)
	require.Equal(t, StackedDrg2KiBV1_2NonInteractive, c.Proof)
	require.Len(t, c.Partitions, 13)
	var unsupported *UnsupportedError
	require.ErrorAs(t, c.Check(context.Background(), 1), &unsupported)
	require.Equal(t, c.Proof, unsupported.Proof)
	_, err = c.Circuits()
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep")
	_, err = c.PublicInputs()
	require.ErrorIs(t, err, ErrUnsupported)
}

// Fields in another order (encoding/json sorts them), white space, unknown fields of every kind.
func TestC1Freedoms(t *testing.T) {
	want, raw, _ := decodeVector(t, "porep")
	extra := `"extra":[{"a":[1,-2.5e+3,0.1,0,true,false,null,"x\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"],"b":{}},[],""],`
	var doc map[string]any
	require.NoError(t, json.Unmarshal(raw, &doc))
	sorted, err := json.Marshal(doc)
	require.NoError(t, err)
	indented, err := json.MarshalIndent(doc, " \t", "\r\n ")
	require.NoError(t, err)
	for name, text := range map[string]string{
		"sorted":          string(sorted),
		"indented":        string(indented),
		"unknown fields":  strings.ReplaceAll(string(raw), `"seed"`, extra+`"seed"`),
		"unknown inside":  strings.ReplaceAll(string(raw), `"hashes"`, extra+`"hashes"`),
		"no _h":           strings.ReplaceAll(string(raw), `,"_h":null`, ""),
		"escaped names":   strings.ReplaceAll(string(raw), `"seed"`, `"\u0073e\u0065d"`),
		"space around":    "\n\t " + string(raw) + " \r\n",
		"Lotus, reversed": `{"SectorSize":2048,` + strings.Replace(string(wrap(raw, 2048))[1:], `,"SectorSize":2048`, "", 1),
		"Lotus, escapes":  strings.ReplaceAll(string(wrap(raw, 2048)), "MTI", `\u004dT\u0049`),
		"Lotus, lines":    strings.ReplaceAll(string(wrap(raw, 2048)), "MTI", `MT\r\nI`),
		"Lotus, indented": string(wrap(indented, 2048)),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeC1(strings.NewReader(text), nil)
			require.NoError(t, err)
			got.Lotus = nil
			require.Equal(t, want, got)
		})
	}
}

// Readers that give little at a time, or the end together with the last bytes.
func TestC1Readers(t *testing.T) {
	want, raw, _ := decodeVector(t, "porep")
	for _, text := range [][]byte{raw, wrap(raw, 2048)} {
		for _, slow := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
			got, err := DecodeC1(slow(bytes.NewReader(text)), nil)
			require.NoError(t, err)
			got.Lotus = nil
			require.Equal(t, want, got)
		}
	}
}

// requireDecode asserts a DecodeError at a path.
func requireDecode(t testing.TB, err error, path string, sentinel error) {
	t.Helper()
	var d *DecodeError
	require.ErrorAs(t, err, &d)
	require.Equal(t, path, d.Path, "%v", err)
	require.ErrorIs(t, err, sentinel)
	require.ErrorContains(t, err, d.Path)
	require.GreaterOrEqual(t, d.Offset, int64(0))
}

// What is wrong with the document as a whole.
func TestC1Documents(t *testing.T) {
	_, b, _ := decodeVector(t, "porep")
	raw := string(b)
	lotus := string(wrap(b, 2048))
	const v = "vanilla_proofs.StackedDrg2KiBV1"
	replace := func(text, old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	for name, c := range map[string]struct {
		text, path string
		err        error
	}{
		"empty":                   {"", "", io.ErrUnexpectedEOF},
		"white space":             {" \n", "", io.ErrUnexpectedEOF},
		"array":                   {"[]", "", ErrType},
		"null":                    {"null", "", ErrType},
		"not JSON":                {"PK\x03\x04", "", ErrSyntax},
		"no fields":               {"{}", "registered_proof", ErrMissing},
		"second document":         {raw + "{}", "", ErrTrailing},
		"trailing comma":          {raw[:len(raw)-1] + ",}", "", ErrSyntax},
		"no comma":                {replace(raw, `],"seed"`, `]"seed"`), "", ErrSyntax},
		"no colon":                {replace(raw, `"seed":`, `"seed"`), "seed", ErrSyntax},
		"key without quotes":      {replace(raw, `"seed":`, `seed:`), "", ErrSyntax},
		"bad escape in a key":     {replace(raw, `"seed"`, `"s\xeed"`), "", ErrSyntax},
		"bad hex in a key":        {replace(raw, `"seed"`, `"\u00g3"`), "", ErrSyntax},
		"newline in a key":        {replace(raw, `"seed"`, "\"se\ned\""), "", ErrSyntax},
		"duplicate":               {replace(raw, `"seed"`, `"comm_d":[],"seed"`), "comm_d", ErrDuplicate},
		"unknown proof":           {replace(raw, `"StackedDrg2KiBV1_1"`, `"StackedDrg3KiBV1"`), "registered_proof", ErrProofType},
		"proof as number":         {replace(raw, `"StackedDrg2KiBV1_1"`, `5`), "registered_proof", ErrType},
		"endless proof":           {replace(raw, `StackedDrg2KiBV1_1`, strings.Repeat("a", 1<<20)), "registered_proof", ErrProofType},
		"proof of another size":   {replace(raw, `StackedDrg2KiBV1_1`, `StackedDrg8MiBV1_1`), v, ErrVariant},
		"variant of another size": {replace(raw, `StackedDrg2KiBV1"`, `StackedDrg512MiBV1"`), "vanilla_proofs.StackedDrg512MiBV1[0][0].comm_d_proofs.data.Single.path.path", ErrCount},
		"variant of a later API":  {replace(raw, `StackedDrg2KiBV1"`, `StackedDrg2KiBV1_1"`), "vanilla_proofs.StackedDrg2KiBV1_1", ErrVariant},
		"unknown variant":         {replace(raw, `StackedDrg2KiBV1"`, `Other"`), "vanilla_proofs.Other", ErrVariant},
		"no variant":              {`{"vanilla_proofs":{}}`, "vanilla_proofs", ErrVariant},
		"two variants":            {replace(raw, `]]},"comm_r"`, `]],"StackedDrg8MiBV1":[]},"comm_r"`), "vanilla_proofs.StackedDrg8MiBV1", ErrVariant},
		"variant without proofs":  {replace(raw, `{"StackedDrg2KiBV1":`, `{"StackedDrg2KiBV1":null,"x":`), v, ErrType},
		"no partitions":           {raw[:strings.Index(raw, "[[")] + "[]}" + raw[strings.Index(raw, `,"comm_r":`):], v, ErrCount},
		"partitions of another":   {replace(raw, `StackedDrg2KiBV1_1`, `StackedDrg2KiBV1_2_Feat_NonInteractivePoRep`), v, ErrCount},
		"an empty partition":      {replace(raw, `]]},"comm_r"`, `],[]]},"comm_r"`), v + "[1]", ErrCount},
		"wrong tree":              {replace(raw, `"Single"`, `"Sub"`), v + "[0][0].comm_d_proofs.data", ErrVariant},
		"no tree":                 {replace(raw, `{"Single":`, `{},"x":{"y":`), v + "[0][0].comm_d_proofs.data", ErrVariant},
		"tree twice":              {replace(raw, `]}}}},"comm_r_last_proof"`, `]}},"Single":{}}},"comm_r_last_proof"`), v + "[0][0].comm_d_proofs.data.Single", ErrDuplicate},
		"nested too deep":         {replace(raw, `"seed"`, `"x":`+strings.Repeat("[", 1000)+`"seed"`), "x" + strings.Repeat("[0]", 128), ErrDepth},

		"Lotus, another size":   {string(wrap(b, 4096)), "SectorSize", ErrSectorSize},
		"Lotus, no size":        {replace(lotus, `"SectorSize"`, `"x"`), "SectorSize", ErrMissing},
		"Lotus, no number":      {replace(lotus, `"SectorNum"`, `"x"`), "SectorNum", ErrMissing},
		"Lotus, bad number":     {replace(lotus, `"SectorNum":7`, `"SectorNum":-7`), "SectorNum", ErrRange},
		"Lotus, too large":      {replace(lotus, `"SectorNum":7`, `"SectorNum":18446744073709551616`), "SectorNum", ErrRange},
		"Lotus, both":           {replace(lotus, `"SectorNum"`, `"ticket":`+zeros(32)+`,"SectorNum"`), "", ErrDuplicate},
		"Lotus, empty":          {`{"Phase1Out":""}`, "Phase1Out", io.ErrUnexpectedEOF},
		"Lotus, null":           {`{"Phase1Out":null}`, "Phase1Out", ErrType},
		"Lotus, bad padding":    {replace(lotus, `","SectorSize"`, `=","SectorSize"`), "Phase1Out", ErrBase64},
		"Lotus, after padding":  {replace(lotus, `","SectorSize"`, `====AAAA","SectorSize"`), "Phase1Out", ErrBase64},
		"Lotus, cut quantum":    {replace(lotus, `==","SectorSize"`, `","SectorSize"`), "Phase1Out", ErrBase64},
		"Lotus, more inside":    {string(wrap(append(b[:len(b):len(b)], '1'), 2048)), "Phase1Out", ErrTrailing},
		"Lotus, missing inside": {string(wrap([]byte(replace(raw, `"seed"`, `"x"`)), 2048)), "Phase1Out.seed", ErrMissing},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeC1(strings.NewReader(c.text), nil)
			requireDecode(t, err, c.path, c.err)
		})
	}
}

// Text that is not base64 is found where it stands, up to the decoder's buffer.
func TestC1NotBase64(t *testing.T) {
	_, raw, _ := decodeVector(t, "porep")
	lotus := wrap(raw, 2048)
	lotus[50_000] = '*'
	_, err := DecodeC1(bytes.NewReader(lotus), nil)
	require.ErrorIs(t, err, ErrBase64)
	var d *DecodeError
	require.ErrorAs(t, err, &d)
	require.Contains(t, d.Path, "Phase1Out.vanilla_proofs.StackedDrg2KiBV1[0][0]")
	require.InDelta(t, 50_000*3/4, d.Offset, 1024)
}

// zeros is an array of n zeros.
func zeros(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }

// Every truncation is an error and says so, raw or wrapped.
func TestC1Truncated(t *testing.T) {
	_, raw, _ := decodeVector(t, "porep")
	step := 97
	if testing.Short() {
		step = 9973
	}
	for n := 0; n < len(raw); n += step {
		_, err := DecodeC1(bytes.NewReader(raw[:n]), nil)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
		var d *DecodeError
		require.ErrorAs(t, err, &d)
		require.EqualValues(t, n, d.Offset)
	}
	lotus := wrap(raw, 2048)
	for n := 0; n < len(lotus); n += 10 * step {
		_, err := DecodeC1(bytes.NewReader(lotus[:n]), nil)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
	}
}

// The reader's own error comes out.
func TestC1ReaderError(t *testing.T) {
	_, raw, _ := decodeVector(t, "porep")
	broken := errors.New("disk on fire")
	for _, text := range [][]byte{raw, wrap(raw, 2048)} {
		r := io.MultiReader(bytes.NewReader(text[:len(text)/2]), iotest.ErrReader(broken))
		_, err := DecodeC1(r, nil)
		require.ErrorIs(t, err, broken)
		var d *DecodeError
		require.ErrorAs(t, err, &d)
		require.EqualValues(t, len(text)/2, d.Offset)
		require.Contains(t, d.Path, "vanilla_proofs.StackedDrg2KiBV1[0]")
	}
	_, err := DecodeC1(stuck{}, nil)
	require.ErrorIs(t, err, io.ErrNoProgress)
}

// stuck is a reader that gives nothing and says nothing.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// Memory follows the document: small hostile documents don't make it allocate.
func TestC1Memory(t *testing.T) {
	for name, text := range map[string]string{
		"deep":       `{"x":` + strings.Repeat("[", 1<<16),
		"deep key":   strings.Repeat(`{"x":`, 1<<16),
		"long key":   `{"` + strings.Repeat("k", 1<<20),
		"partitions": `{"vanilla_proofs":{"StackedDrg32GiBV1":[` + strings.Repeat("[],", 1<<16),
		"challenges": `{"vanilla_proofs":{"StackedDrg32GiBV1":[[` + strings.Repeat("{},", 1<<16),
		"digits":     `{"comm_r":[` + strings.Repeat("1", 1<<20),
		"base64":     `{"Phase1Out":"` + strings.Repeat("ICAg", 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := DecodeC1(strings.NewReader(text), nil)
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}

// A whole 32 GiB document, ten partitions of eighteen challenges.
func TestC1Production(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, for 50 MB of JSON; runs without -short")
	}
	p := StackedDrg2KiBV1_1 + 3
	params, err := p.Params()
	require.NoError(t, err)
	want := randomC1(t, p, params)
	text := encodeLotus(t, want, 12)
	got, err := DecodeC1(bytes.NewReader(text), nil)
	require.NoError(t, err)
	require.Equal(t, &Lotus{SectorNumber: 12, SectorSize: 32 << 30}, got.Lotus)
	got.Lotus = nil
	require.True(t, bytes.Equal(encodeC1(want), encodeC1(got)))
}

func BenchmarkDecodeC1(b *testing.B) {
	p := StackedDrg2KiBV1_1 + 3
	params, err := p.Params()
	require.NoError(b, err)
	c := randomC1(b, p, params)
	for name, text := range map[string][]byte{"raw": encodeC1(c), "lotus": encodeLotus(b, c, 12)} {
		b.Run("size=32GiB/form="+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeC1(bytes.NewReader(text), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
