package porep

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// encoder writes phase-1 outputs as the reference serializes them. The labels of labeling proofs,
// which decoding drops, are made again from the columns, so that the text comes out equal.
type encoder struct{ out []byte }

func (e *encoder) raw(s string)  { e.out = append(e.out, s...) }
func (e *encoder) key(s string)  { e.out = append(strconv.AppendQuote(e.out, s), ':') }
func (e *encoder) uint(v uint64) { e.out = strconv.AppendUint(e.out, v, 10) }

// list writes n elements between brackets.
func (e *encoder) list(n int, write func(i int)) {
	e.raw("[")
	for i := range n {
		if i > 0 {
			e.raw(",")
		}
		write(i)
	}
	e.raw("]")
}

// field is a member of an object.
type field struct {
	name  string
	write func()
}

func (e *encoder) object(fields ...field) {
	e.raw("{")
	for i, f := range fields {
		if i > 0 {
			e.raw(",")
		}
		e.key(f.name)
		f.write()
	}
	e.raw("}")
}

func (e *encoder) bytes(b [32]byte) { e.list(len(b), func(i int) { e.uint(uint64(b[i])) }) }

func (e *encoder) element(v fr.Element) {
	var b [fr.Bytes]byte
	fr.LittleEndian.PutElement(&b, v)
	e.bytes(b)
}

func (e *encoder) elements(v []fr.Element) { e.list(len(v), func(i int) { e.element(v[i]) }) }

// encodeC1 is the raw document of c.
func encodeC1(c *C1) []byte {
	e := &encoder{}
	e.object(
		field{"registered_proof", func() { e.out = strconv.AppendQuote(e.out, c.Proof.String()) }},
		field{"vanilla_proofs", func() {
			e.object(field{c.Proof.variant(), func() {
				e.list(len(c.Partitions), func(k int) {
					e.list(len(c.Partitions[k]), func(i int) { e.challenge(&c.Partitions[k][i], c.Params.Shape) })
				})
			}})
		}},
		field{"comm_r", func() { e.bytes(c.CommR) }},
		field{"comm_d", func() { e.bytes(c.CommD) }},
		field{"replica_id", func() { e.bytes(c.ReplicaID) }},
		field{"seed", func() { e.bytes(c.Seed) }},
		field{"ticket", func() { e.bytes(c.Ticket) }},
	)
	return e.out
}

// encodeLotus is the document of c in Lotus's wrapper.
func encodeLotus(t testing.TB, c *C1, sector uint64) []byte {
	t.Helper()
	out, err := json.Marshal(map[string]any{"SectorNum": sector, "Phase1Out": encodeC1(c), "SectorSize": c.Params.SectorSize})
	require.NoError(t, err)
	return out
}

// wrap is a raw document in Lotus's wrapper.
func wrap(raw []byte, size uint64) []byte {
	return fmt.Appendf(nil, `{"SectorNum":7,"Phase1Out":"%s","SectorSize":%d}`, base64.StdEncoding.EncodeToString(raw), size)
}

func (e *encoder) challenge(c *Challenge, shape Shape) {
	own := Column{Node: c.Node, Rows: c.Labels, Path: c.CPath}
	e.object(
		field{"comm_d_proofs", func() { e.path(&c.DPath, Shape{Base: 2}) }},
		field{"comm_r_last_proof", func() { e.path(&c.RPath, shape) }},
		field{"replica_column_proofs", func() {
			e.object(
				field{"c_x", func() { e.column(&own, shape) }},
				field{"drg_parents", func() { e.list(len(c.Drg), func(i int) { e.column(&c.Drg[i], shape) }) }},
				field{"exp_parents", func() { e.list(len(c.Exp), func(i int) { e.column(&c.Exp[i], shape) }) }},
			)
		}},
		field{"labeling_proofs", func() { e.list(len(c.Labels), func(i int) { e.labeling(c, i) }) }},
		field{"encoding_proof", func() { e.labeling(c, len(c.Labels)-1) }},
	)
}

func (e *encoder) labeling(c *Challenge, layer int) {
	var labels []fr.Element
	for i := range c.Drg {
		labels = append(labels, c.Drg[i].Rows[layer])
	}
	for i := range c.Exp {
		if layer > 0 {
			labels = append(labels, c.Exp[i].Rows[layer-1])
		}
	}
	e.object(
		field{"parents", func() { e.list(totalParents, func(i int) { e.element(labels[i%len(labels)]) }) }},
		field{"layer_index", func() { e.uint(uint64(layer + 1)) }},
		field{"node", func() { e.uint(c.Node) }},
	)
}

func (e *encoder) column(c *Column, shape Shape) {
	e.object(
		field{"column", func() {
			e.object(
				field{"index", func() { e.uint(c.Node) }},
				field{"rows", func() { e.elements(c.Rows) }},
				field{"_h", func() { e.raw("null") }},
			)
		}},
		field{"inclusion_proof", func() { e.path(&c.Path, shape) }},
	)
}

func (e *encoder) path(m *MerklePath, shape Shape) {
	arities := make([]int, len(m.Levels))
	fields := []field{{"root", func() { e.element(m.Root) }}, {"leaf", func() { e.element(m.Leaf) }}}
	for _, part := range pathParts(shape, arities) {
		levels := m.Levels[part.from:part.to]
		f := field{part.name, func() {
			e.object(field{"path", func() {
				e.list(len(levels), func(i int) {
					e.object(
						field{"hashes", func() { e.elements(levels[i].Siblings) }},
						field{"index", func() { e.uint(uint64(levels[i].Index)) }},
					)
				})
			}})
		}}
		if shape.Sub == 0 {
			fields = append(fields, f)
		} else { // root and leaf come last
			fields = append(fields[:len(fields)-2:len(fields)-2], append([]field{f}, fields[len(fields)-2:]...)...)
		}
	}
	e.object(field{"data", func() { e.object(field{shape.variant(), func() { e.object(fields...) }}) }})
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
