package pce

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// chunks is an append-only list of field elements. It moves what it has only to make room.
type chunks struct {
	full [][]fr.Element
	open []fr.Element
	n    int
}

// Chunks grow with what there is, within these bounds.
const (
	minChunk = 1 << 8
	maxChunk = 1 << 13
)

func (c *chunks) append(v fr.Element) {
	if len(c.open) == cap(c.open) {
		c.extend(1)[0] = v
		return
	}
	c.open = append(c.open, v)
	c.n++
}

// extend makes room for n more elements in one piece, which the caller fills.
func (c *chunks) extend(n int) []fr.Element {
	at := len(c.open)
	if cap(c.open)-at < n {
		c.close()
		c.open, at = make([]fr.Element, 0, max(n, min(max(c.n, minChunk), maxChunk))), 0
	}
	c.open = c.open[:at+n]
	c.n += n
	return c.open[at:]
}

// reserve makes sure that the next n elements come into one piece, if possible with all that are there.
func (c *chunks) reserve(n int) {
	if cap(c.open)-len(c.open) >= n {
		return
	}
	c.close()
	if c.n > n {
		c.open = large(n)[:0]
		return
	}
	c.open = append(large(c.n + n)[:0], c.flat()...)
	c.full = nil
}

// large is a long list in large pages.
func large(n int) []fr.Element {
	list := make([]fr.Element, n)
	adviseLarge(list)
	return list
}

func (c *chunks) close() {
	if len(c.open) > 0 {
		c.full = append(c.full, c.open)
	}
	c.open = nil
}

// appendAll takes over what o has.
func (c *chunks) appendAll(o *chunks) {
	c.close()
	o.close()
	c.full = append(c.full, o.full...)
	c.n += o.n
}

// copyAll copies what o has.
func (c *chunks) copyAll(o *chunks) {
	o.close()
	for _, part := range o.full {
		copy(c.extend(len(part)), part)
	}
}

// flat is all elements in one slice; c is empty afterwards.
func (c *chunks) flat() []fr.Element {
	c.close()
	full := c.full
	c.full = nil
	switch len(full) {
	case 0:
		return nil
	case 1:
		return full[0]
	}
	out := make([]fr.Element, 0, c.n)
	for i, part := range full {
		out = append(out, part...)
		full[i] = nil
	}
	return out
}

// bitWriter is an append-only packed list of bits. It may begin within a word, the rest of which is another writer's.
type bitWriter struct {
	words []uint64 // complete ones
	last  uint64   // the bits after them, n modulo 64
	from  int      // bits of the first word that are not this writer's, and 0 here
	n     int      // number of bits, those before from included
}

// count is the number of bits that were written.
func (b *bitWriter) count() int { return b.n - b.from }

// append adds the lowest n ≤ 64 bits of v; the others must be 0.
func (b *bitWriter) append(v uint64, n int) {
	at := b.n & 63
	b.last |= v << at
	b.n += n
	if at+n >= 64 {
		b.words = append(b.words, b.last)
		b.last = v >> (64 - at)
	}
}

// appendAll copies what o has.
func (b *bitWriter) appendAll(o *bitWriter) {
	for at := o.from; at < o.n; {
		w := o.last
		if i := at >> 6; i < len(o.words) {
			w = o.words[i]
		}
		n := min(64-at&63, o.n-at)
		b.append(w>>(at&63), n)
		at += n
	}
}

// adopt takes over what o has written into the memory behind b's words. o began where b ends.
func (b *bitWriter) adopt(o *bitWriter) {
	b.n += o.count()
	if len(o.words) == 0 {
		b.last |= o.last
		return
	}
	k := len(b.words)
	b.words = b.words[:k+len(o.words)]
	b.words[k] |= b.last
	b.last = o.last
}

// reserve makes sure that the next n bits find room without moving.
func (b *bitWriter) reserve(n int) {
	if k := bitWords(b.n + n); k > cap(b.words) {
		b.words = append(make([]uint64, 0, k), b.words...)
	}
}

// packed is all bits, the last word filled up with zeros. Nothing may be appended afterwards.
func (b *bitWriter) packed() []uint64 {
	if b.n&63 != 0 {
		return append(b.words, b.last)
	}
	return b.words
}

// runCounts is the order of allocation as the layout's digest takes it: for each run of variables of one class twice their
// number, and 1 more if they are bits.
type runCounts []uint64

func (l *runCounts) add(n int, bit bool) {
	if n > 0 {
		l.addRun(runCount(n, bit))
	}
}

func runCount(n int, bit bool) uint64 {
	if bit {
		return uint64(n)<<1 | 1
	}
	return uint64(n) << 1
}

func (l *runCounts) addRun(v uint64) {
	if k := len(*l) - 1; k >= 0 && ((*l)[k]^v)&1 == 0 {
		(*l)[k] += v &^ 1
	} else {
		*l = append(*l, v)
	}
}

// append adds the runs of another list after this one's.
func (l *runCounts) append(m runCounts) {
	if len(m) > 0 {
		l.addRun(m[0])
		*l = append(*l, m[1:]...)
	}
}
