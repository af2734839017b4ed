package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// Run holds an engine to its contract. open returns a new engine; the suite closes it.
func Run(t *testing.T, open func(t testing.TB) engine.Engine) {
	for name, test := range map[string]func(*testing.T, engine.Engine){
		"Sizes":        testSizes,
		"Patterns":     testPatterns,
		"Rows":         testRows,
		"Unsatisfied":  testUnsatisfied,
		"Layout":       testLayout,
		"Misuse":       testMisuse,
		"BadPoints":    testBadPoints,
		"Cancellation": testCancellation,
		"Concurrency":  testConcurrency,
		"Meter":        testMeter,
		"CloseTwice":   testCloseTwice,
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			t.Cleanup(func() { require.NoError(t, e.Close()) })
			test(t, e)
		})
	}
}

// bench is one circuit loaded with its key.
type bench struct {
	circuit *Explicit
	model   *model
	system  *pce.System
	key     *srs.Key
	witness *pce.Witness
	loaded  engine.Loaded
}

// prepare makes everything but what an engine loads.
func prepare(t testing.TB, c *Explicit) *bench {
	t.Helper()
	b := &bench{circuit: c, model: newModel(c, randomSecrets(rand.New(rand.NewPCG(3, 4))))}
	b.key = openKey(t, b.model.params(t))
	var err error
	b.system, err = pce.Record(t.Context(), c.Name(), c.Synthesize, nil)
	require.NoError(t, err)
	b.witness, err = pce.MakeWitness(t.Context(), c.Synthesize, nil)
	require.NoError(t, err)
	return b
}

func load(t testing.TB, e engine.Engine, c *Explicit) *bench {
	t.Helper()
	b := prepare(t, c)
	loaded, err := e.Load(t.Context(), b.system, b.key)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, loaded.Close()) })
	b.loaded = loaded
	return b
}

// prove goes through all steps.
func (b *bench) prove(ctx context.Context, m engine.Meter) (*engine.PartialSums, error) {
	a, err := b.loaded.Assign(ctx, b.witness)
	if err != nil {
		return nil, err
	}
	defer a.Release()
	return b.finish(ctx, a, m)
}

func (b *bench) finish(ctx context.Context, a engine.Assignment, m engine.Meter) (*engine.PartialSums, error) {
	h, err := b.loaded.Quotient(ctx, a, m)
	if err != nil {
		return nil, err
	}
	defer h.Release()
	return b.loaded.Sums(ctx, a, h, m)
}

func (b *bench) require(t testing.TB, got *engine.PartialSums) {
	t.Helper()
	x := b.model.expected()
	_, _, g1, g2 := bls12381.Generators()
	one := func(s fr.Element) (p bls12381.G1Affine) {
		return *p.ScalarMultiplication(&g1, s.BigInt(new(big.Int)))
	}
	var b2 bls12381.G2Affine
	b2.ScalarMultiplication(&g2, x.b.BigInt(new(big.Int)))
	require.Equal(t, engine.PartialSums{H: one(x.h), L: one(x.l), A: one(x.a), B1: one(x.b), B2: b2}, *got)
}

func (b *bench) requireProves(t testing.TB) {
	t.Helper()
	got, err := b.prove(t.Context(), nil)
	require.NoError(t, err)
	b.require(t, got)
}

func testSizes(t *testing.T, e engine.Engine) {
	sizes := []int{1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33}
	if !testing.Short() {
		sizes = append(sizes, 255, 256, 257, 2047, 2048, 2049)
	}
	for _, n := range sizes {
		load(t, e, Generate(n, Random)).requireProves(t)
		load(t, e, Generate(n, Bits)).requireProves(t)
	}
}

func testPatterns(t *testing.T, e engine.Engine) {
	for _, p := range Patterns() {
		for _, n := range []int{3, 20, 150} {
			t.Run(fmt.Sprintf("%s/%d", p, n), func(t *testing.T) { load(t, e, Generate(n, p)).requireProves(t) })
		}
	}
}

// Rows that were evaluated during synthesis give the same sums, with and without a system.
func testRows(t *testing.T, e engine.Engine) {
	b := load(t, e, Generate(300, Bits))
	w, rows, err := pce.Direct(t.Context(), b.circuit.Synthesize)
	require.NoError(t, err)
	without, err := e.Load(t.Context(), nil, b.key)
	require.NoError(t, err)
	defer without.Close()
	_, err = without.Assign(t.Context(), b.witness)
	require.ErrorIs(t, err, engine.ErrForeign)
	for _, l := range []engine.Loaded{b.loaded, without} {
		b.loaded = l
		own := &pce.Rows{Layout: rows.Layout, A: slices.Clone(rows.A), B: slices.Clone(rows.B), C: slices.Clone(rows.C)}
		a, err := l.AssignRows(t.Context(), w, own)
		require.NoError(t, err)
		for _, v := range [][]fr.Element{own.A, own.B, own.C} {
			clear(v) // the engine is done with them
		}
		got, err := b.finish(t.Context(), a, nil)
		require.NoError(t, err)
		b.require(t, got)
		a.Release()
	}
}

func testUnsatisfied(t *testing.T, e engine.Engine) {
	c := Generate(200, Random)
	for _, row := range []int{0, 77, len(c.Rows) - 1} {
		damaged := *c
		damaged.Rows = append([]Row{}, c.Rows...)
		var r Row
		for m := range r {
			r[m] = append([]Term{}, c.Rows[row][m]...)
		}
		one := fr.One()
		r[2][0].Coeff.Add(&r[2][0].Coeff, &one)
		damaged.Rows[row] = r
		_, err := load(t, e, &damaged).prove(t.Context(), nil)
		require.ErrorIs(t, err, pce.ErrUnsatisfied)
		var u *engine.UnsatisfiedError
		require.ErrorAs(t, err, &u)
		require.Equal(t, row, u.Row)
	}
}

func testLayout(t *testing.T, e engine.Engine) {
	b := load(t, e, Generate(100, Bits))
	for _, other := range []*Explicit{Generate(101, Bits), Generate(100, Random)} {
		w, err := pce.MakeWitness(t.Context(), other.Synthesize, nil)
		require.NoError(t, err)
		_, err = b.loaded.Assign(t.Context(), w)
		require.ErrorIs(t, err, pce.ErrLayout)
		_, rows, err := pce.Direct(t.Context(), b.circuit.Synthesize)
		require.NoError(t, err)
		_, err = b.loaded.AssignRows(t.Context(), w, rows)
		require.ErrorIs(t, err, pce.ErrLayout)
	}
	w, rows, err := pce.Direct(t.Context(), Generate(300, Bits).Synthesize)
	require.NoError(t, err)
	_, err = b.loaded.AssignRows(t.Context(), w, rows)
	require.ErrorIs(t, err, engine.ErrForeign)
}

func testMisuse(t *testing.T, e engine.Engine) {
	b, other := load(t, e, Generate(50, Random)), load(t, e, Generate(50, Random))
	a, err := b.loaded.Assign(t.Context(), b.witness)
	require.NoError(t, err)
	_, err = other.loaded.Quotient(t.Context(), a, nil)
	require.ErrorIs(t, err, engine.ErrForeign)
	h, err := b.loaded.Quotient(t.Context(), a, nil)
	require.NoError(t, err)
	_, err = b.loaded.Quotient(t.Context(), a, nil)
	require.ErrorIs(t, err, engine.ErrUsed)
	_, err = other.loaded.Sums(t.Context(), a, h, nil)
	require.ErrorIs(t, err, engine.ErrForeign)
	_, err = b.loaded.Sums(t.Context(), foreign{}, h, nil)
	require.ErrorIs(t, err, engine.ErrForeign)
	_, err = b.loaded.Sums(t.Context(), a, foreign{}, nil)
	require.ErrorIs(t, err, engine.ErrForeign)
	h.Release()
	h.Release()
	_, err = b.loaded.Sums(t.Context(), a, h, nil)
	require.ErrorIs(t, err, engine.ErrClosed)
	a.Release()
	a.Release()
	_, err = b.loaded.Quotient(t.Context(), a, nil)
	require.ErrorIs(t, err, engine.ErrClosed)
	b.requireProves(t)
}

type foreign struct{}

func (foreign) Release() {}

func (foreign) Times() engine.Times { return engine.Times{} }

// A damaged point is found when it is loaded or when it is needed, and named.
func testBadPoints(t *testing.T, e engine.Engine) {
	c := Generate(60, Random)
	mod := newModel(c, randomSecrets(rand.New(rand.NewPCG(5, 6))))
	good := mod.params(t)
	key := openKey(t, good)
	system, err := pce.Record(t.Context(), c.Name(), c.Synthesize, nil)
	require.NoError(t, err)
	w, err := pce.MakeWitness(t.Context(), c.Synthesize, nil)
	require.NoError(t, err)
	for _, s := range []srs.Section{srs.H, srs.L, srs.A, srs.BG1, srs.BG2} {
		n := key.Len(s)
		for _, index := range []int{0, n / 2, n - 1} {
			var at *srs.Error
			require.ErrorAs(t, key.PointError(s, index, errors.New("")), &at)
			bad := append([]byte{}, good...)
			bad[at.Offset+47] ^= 1
			loaded, err := e.Load(t.Context(), system, openKey(t, bad))
			if err == nil {
				_, err = (&bench{loaded: loaded, witness: w}).prove(t.Context(), nil)
				require.NoError(t, loaded.Close())
			}
			var got *srs.Error
			require.ErrorAs(t, err, &got, "%s %d", s, index)
			require.Equal(t, s, got.Section)
			require.Equal(t, index, got.Index)
			require.Equal(t, at.Offset, got.Offset)
		}
	}
}

// Wherever the context ends, the call returns its cause, soon, leaves no goroutine, and the next proof is right.
func testCancellation(t *testing.T, e engine.Engine) {
	b := load(t, e, Generate(500, Bits))
	b.requireProves(t)
	start := time.Now()
	b.requireProves(t)
	whole := time.Since(start)
	goroutines := runtime.NumGoroutine()
	r := rand.New(rand.NewPCG(8, 9))
	for range 10 {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(whole))), func() { cancel(cause) })
		start := time.Now()
		_, err := b.prove(ctx, nil)
		if err != nil {
			require.ErrorIs(t, err, cause)
		}
		require.Less(t, time.Since(start), whole+2*time.Second)
		timer.Stop()
		cancel(nil)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.prove(done, nil)
	require.ErrorIs(t, err, context.Canceled)
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines, "goroutines left")
	b.requireProves(t)
}

func testConcurrency(t *testing.T, e engine.Engine) {
	b := load(t, e, Generate(150, Bits))
	var wg sync.WaitGroup
	results := make([]*engine.PartialSums, 4)
	errs := make([]error, len(results))
	for i := range results {
		wg.Go(func() { results[i], errs[i] = b.prove(t.Context(), nil) })
	}
	wg.Wait()
	for i := range results {
		require.NoError(t, errs[i])
		b.require(t, results[i])
	}
}

// What is reported adds up to Work.
func testMeter(t *testing.T, e engine.Engine) {
	for _, n := range []int{1, 2, 100} {
		b := load(t, e, Generate(n, Bits))
		var sum atomic.Uint64
		_, err := b.prove(t.Context(), func(units uint64) { sum.Add(units) })
		require.NoError(t, err)
		require.Equal(t, b.loaded.Work(), sum.Load(), "%d rows", n)
	}
}

func testCloseTwice(t *testing.T, e engine.Engine) {
	b := load(t, e, Generate(40, Random))
	b.requireProves(t)
	require.NoError(t, b.loaded.Close())
	require.NoError(t, b.loaded.Close())
	_, err := b.loaded.Assign(t.Context(), b.witness)
	require.ErrorIs(t, err, engine.ErrClosed)
	require.NoError(t, e.Close())
}

// Bench is a satisfied circuit with its key, for tests of one engine.
type Bench struct{ b *bench }

// NewBench makes one with so many rows. Half of the variables are bits.
func NewBench(t testing.TB, rows int) *Bench { return &Bench{prepare(t, Generate(rows, Bits))} }

// Circuit is the circuit with its values.
func (b *Bench) Circuit() *Explicit { return b.b.circuit }

// System is the constraint system.
func (b *Bench) System() *pce.System { return b.b.system }

// Key is the proving key. It is closed with the test.
func (b *Bench) Key() *srs.Key { return b.b.key }

// ProveOn loads the key, proves once and closes what was loaded.
func (b *Bench) ProveOn(ctx context.Context, e engine.Engine) (sums *engine.PartialSums, err error) {
	l, err := e.Load(ctx, b.b.system, b.b.key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return b.ProveLoaded(ctx, l)
}

// ProveLoaded proves under a key that is loaded already.
func (b *Bench) ProveLoaded(ctx context.Context, l engine.Loaded) (*engine.PartialSums, error) {
	return (&bench{loaded: l, witness: b.b.witness}).prove(ctx, nil)
}

// Require compares sums with the right ones.
func (b *Bench) Require(t testing.TB, sums *engine.PartialSums) {
	t.Helper()
	b.b.require(t, sums)
}
