package cuzk

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/queue"
)

// fakeCard is the memory of a card, and counts what its provers do.
type fakeCard struct {
	mu      sync.Mutex
	limit   int64
	leased  int64
	most    int64
	loads   map[string]int
	refuse  error // of the next load
	loading chan struct{}
}

// fakeProver takes memory and makes no proofs.
type fakeProver struct {
	card     *fakeCard
	bytes    int64
	streamed bool
	closed   bool
}

func (p *fakeProver) Device() device.Device { return device.CPU() }

func (p *fakeProver) Memory() groth16.Memory {
	return groth16.Memory{LeasedBytes: p.bytes, Streamed: p.streamed}
}

func (p *fakeProver) Prove(context.Context, []circuits.Circuit, *groth16.ProveOptions) (*groth16.Result, error) {
	return nil, errors.New("not here")
}

func (p *fakeProver) Close() error {
	p.card.mu.Lock()
	defer p.card.mu.Unlock()
	if !p.closed {
		p.card.leased -= p.bytes
	}
	p.closed = true
	return nil
}

// load takes as much as the circuit can use and the limit allows, and refuses what the card has not.
func (c *fakeCard) load(ctx context.Context, k *kind, limit int64) (groth16.Prover, error) {
	if c.loading != nil {
		select {
		case <-c.loading:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loads[k.name]++
	if err := c.refuse; err != nil {
		c.refuse = nil
		return nil, err
	}
	p := &fakeProver{card: c, bytes: min(limit, k.needs[0].AmpleBytes), streamed: limit < k.needs[0].AmpleBytes}
	c.leased += p.bytes
	c.most = max(c.most, c.leased)
	if c.leased > c.limit || p.bytes < k.needs[0].LeastBytes {
		return nil, errors.New("more was promised than there is")
	}
	return p, nil
}

func newFakeShelf(limit int64) (*fakeCard, *shelf) {
	c := &fakeCard{limit: limit, loads: map[string]int{}}
	return c, &shelf{
		log: slog.New(slog.DiscardHandler), limit: limit, books: map[string]*book{}, load: c.load,
		leased: func() int64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.leased
		},
	}
}

// fakeKey is a key of no bytes.
func fakeKey(t testing.TB) *groth16.ProvingKey {
	key, err := groth16.OpenProvingKey(enginetest.Small(t, "cubic").ParamsFile(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, key.Close()) })
	return key
}

func fakeKind(key *groth16.ProvingKey, name string, class queue.Class, least, ample int64) *kind {
	need := DeviceNeed{LeastBytes: least, AmpleBytes: ample, LimitBytes: 100}
	return &kind{name: name, class: class, key: key, needs: []DeviceNeed{need}}
}

func (s *shelf) mustGet(t *testing.T, k *kind) *book {
	t.Helper()
	b, err := s.acquire(t.Context(), k, k.class, k.needs[0])
	require.NoError(t, err)
	return b
}

// waiting waits until so many claims wait.
func (s *shelf) waiting(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.claims) == n
	}, 10*time.Second, time.Millisecond)
}

func TestShelfLoadsOnceAndKeeps(t *testing.T) {
	card, s := newFakeShelf(100)
	card.loading = make(chan struct{})
	a := fakeKind(fakeKey(t), "a", queue.Rest, 10, 60)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { s.release(s.mustGet(t, a)) })
	}
	s.waiting(t, 7)
	require.Equal(t, costLoad, s.cost("a", a.needs[0]))
	close(card.loading)
	wg.Wait()
	require.Equal(t, 1, card.loads["a"])
	require.Equal(t, costReady, s.cost("a", a.needs[0]))
	require.Equal(t, "a", s.keys()[0].Circuit)
	require.EqualValues(t, 60, s.keys()[0].Bytes)
	require.False(t, s.evictKey("a"))
	require.Zero(t, card.leased)
}

func TestShelfMakesRoom(t *testing.T) {
	card, s := newFakeShelf(100)
	key := fakeKey(t)
	a, b := fakeKind(key, "a", queue.Rest, 10, 40), fakeKind(key, "b", queue.Rest, 10, 40)
	c, big := fakeKind(key, "c", queue.Rest, 10, 40), fakeKind(key, "big", queue.Rest, 30, 200)
	s.release(s.mustGet(t, a))
	s.release(s.mustGet(t, b))
	s.release(s.mustGet(t, a)) // used later than b
	s.release(s.mustGet(t, c))
	require.Equal(t, []string{"a", "c"}, names(s), "the longest unused went")

	used := s.mustGet(t, a)
	require.Equal(t, costLoad, s.cost("big", big.needs[0]))
	inBig := s.mustGet(t, big) // its ample memory is out of reach, so nobody goes but to reach the least
	require.EqualValues(t, 60, inBig.bytes)
	require.Equal(t, []string{"a", "big"}, names(s))
	require.True(t, s.evictKey("big"), "it is used")
	require.Equal(t, costWait, s.cost("c", c.needs[0]))
	s.release(used)
	s.release(inBig)
	require.LessOrEqual(t, card.most, card.limit)
}

func names(s *shelf) (all []string) {
	for _, k := range s.keys() {
		all = append(all, k.Circuit)
	}
	return all
}

// A key of a more urgent class goes only to make room for the least of another.
func TestShelfKeepsUrgentKeys(t *testing.T) {
	_, s := newFakeShelf(100)
	key := fakeKey(t)
	winning := fakeKind(key, "winning", queue.Winning, 20, 20)
	rest, greedy := fakeKind(key, "rest", queue.Rest, 10, 100), fakeKind(key, "greedy", queue.Rest, 90, 100)
	s.release(s.mustGet(t, winning))
	b := s.mustGet(t, rest)
	require.EqualValues(t, 80, b.bytes)
	require.Equal(t, []string{"rest", "winning"}, names(s))
	s.release(b)
	s.release(s.mustGet(t, greedy))
	require.Equal(t, []string{"greedy"}, names(s))
}

// A key that was loaded into too little room is loaded again when there is room for all of it and nobody uses it.
func TestShelfLoadsCrampedKeysAgain(t *testing.T) {
	card, s := newFakeShelf(100)
	key := fakeKey(t)
	small, large := fakeKind(key, "small", queue.Rest, 30, 30), fakeKind(key, "large", queue.Rest, 10, 90)
	inSmall := s.mustGet(t, small)
	inLarge := s.mustGet(t, large)
	require.EqualValues(t, 70, inLarge.bytes)
	s.release(inLarge)
	s.release(s.mustGet(t, large))
	require.Equal(t, 1, card.loads["large"], "there is no more room than before")
	s.release(inSmall)
	require.False(t, s.evictKey("small"))

	inLarge = s.mustGet(t, large)
	require.EqualValues(t, 90, inLarge.bytes)
	require.Equal(t, 2, card.loads["large"])
	s.release(inLarge)
	s.release(s.mustGet(t, large))
	require.Equal(t, 2, card.loads["large"], "it has all that it can use")

	inLarge = s.mustGet(t, large)
	inLarge.bytes, inLarge.prover.(*fakeProver).streamed = 70, true // as if it were cramped
	require.Same(t, inLarge, s.mustGet(t, large), "others use it")
	require.Equal(t, 2, card.loads["large"])
	require.LessOrEqual(t, card.most, card.limit)
}

// Who waits for room is not overtaken but by more urgent claims, which are served at once.
func TestShelfOrder(t *testing.T) {
	_, s := newFakeShelf(100)
	key := fakeKey(t)
	a, b := fakeKind(key, "a", queue.Rest, 60, 60), fakeKind(key, "b", queue.Rest, 60, 60)
	winning := fakeKind(key, "winning", queue.Winning, 20, 20)
	inA := s.mustGet(t, a)
	s.release(s.mustGet(t, winning))

	got := make(chan string, 3)
	claim := func(k *kind, waiting int) {
		go func() {
			x, err := s.acquire(t.Context(), k, k.class, k.needs[0])
			if err == nil {
				got <- k.name
				s.release(x)
			}
		}()
		s.waiting(t, waiting)
	}
	claim(b, 1)
	claim(a, 2) // it is loaded, but b was first
	s.release(s.mustGet(t, winning))
	select {
	case name := <-got:
		t.Fatal(name)
	default:
	}
	s.release(inA)
	require.Equal(t, "b", <-got)
	require.Equal(t, "a", <-got)
}

func TestShelfRefusals(t *testing.T) {
	card, s := newFakeShelf(100)
	key := fakeKey(t)
	a, b := fakeKind(key, "a", queue.Rest, 60, 60), fakeKind(key, "b", queue.Rest, 50, 60)

	card.leased = 70 // by others, for whom nobody here can wait
	_, err := s.acquire(t.Context(), a, queue.Rest, a.needs[0])
	require.ErrorIs(t, err, device.ErrMemory)
	var short *MemoryError
	require.ErrorAs(t, err, &short)
	require.EqualValues(t, 30, short.Need.Devices[0].FreeBytes)
	require.ErrorContains(t, err, "need 60 bytes, or 60 for the whole key, 30 free, at most 100")
	card.leased = 0

	card.refuse = errors.New("bad key")
	_, err = s.acquire(t.Context(), a, queue.Rest, a.needs[0])
	require.ErrorContains(t, err, "bad key")
	load := s.load
	s.load = func(context.Context, *kind, int64) (groth16.Prover, error) { panic("broken") }
	_, err = s.acquire(t.Context(), a, queue.Rest, a.needs[0])
	require.ErrorContains(t, err, "internal error: broken")
	s.load = load
	s.release(s.mustGet(t, a)) // no fault is remembered

	card.refuse = device.ErrMemory // the card has less than it said: idle keys go, and it is tried once more
	s.limit = 200
	s.release(s.mustGet(t, b))
	require.Equal(t, []string{"b"}, names(s))
	require.Equal(t, 2, card.loads["b"])

	ctx, cancel := context.WithCancelCause(t.Context())
	s.limit = 100
	held := s.mustGet(t, b)
	done := make(chan error)
	go func() {
		_, err := s.acquire(ctx, a, queue.Rest, a.needs[0])
		done <- err
	}()
	s.waiting(t, 1)
	why := errors.New("enough")
	cancel(why)
	require.Equal(t, why, <-done)
	s.waiting(t, 0)
	s.fail(device.ErrLost)
	_, err = s.acquire(t.Context(), b, queue.Rest, b.needs[0])
	require.ErrorIs(t, err, device.ErrLost)
	s.release(held)
	s.evictIdle()
	require.Empty(t, names(s))
	require.Zero(t, card.leased)
}

// TestShelfRandom: many who want keys of all sizes, and give up at random, never take more than the card has and all come
// to an end.
func TestShelfRandom(t *testing.T) {
	card, s := newFakeShelf(100)
	key := fakeKey(t)
	var kinds []*kind
	for i, ample := range []int64{10, 30, 60, 90, 150} {
		kinds = append(kinds, fakeKind(key, string(rune('a'+i)), queue.Class(i%3), ample/3, ample))
	}
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 2))
			for range 300 {
				ctx, cancel := t.Context(), func() {}
				if r.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(300))*time.Microsecond)
				}
				k := kinds[r.IntN(len(kinds))]
				b, err := s.acquire(ctx, k, k.class, k.needs[0])
				switch {
				case err == nil:
					time.Sleep(time.Duration(r.IntN(100)) * time.Microsecond)
					s.release(b)
				case ctx.Err() == nil:
					t.Error(err)
				}
				cancel()
				if r.IntN(20) == 0 {
					s.evictKey(k.name)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, card.most, card.limit)
	s.evictIdle()
	require.Empty(t, s.books)
	require.Empty(t, s.claims)
	require.Zero(t, card.leased)
}
