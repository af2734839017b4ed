package porep

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// encoder gathers text and passes it on a challenge at a time. It keeps the first error of w.
type encoder struct {
	w   io.Writer
	out []byte
	err error
}

func (e *encoder) flush() {
	if e.err == nil {
		_, e.err = e.w.Write(e.out)
	}
	e.out = e.out[:0]
}

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

// EncodeJSON writes c as the reference serialises its phase-1 output (spec §8.2), without Lotus's wrapper.
// The labels within labeling proofs, which decoding drops, are made again from the columns, so a decoded
// document comes out as it was.
//
// Besides those of w, errors wrap [ErrNil], [ErrParams], or [ErrCount] for a C1 without the shape of its parameters, all
// labels included.
func (c *C1) EncodeJSON(w io.Writer) error {
	if err := c.encodable(w); err != nil {
		return err
	}
	e := &encoder{w: w}
	e.object(
		field{"registered_proof", func() { e.out = strconv.AppendQuote(e.out, c.Proof.String()) }},
		field{"vanilla_proofs", func() {
			e.object(field{c.Proof.variant(), func() {
				e.list(len(c.Partitions), func(k int) {
					e.list(len(c.Partitions[k]), func(i int) {
						e.challenge(&c.Partitions[k][i], c.Params.Shape)
						e.flush()
					})
				})
			}})
		}},
		field{"comm_r", func() { e.bytes(c.CommR) }},
		field{"comm_d", func() { e.bytes(c.CommD) }},
		field{"replica_id", func() { e.bytes(c.ReplicaID) }},
		field{"seed", func() { e.bytes(c.Seed) }},
		field{"ticket", func() { e.bytes(c.Ticket) }},
	)
	e.flush()
	if e.err != nil {
		return fmt.Errorf("porep: write phase-1 output: %w", e.err)
	}
	return nil
}

// encodable refuses what there is no document of.
func (c *C1) encodable(w io.Writer) error {
	if c == nil || w == nil {
		return ErrNil
	}
	if err := c.Params.Validate(); err != nil {
		return err
	}
	if err := c.shaped(); err != nil {
		return err
	}
	for k, p := range c.Partitions {
		for i := range p {
			if n := len(p[i].Labels); n != c.Params.Layers {
				return fmt.Errorf("%w: partition %d challenge %d: %d labels, want %d", ErrCount, k, i, n, c.Params.Layers)
			}
		}
	}
	return nil
}

// EncodeLotus writes c in Lotus's wrapper. Errors as for [C1.EncodeJSON].
func (c *C1) EncodeLotus(w io.Writer, sector uint64) error {
	if err := c.encodable(w); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `{"SectorNum":%d,"Phase1Out":"`, sector)
	b64 := base64.NewEncoder(base64.StdEncoding, out)
	if err := c.EncodeJSON(b64); err != nil {
		return err
	}
	if err := b64.Close(); err != nil {
		return fmt.Errorf("porep: write phase-1 output: %w", err)
	}
	fmt.Fprintf(out, `","SectorSize":%d}`, c.Params.SectorSize)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("porep: write phase-1 output: %w", err)
	}
	return nil
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
	fields := []field{{"root", func() { e.element(m.Root) }}, {"leaf", func() { e.element(m.Leaf) }}}
	for _, part := range shape.Parts(len(m.Levels)) {
		levels := m.Levels[part.From:part.To]
		f := field{part.Name, func() {
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
	e.object(field{"data", func() { e.object(field{shape.Variant(), func() { e.object(fields...) }}) }})
}
