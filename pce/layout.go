package pce

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/crypto/blake2b"
)

// Counts are the sizes of a constraint system or of a witness.
type Counts struct {
	Rows   int // constraints of the circuit; the rows that prover and key generator append are not counted
	Inputs int // public inputs, ONE included
	Aux    int // private variables, Bits + Dense
	Bits   int // private variables known to be 0 or 1
	Dense  int // all other private variables
}

// Run is a stretch of private variables of one class: variables Start to Start+N−1, of which the
// first is number First in its class.
type Run struct {
	Start, N, First int
	Bit             bool
}

// Densities say which variables occur with a non-zero coefficient in some row of A or B, by their
// index among private variables or inputs. A over the inputs is full, since every input has a row
// of its own (circuits.md §1.4).
type Densities struct {
	AAux, BAux, BInput Bitset
}

// Layout is what a prover has to know of a system beside its rows.
type Layout struct {
	Counts    Counts
	Runs      []Run
	Densities Densities
	// Digest identifies the order in which variables of each kind are allocated.
	Digest [32]byte
}

// Expand writes all private variables in order of allocation; len(aux) must be Counts.Aux.
func (l *Layout) Expand(w *Witness, aux []fr.Element) error {
	if err := l.Match(w); err != nil {
		return err
	}
	if len(aux) != l.Counts.Aux {
		return fmt.Errorf("pce: expand: room for %d variables, want %d", len(aux), l.Counts.Aux)
	}
	for _, r := range l.Runs {
		out := aux[r.Start : r.Start+r.N]
		if !r.Bit {
			copy(out, w.Dense[r.First:])
			continue
		}
		for i := range out {
			out[i] = fr.Element{}
			if w.Bit(r.First + i) {
				out[i].SetOne()
			}
		}
	}
	return nil
}

// Match returns a *LayoutError unless w was made for this layout. Nil is a witness without anything.
func (l *Layout) Match(w *Witness) error {
	if w == nil {
		w = &Witness{}
	}
	got := Counts{Inputs: len(w.Inputs), Aux: w.NumBits + len(w.Dense), Bits: w.NumBits, Dense: len(w.Dense)}
	want := l.Counts
	want.Rows = 0
	if got == want && w.Layout == l.Digest && len(w.Bits) == bitWords(w.NumBits) {
		return nil
	}
	return &LayoutError{Want: l.Digest, Got: w.Layout, WantCounts: l.Counts, GotCounts: got}
}

// countsOf are the runs as the layout's digest takes them.
func countsOf(runs []Run) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, r := range runs {
			if !yield(runCount(r.N, r.Bit)) {
				return
			}
		}
	}
}

// layoutDigest is BLAKE2b-256 over the number of inputs and the runs in the form of runCount, each a u64 LE.
func layoutDigest(inputs int, runs iter.Seq[uint64]) [32]byte {
	h, err := blake2b.New256(nil)
	if err != nil {
		panic(err) // only a key can be wrong
	}
	var room [4 << 10]byte
	b := binary.LittleEndian.AppendUint64(room[:0], uint64(inputs))
	for r := range runs {
		if len(b) == len(room) {
			h.Write(b)
			b = room[:0]
		}
		b = binary.LittleEndian.AppendUint64(b, r)
	}
	h.Write(b)
	return [32]byte(h.Sum(nil))
}

// runList gathers runs in order of allocation.
type runList struct {
	runs        []Run
	bits, dense int
}

func (l *runList) add(n int, bit bool) {
	if n == 0 {
		return
	}
	first := &l.dense
	if bit {
		first = &l.bits
	}
	if k := len(l.runs) - 1; k >= 0 && l.runs[k].Bit == bit {
		l.runs[k].N += n
	} else {
		l.runs = append(l.runs, Run{Start: l.bits + l.dense, N: n, First: *first, Bit: bit})
	}
	*first += n
}

// append adds the runs of another list after this one's.
func (l *runList) append(m *runList) {
	for _, r := range m.runs {
		l.add(r.N, r.Bit)
	}
}

// classDensities are densities of A and B (index 0 and 1) by class of variable.
type classDensities struct {
	one                        [2]bool
	inputs, bits, dense, slots [2]Bitset
}

// mark notes that matrix m has the variable of the given packed ref.
func (d *classDensities) mark(m int, v uint32) {
	i := int(v & maxIndex)
	switch kind(v >> kindShift) {
	case kindOne:
		d.one[m] = true
	case kindInput:
		d.inputs[m].setGrowing(i)
	case kindBit:
		d.bits[m].setGrowing(i)
	case kindDense:
		d.dense[m].setGrowing(i)
	case kindSlot:
		d.slots[m].setGrowing(i)
	}
}

func newLayout(c Counts, runs []Run, d *classDensities) *Layout {
	aux := func(m int) Bitset {
		out := NewBitset(c.Aux)
		for _, r := range runs {
			src := d.dense[m]
			if r.Bit {
				src = d.bits[m]
			}
			for i := 0; i < r.N; i += 64 {
				n := min(64, r.N-i)
				out.put(r.Start+i, src.window(r.First+i, n), n)
			}
		}
		return out
	}
	inputs := NewBitset(c.Inputs)
	copy(inputs, d.inputs[1])
	if d.one[1] {
		inputs.Set(0)
	}
	return &Layout{
		Counts: c, Runs: runs,
		Densities: Densities{AAux: aux(0), BAux: aux(1), BInput: inputs},
		Digest:    layoutDigest(c.Inputs, countsOf(runs)),
	}
}

// Bitset is a set of small non-negative integers, 64 to a word, least significant bit first.
type Bitset []uint64

func bitWords(n int) int { return (n + 63) / 64 }

// NewBitset returns an empty set that can hold 0 to n−1.
func NewBitset(n int) Bitset { return make(Bitset, bitWords(n)) }

// Get says whether i is in the set.
func (s Bitset) Get(i int) bool { return s[i>>6]>>(i&63)&1 == 1 }

// Set adds i.
func (s Bitset) Set(i int) { s[i>>6] |= 1 << (i & 63) }

// Count is the number of members.
func (s Bitset) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// setGrowing is Set for a set whose size is not known in advance.
func (s *Bitset) setGrowing(i int) {
	for i>>6 >= len(*s) {
		*s = append(*s, 0)
	}
	s.Set(i)
}

// orAt adds from+i for each member i of src. The set must be large enough.
func (s Bitset) orAt(from int, src Bitset) {
	k, at := from>>6, from&63
	for i, w := range src {
		if low := w << at; low != 0 {
			s[k+i] |= low
		}
		if high := w >> (64 - at); high != 0 {
			s[k+i+1] |= high
		}
	}
}

// members calls f for each member.
func (s Bitset) members(f func(i int)) {
	for k, w := range s {
		for ; w != 0; w &= w - 1 {
			f(64*k + bits.TrailingZeros64(w))
		}
	}
}

// put adds from+k for each bit k of v, which has n ≤ 64 bits.
func (s Bitset) put(from int, v uint64, n int) {
	at := from & 63
	s[from>>6] |= v << at
	if at+n > 64 {
		s[from>>6+1] |= v >> (64 - at)
	}
}

// window is n ≤ 64 bits of s starting at from; what is beyond the end of s is 0.
func (s Bitset) window(from, n int) uint64 {
	var w uint64
	i, at := from>>6, from&63
	if i < len(s) {
		w = s[i] >> at
	}
	if at > 0 && i+1 < len(s) {
		w |= s[i+1] << (64 - at)
	}
	if n < 64 {
		w &= 1<<n - 1
	}
	return w
}
