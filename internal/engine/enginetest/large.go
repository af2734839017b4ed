package enginetest

import (
	"bufio"
	"context"
	"encoding/binary"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// RunLarge holds engines, by name, to the sums of circuits of the given numbers of rows. open returns what makes a key of n
// points in each group; the suite closes it, and the engines too. A key takes up to 500 bytes a row in a temporary file.
func RunLarge(
	t *testing.T, rows []int, open func(t testing.TB, n int) engine.KeyMaker, engines map[string]func(testing.TB) engine.Engine,
) {
	for _, n := range rows {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			l := newLarge(t, n)
			m := open(t, 2*l.domain)
			l.makeKey(t, m)
			require.NoError(t, m.Close())
			l.expect(t)
			for name, engine := range engines {
				t.Run(name, func(t *testing.T) {
					e := engine(t)
					defer func() { require.NoError(t, e.Close()) }()
					l.require(t, e)
				})
			}
		})
	}
}

// large is a made-up circuit of any size with a key whose points are known multiples of the generators, so that the sums are
// known without work in a group. Among random ones it has the scalars 0, 1, 2 and r−1, a stretch of equal scalars, stretches
// of bits that are all set or all clear, generators and their opposites as points, and neighbours whose scalars are equal
// and whose points are equal or opposite, so that sums on the way are at infinity. Variables are numbered: inputs, then
// private ones.
type large struct {
	domain  int
	rows    *pce.Rows
	witness *pce.Witness
	values  []fr.Element            // by variable
	with    map[srs.Section][]int32 // the variables that have a point there
	x, step fr.Element              // points of H are multiples by step·x^i
	key     *srs.Key
	want    engine.PartialSums
}

// Tags of random elements.
const (
	tagValue = iota
	tagRowA
	tagRowB
	tagEqual
	tagPowers
	tagL
	tagA
	tagB1
	tagB2
)

const edgePeriod = 61

// pseudo is the i-th random element of a tag.
func pseudo(tag uint64, i int) fr.Element {
	var p rand.PCG
	p.Seed(tag, uint64(i))
	return fr.Element{p.Uint64(), p.Uint64(), p.Uint64(), p.Uint64() >> 2}
}

// largeValue is the value of a variable that is no bit.
func largeValue(v int) (e fr.Element) {
	switch v % edgePeriod {
	case 0:
		return e
	case 1:
		return *e.SetOne()
	case 2:
		return *e.SetInt64(-1)
	case 3:
		return *e.SetUint64(2)
	case 13, 17:
		return largeValue(v - 1)
	}
	if stretch(v) == 5 {
		return pseudo(tagEqual, 0)
	}
	return pseudo(tagValue, v)
}

// largeBit is the value of a variable that is a bit.
func largeBit(v int) bool {
	switch stretch(v) {
	case 7:
		return true
	case 9:
		return false
	}
	return pseudo(tagValue, v)[0]&1 == 1
}

// stretch numbers stretches of variables from 0 to 15, over and over.
func stretch(v int) int { return v >> 12 % 16 }

// factor says which multiple of the generator the point of a variable is.
func factor(s srs.Section, v int) (e fr.Element) {
	switch v % edgePeriod {
	case 5:
		return *e.SetOne()
	case 6:
		return *e.SetInt64(-1)
	case 13:
		return factor(s, v-1)
	case 17:
		e = factor(s, v-1)
		return *e.Neg(&e)
	}
	return pseudo(tagOf(s), v)
}

func tagOf(s srs.Section) uint64 {
	switch s {
	case srs.L:
		return tagL
	case srs.A:
		return tagA
	case srs.BG1:
		return tagB1
	}
	return tagB2
}

// newLarge makes rows and witness.
func newLarge(t testing.TB, rows int) *large {
	t.Helper()
	inputs := min(rows/4, 5) + 1
	aux := rows - inputs
	l := &large{
		domain: 1 << bits.Len(uint(rows-1)), values: make([]fr.Element, rows), with: map[srs.Section][]int32{},
		x: pseudo(tagPowers, 0), step: pseudo(tagPowers, 1),
	}
	layout := &pce.Layout{Densities: pce.Densities{
		AAux: pce.NewBitset(aux), BAux: pce.NewBitset(aux), BInput: pce.NewBitset(inputs),
	}}
	binary.LittleEndian.PutUint64(layout.Digest[:], uint64(rows))
	l.witness = &pce.Witness{Layout: layout.Digest}
	l.fillInputs(layout, inputs)
	r := rand.New(rand.NewPCG(uint64(rows), 11))
	for v, bit := inputs, false; v < rows; bit = !bit {
		n := min(1+r.IntN(200), rows-v)
		l.fillRun(layout, v, n, bit)
		v += n
	}
	layout.Counts = pce.Counts{Rows: aux, Inputs: inputs, Aux: aux, Bits: l.witness.NumBits, Dense: len(l.witness.Dense)}
	l.rows = &pce.Rows{Layout: layout, A: make([]fr.Element, rows), B: make([]fr.Element, rows), C: make([]fr.Element, rows)}
	l.each(t, rows, func(i int) { l.fillRow(i) })
	return l
}

// each calls f for all numbers below n, on all processors.
func (l *large) each(t testing.TB, n int, f func(i int)) {
	t.Helper()
	require.NoError(t, parallel.Ranges(t.Context(), n, 1<<12, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			f(i)
		}
		return nil
	}))
}

func (l *large) fillInputs(layout *pce.Layout, n int) {
	for v := range n {
		l.values[v] = pseudo(tagValue, v)
		if v == 0 {
			l.values[v].SetOne()
		}
		l.with[srs.A] = append(l.with[srs.A], int32(v))
		if v%2 == 0 {
			layout.Densities.BInput.Set(v)
			l.with[srs.BG1] = append(l.with[srs.BG1], int32(v))
		}
	}
	l.with[srs.BG2] = l.with[srs.BG1]
	l.witness.Inputs = l.values[:n]
}

// fillRun makes n private variables of one class from variable v on.
func (l *large) fillRun(layout *pce.Layout, v, n int, bit bool) {
	w, inputs := l.witness, len(l.witness.Inputs)
	run := pce.Run{Start: v - inputs, N: n, First: len(w.Dense), Bit: bit}
	if bit {
		run.First = w.NumBits
	}
	layout.Runs = append(layout.Runs, run)
	for end := v + n; v < end; v++ {
		if bit {
			if w.NumBits%64 == 0 {
				w.Bits = append(w.Bits, 0)
			}
			if largeBit(v) {
				l.values[v].SetOne()
				w.Bits[w.NumBits/64] |= 1 << (w.NumBits % 64)
			}
			w.NumBits++
		} else {
			l.values[v] = largeValue(v)
			w.Dense = append(w.Dense, l.values[v])
		}
		l.with[srs.L] = append(l.with[srs.L], int32(v))
		switch v / 8 % 4 {
		case 0, 2:
			layout.Densities.AAux.Set(v - inputs)
			l.with[srs.A] = append(l.with[srs.A], int32(v))
		case 1:
			layout.Densities.AAux.Set(v - inputs)
			layout.Densities.BAux.Set(v - inputs)
			l.with[srs.A] = append(l.with[srs.A], int32(v))
			l.with[srs.BG1] = append(l.with[srs.BG1], int32(v))
		}
	}
	l.with[srs.BG2] = l.with[srs.BG1]
}

func (l *large) fillRow(i int) {
	a, b := pseudo(tagRowA, i), pseudo(tagRowB, i)
	switch i % edgePeriod {
	case 0:
		a.SetZero()
	case 1:
		a.SetOne()
		b.SetOne()
	case 2:
		a.SetInt64(-1)
	case 3:
		b.SetZero()
	}
	l.rows.A[i], l.rows.B[i] = a, b
	l.rows.C[i].Mul(&a, &b)
}

// makeKey writes the key to a temporary file and opens it.
func (l *large) makeKey(t testing.TB, m engine.KeyMaker) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key.params")
	f, err := os.Create(path)
	require.NoError(t, err)
	buffered := bufio.NewWriterSize(f, 1<<20)
	_, _, g1, g2 := bls12381.Generators()
	vk := &srs.VerifyingKey{AlphaG1: g1, BetaG1: g1, DeltaG1: g1, BetaG2: g2, GammaG2: g2, DeltaG2: g2}
	for range l.witness.Inputs {
		vk.IC = append(vk.IC, g1)
	}
	w := srs.NewWriter(buffered, vk)
	require.NoError(t, w.Begin(srs.H, l.domain-1))
	require.NoError(t, m.G1Powers(t.Context(), l.domain-1, l.x, l.step, w.Encoded))
	var factors []fr.Element
	for _, s := range []srs.Section{srs.L, srs.A, srs.BG1, srs.BG2} {
		with, products := l.with[s], m.G1
		if s == srs.BG2 {
			products = m.G2
		}
		require.NoError(t, w.Begin(s, len(with)))
		require.NoError(t, products(t.Context(), len(with), func(lo, hi int) []fr.Element {
			if len(factors) < hi-lo {
				factors = make([]fr.Element, hi-lo)
			}
			l.each(t, hi-lo, func(i int) { factors[i] = factor(s, int(with[lo+i])) })
			return factors[:hi-lo]
		}, w.Encoded))
	}
	require.NoError(t, w.Finish())
	require.NoError(t, buffered.Flush())
	require.NoError(t, f.Close())
	l.key, err = srs.Open(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.key.Close()) })
}

// expect works the sums out in the field.
func (l *large) expect(t testing.TB) {
	t.Helper()
	_, _, g1, g2 := bls12381.Generators()
	one := func(k fr.Element) (p bls12381.G1Affine) {
		return *p.ScalarMultiplication(&g1, k.BigInt(new(big.Int)))
	}
	sum := func(s srs.Section) fr.Element {
		with := l.with[s]
		return l.sum(t, len(with), func(i int) (p fr.Element) {
			f := factor(s, int(with[i]))
			return *p.Mul(&f, &l.values[with[i]])
		})
	}
	l.want = engine.PartialSums{H: one(l.expectH(t)), L: one(sum(srs.L)), A: one(sum(srs.A)), B1: one(sum(srs.BG1))}
	b := sum(srs.BG2)
	l.want.B2.ScalarMultiplication(&g2, b.BigInt(new(big.Int)))
}

// expectH is step·h(x), h being (A·B − C)/(x^m − 1).
func (l *large) expectH(t testing.TB) fr.Element {
	t.Helper()
	weights := make([]fr.Element, len(l.rows.A))
	lagrange(&l.x, l.domain, len(weights), func(lo int, w []fr.Element) { copy(weights[lo:], w) })
	at := func(values []fr.Element) fr.Element {
		return l.sum(t, len(values), func(i int) (p fr.Element) { return *p.Mul(&values[i], &weights[i]) })
	}
	h, b, c, z := at(l.rows.A), at(l.rows.B), at(l.rows.C), vanishing(&l.x, l.domain)
	h.Mul(&h, &b).Sub(&h, &c).Div(&h, &z)
	return *h.Mul(&h, &l.step)
}

// sum is Σ f(i) for i below n, on all processors.
func (l *large) sum(t testing.TB, n int, f func(i int) fr.Element) (total fr.Element) {
	t.Helper()
	var mu sync.Mutex
	require.NoError(t, parallel.Ranges(t.Context(), n, 1<<14, func(_, lo, hi int) error {
		var sum fr.Element
		for i := lo; i < hi; i++ {
			x := f(i)
			sum.Add(&sum, &x)
		}
		mu.Lock()
		defer mu.Unlock()
		total.Add(&total, &sum)
		return nil
	}))
	return total
}

// require proves twice and compares, and lets a row be wrong, which must be found.
func (l *large) require(t testing.TB, e engine.Engine) {
	t.Helper()
	loaded, err := e.Load(t.Context(), nil, l.key)
	require.NoError(t, err)
	defer func() { require.NoError(t, loaded.Close()) }()
	for range 2 {
		got, err := l.prove(t.Context(), loaded)
		require.NoError(t, err)
		require.Equal(t, l.want, *got)
	}
	row := &l.rows.C[len(l.rows.C)/3]
	before, one := *row, fr.One()
	row.Add(row, &one)
	defer func() { *row = before }()
	_, err = l.prove(t.Context(), loaded)
	var u *engine.UnsatisfiedError
	require.ErrorAs(t, err, &u)
	require.Equal(t, len(l.rows.C)/3, u.Row)
}

func (l *large) prove(ctx context.Context, loaded engine.Loaded) (*engine.PartialSums, error) {
	a, err := loaded.AssignRows(ctx, l.witness, l.rows)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	return (&bench{loaded: loaded}).finish(ctx, a, nil)
}
