package porep

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// encodeC1 is the raw document of c.
func encodeC1(c *C1) []byte {
	var b bytes.Buffer
	if err := c.EncodeJSON(&b); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// encodeLotus is the document of c in Lotus's wrapper.
func encodeLotus(t testing.TB, c *C1, sector uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, c.EncodeLotus(&b, sector))
	return b.Bytes()
}

// wrap is a raw document in Lotus's wrapper.
func wrap(raw []byte, size uint64) []byte {
	return fmt.Appendf(nil, `{"SectorNum":7,"Phase1Out":"%s","SectorSize":%d}`, base64.StdEncoding.EncodeToString(raw), size)
}

func TestEncodeLotusRoundTrip(t *testing.T) {
	c, _, _ := decodeVector(t, "porep")
	again, err := DecodeC1(bytes.NewReader(encodeLotus(t, c, 41)), nil)
	require.NoError(t, err)
	require.Equal(t, &Lotus{SectorNumber: 41, SectorSize: 2048}, again.Lotus)
	again.Lotus = nil
	require.Equal(t, c, again)
}

func TestEncodeReportsWriteErrors(t *testing.T) {
	c, raw, _ := decodeVector(t, "porep")
	full := errors.New("disk full")
	for _, n := range []int{0, 100, len(raw) - 1} {
		w := &failingWriter{left: n, err: full}
		require.ErrorIs(t, c.EncodeJSON(w), full)
		w = &failingWriter{left: n, err: full}
		require.ErrorIs(t, c.EncodeLotus(w, 1), full)
	}
}

// failingWriter takes some bytes and then fails.
type failingWriter struct {
	left int
	err  error
}

func (w *failingWriter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		n := w.left
		w.left = 0
		return n, w.err
	}
	w.left -= len(b)
	return len(b), nil
}

// randomC1 has the shape of the registered proof and random values: a document of the right size that
// decodes, but proves nothing.
func randomC1(t testing.TB, p RegisteredProof, params Params) *C1 {
	t.Helper()
	rng := rand.New(rand.NewChaCha8([32]byte{9}))
	value := func() (b [32]byte) {
		for i := 0; i < len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
		}
		b[31] &= 0x3f
		return b
	}
	element := func() fr.Element {
		b := value()
		e, err := fr.LittleEndian.Element(&b)
		require.NoError(t, err)
		return e
	}
	elements := func(n int) []fr.Element {
		out := make([]fr.Element, n)
		for i := range out {
			out[i] = element()
		}
		return out
	}
	path := func(arities []int) MerklePath {
		m := MerklePath{Root: element(), Leaf: element(), Levels: make([]PathElement, len(arities))}
		for i, a := range arities {
			m.Levels[i] = PathElement{Siblings: elements(a - 1), Index: rng.IntN(a)}
		}
		return m
	}
	column := func() Column {
		return Column{Node: rng.Uint64N(params.Nodes()), Rows: elements(params.Layers), Path: path(params.Levels())}
	}
	c := &C1{Proof: p, Params: params, CommR: value(), CommD: value(), ReplicaID: value(), Seed: value(), Ticket: value()}
	for range params.Partitions {
		var proofs []Challenge
		for range params.Challenges {
			ch := Challenge{
				Node: rng.Uint64N(params.Nodes()), Labels: elements(params.Layers),
				DPath: path(params.dataLevels()), RPath: path(params.Levels()), CPath: path(params.Levels()),
			}
			for i := range ch.Drg {
				ch.Drg[i] = column()
			}
			for i := range ch.Exp {
				ch.Exp[i] = column()
			}
			proofs = append(proofs, ch)
		}
		c.Partitions = append(c.Partitions, proofs)
	}
	return c
}
