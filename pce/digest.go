package pce

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"sort"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// R1CSDigest identifies a constraint system by its rows, independently of how they are stored.
type R1CSDigest struct {
	// SHA256 is over the circuit's rows in order. A row is A ‖ B ‖ C; a combination is its number of
	// terms as u32 LE, then inputs in ascending order, then private variables in ascending order, each
	// as one byte (0 input, 1 private), the index as u32 LE and the coefficient as 32 bytes LE.
	// Explicit zero coefficients are included (circuits.md Appendix B).
	SHA256 [32]byte
	// SHA256Full goes on with the rows I[i] * 0 = 0.
	SHA256Full [32]byte
	// NonZero counts non-zero coefficients of A, B, C without the appended rows; ZeroTerms the others.
	NonZero   [3]uint64
	ZeroTerms uint64
}

// digestBlock is how many bytes of rows are gathered before they are hashed.
const digestBlock = 1 << 20

// R1CSDigest hashes all rows, at about a microsecond a row. It stops early, with the cause, when ctx
// ends.
func (s *System) R1CSDigest(ctx context.Context) (*R1CSDigest, error) {
	d := newRowDigester(s.dict)
	index := newAuxIndex(s)
	s.walk(func(in *instance, from, to int, _ uint32) {
		if ctx.Err() != nil {
			return
		}
		for i := from; i < to; i++ {
			for m := range 3 {
				d.combination(m, in, in.t.rowTerms(i, m), index)
			}
		}
	})
	d.finish(s.Counts().Inputs)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("pce: digest %s: %w", s.name, context.Cause(ctx))
	}
	return &d.out, nil
}

// rowDigester serialises rows on the caller's goroutine and hashes them on another.
type rowDigester struct {
	coeffs [][32]byte // little-endian canonical
	zero   []bool
	buf    []byte
	keys   []termKey
	blocks chan []byte
	free   chan []byte
	done   chan hash.Hash
	out    R1CSDigest
}

// termKey sorts as the serialisation does: inputs before private variables, each by index.
type termKey struct {
	variable uint64 // kind<<32 | index
	coeff    uint32
}

func newRowDigester(dict []fr.Element) *rowDigester {
	d := &rowDigester{
		coeffs: make([][32]byte, len(dict)), zero: make([]bool, len(dict)),
		blocks: make(chan []byte, 2), free: make(chan []byte, 3), done: make(chan hash.Hash),
	}
	for i, c := range dict {
		d.zero[i] = c.IsZero()
		b := c.Bytes()
		slices.Reverse(b[:])
		d.coeffs[i] = b
	}
	for range cap(d.free) {
		d.free <- make([]byte, 0, digestBlock+digestBlock/8)
	}
	d.buf = <-d.free
	go func() {
		h := sha256.New()
		for b := range d.blocks {
			h.Write(b)
			d.free <- b[:0]
		}
		d.done <- h
	}()
	return d
}

func (d *rowDigester) combination(m int, in *instance, terms []Term, index *auxIndex) {
	d.keys = d.keys[:0]
	for _, t := range terms {
		d.keys = append(d.keys, termKey{index.of(in, t.Var), t.Coeff})
		if d.zero[t.Coeff] {
			d.out.ZeroTerms++
		} else {
			d.out.NonZero[m]++
		}
	}
	sortKeys(d.keys)
	d.buf = binary.LittleEndian.AppendUint32(d.buf, uint32(len(terms)))
	for _, k := range d.keys {
		d.buf = append(d.buf, byte(k.variable>>32))
		d.buf = binary.LittleEndian.AppendUint32(d.buf, uint32(k.variable))
		d.buf = append(d.buf, d.coeffs[k.coeff][:]...)
	}
	if len(d.buf) >= digestBlock {
		d.blocks <- d.buf
		d.buf = <-d.free
	}
}

func sortKeys(k []termKey) {
	if len(k) > 12 {
		sort.Slice(k, func(i, j int) bool { return k[i].variable < k[j].variable })
		return
	}
	for i := 1; i < len(k); i++ {
		for j := i; j > 0 && k[j].variable < k[j-1].variable; j-- {
			k[j], k[j-1] = k[j-1], k[j]
		}
	}
}

func (d *rowDigester) finish(inputs int) {
	d.blocks <- d.buf
	close(d.blocks)
	h := <-d.done
	h.Sum(d.out.SHA256[:0])
	for i := range inputs {
		row := []byte{1, 0, 0, 0, 0}
		row = binary.LittleEndian.AppendUint32(row, uint32(i))
		row = append(row, d.coeffs[codeOne][:]...)
		row = append(row, make([]byte, 8)...) // B and C are empty
		h.Write(row)
	}
	h.Sum(d.out.SHA256Full[:0])
}

// auxIndex finds a variable's place in the order of allocation, in which bits and dense variables
// are mixed.
type auxIndex struct {
	runs  [2][]Run // by class: dense, bits
	hints [2]int
}

func newAuxIndex(s *System) *auxIndex {
	var x auxIndex
	for _, r := range s.Layout().Runs {
		x.runs[bitClass(r.Bit)] = append(x.runs[bitClass(r.Bit)], r)
	}
	return &x
}

func bitClass(b bool) int { return int(bit(b)) }

// of is the variable as kind (0 input, 1 private) << 32 | index.
func (x *auxIndex) of(in *instance, v uint32) uint64 {
	v = in.resolve(v)
	i := int(v & maxIndex)
	switch kind(v >> kindShift) {
	case kindOne:
		return 0
	case kindInput:
		return uint64(i)
	case kindBit:
		return 1<<32 | uint64(x.aux(1, i))
	}
	return 1<<32 | uint64(x.aux(0, i))
}

// aux is the index of the i-th variable of a class. Rows mostly use variables near those of the row
// before, so the run found last is tried first.
func (x *auxIndex) aux(class, i int) int {
	runs, h := x.runs[class], x.hints[class]
	if h >= len(runs) || i < runs[h].First || i >= runs[h].First+runs[h].N {
		h = sort.Search(len(runs), func(k int) bool { return runs[k].First > i }) - 1
		x.hints[class] = h
	}
	return runs[h].Start + i - runs[h].First
}
