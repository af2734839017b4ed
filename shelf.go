package cuzk

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/queue"
)

// shelf is the provers of one card, by circuit. A prover takes memory of the card as long as it is on the shelf, so room
// is made before one is loaded: others that nobody uses go, the longest unused first. If that does not suffice the claim
// waits, and those behind it wait too, but for more urgent ones.
type shelf struct {
	log   *slog.Logger // names the card
	limit int64        // bytes that can be had in all; 0 for the processor
	// leased is how many bytes of the card are leased, by others too.
	leased func() int64
	// load makes a prover that takes at most limit bytes.
	load func(ctx context.Context, k *kind, limit int64) (groth16.Prover, error)

	mu      sync.Mutex
	books   map[string]*book
	claims  []*claim // most urgent first, then in order of coming
	foreign int64    // bytes that others have of the card, as last seen
	closed  error
}

// book is a prover on the shelf.
type book struct {
	kind   *kind
	state  bookState
	prover groth16.Prover // when it is ready
	bytes  int64          // of the card, or promised while it is being loaded
	limit  int64          // of bytes, when it was loaded
	users  int
	used   time.Time     // when a user came or went last
	gone   chan struct{} // made when it is closing; closed when it is closed
}

type bookState int

const (
	bookLoading bookState = iota
	bookReady
	bookClosing
)

// claim is one who wants a prover.
type claim struct {
	kind   *kind
	class  queue.Class
	need   DeviceNeed
	answer chan answer // has room for the one that is given, under the lock
}

// answer gives a prover, or a book to load one into.
type answer struct {
	book  *book
	load  bool
	limit int64 // of the memory of what is to be loaded
	err   error
}

// acquire returns a prover of a circuit, which is loaded if it is not there. It stays until it is released. Errors are
// those of groth16.NewProver; context.Cause(ctx) if ctx ends first.
func (s *shelf) acquire(ctx context.Context, k *kind, class queue.Class, need DeviceNeed) (*book, error) {
	c := &claim{kind: k, class: class, need: need, answer: make(chan answer, 1)}
	s.mu.Lock()
	at := 0
	for at < len(s.claims) && s.claims[at].class <= class {
		at++
	}
	s.claims = slices.Insert(s.claims, at, c)
	s.serve()
	s.mu.Unlock()

	var a answer
	select {
	case a = <-c.answer:
	case <-ctx.Done():
		s.withdraw(c)
		return nil, context.Cause(ctx)
	}
	if !a.load {
		return a.book, a.err
	}
	return a.book, s.fill(ctx, a)
}

// withdraw takes back a claim, or what it has got.
func (s *shelf) withdraw(c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.claims, c); i >= 0 {
		s.claims = slices.Delete(s.claims, i, i+1)
	} else if a := <-c.answer; a.load {
		delete(s.books, c.kind.name)
	} else if a.err == nil {
		a.book.users--
	}
	s.serve()
}

// fill loads a prover into a book. If the card turns out to have less memory than was thought, idle provers go first.
func (s *shelf) fill(ctx context.Context, a answer) error {
	start := time.Now()
	var p groth16.Prover
	load := func() (err error) {
		p, err = s.load(ctx, a.book.kind, a.limit)
		return err
	}
	err := parallel.Guard(load)
	if errors.Is(err, device.ErrMemory) && ctx.Err() == nil && s.evictIdle() > 0 {
		err = parallel.Guard(load)
	}
	s.filled(a.book, p, err)
	if err == nil {
		m := p.Memory()
		s.log.Info("key loaded", "circuit", a.book.kind.name, "bytes", m.LeasedBytes, "streamed", m.Streamed,
			"dur", time.Since(start))
	}
	return err
}

// filled notes that a prover was loaded into a book, or that it could not be.
func (s *shelf) filled(b *book, p groth16.Prover, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(s.books, b.kind.name)
	} else {
		b.state, b.prover, b.used, b.bytes = bookReady, p, time.Now(), p.Memory().LeasedBytes
	}
	s.serve()
}

// release ends a use of a prover.
func (s *shelf) release(b *book) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.users--
	b.used = time.Now()
	b.bytes = max(b.bytes, b.prover.Memory().LeasedBytes) // without a constraint system it is known only now
	s.serve()
}

// serve answers claims from the first on until there is one that has to wait for room. The caller holds the lock.
func (s *shelf) serve() {
	for i := 0; i < len(s.claims); {
		c := s.claims[i]
		a, wait := s.decide(c)
		switch {
		case !wait:
			c.answer <- a
			s.claims = slices.Delete(s.claims, i, i+1)
		case s.books[c.kind.name] != nil: // it is on its way
			i++
		default:
			return
		}
	}
}

// decide is the answer to a claim, or tells that it has to wait.
func (s *shelf) decide(c *claim) (a answer, wait bool) {
	if s.closed != nil {
		return answer{err: s.closed}, false
	}
	if b := s.books[c.kind.name]; b != nil {
		if b.state != bookReady {
			return answer{}, true
		}
		if s.cramped(b, c) { // it is loaded anew when it is gone
			s.evict(b)
			return answer{}, true
		}
		b.users++
		b.used = time.Now()
		return answer{book: b}, false
	}
	limit, ok := s.room(c)
	if ok {
		b := &book{kind: c.kind, bytes: limit, limit: limit, users: 1}
		s.books[c.kind.name] = b
		return answer{book: b, load: true, limit: limit}, false
	}
	if s.unused() { // nothing will be given back here
		free := s.free()
		need := &Need{Circuit: c.kind.name, KeyBytes: c.kind.key.Bytes(), Devices: []DeviceNeed{c.need}}
		need.Devices[0].FreeBytes = max(free, 0)
		return answer{err: &MemoryError{Need: need}}, false
	}
	return answer{}, true
}

// cramped tells whether a prover that nobody uses streams its key, and the whole key would fit by now. To load it costs about
// as much as to stream it once. The caller holds the lock.
func (s *shelf) cramped(b *book, c *claim) bool {
	ample := c.need.AmpleBytes // 0 without a constraint system
	return b.users == 0 && b.limit < ample && b.prover.Memory().Streamed && s.free()+b.bytes >= ample
}

// free is what can be had of the card now. The caller holds the lock.
func (s *shelf) free() int64 {
	var own int64
	settled := true
	for _, b := range s.books {
		own += b.bytes
		settled = settled && b.state == bookReady
	}
	if settled { // otherwise some of what is leased may be promised here already
		s.foreign = max(s.leased()-own, 0)
	}
	return s.limit - s.foreign - own
}

// room finds memory for a prover: as much as it can use if no more urgent one has to go for that, else at least the least.
// If it has to wait until others are gone the answer is no.
func (s *shelf) room(c *claim) (limit int64, ok bool) {
	least, ample := c.need.LeastBytes, c.need.AmpleBytes
	free := s.free()
	if free >= ample {
		return ample, true
	}
	leaving := int64(0)
	for _, b := range s.books {
		if b.state == bookClosing {
			leaving += b.bytes
		}
	}
	idle := s.idle()
	for _, want := range []struct {
		bytes int64
		books []*book
	}{
		{ample, slices.DeleteFunc(slices.Clone(idle), func(b *book) bool { return b.kind.class < c.class })},
		{least, idle},
	} {
		missing := want.bytes - free - leaving
		if missing <= 0 {
			break
		}
		if sum(want.books) < missing {
			continue
		}
		for _, b := range want.books {
			if missing > 0 {
				missing -= b.bytes
				s.evict(b)
			}
		}
		return 0, false
	}
	return free, free >= least && leaving == 0
}

func sum(books []*book) (n int64) {
	for _, b := range books {
		n += b.bytes
	}
	return n
}

// idle are the provers that nobody uses, in the order in which they go: the least urgent first, then the longest unused.
func (s *shelf) idle() []*book {
	var idle []*book
	for _, b := range s.books {
		if b.state == bookReady && b.users == 0 {
			idle = append(idle, b)
		}
	}
	slices.SortFunc(idle, func(a, b *book) int {
		return cmp.Or(int(b.kind.class-a.kind.class), a.used.Compare(b.used))
	})
	return idle
}

// unused tells whether no prover is used, being loaded or going.
func (s *shelf) unused() bool {
	for _, b := range s.books {
		if b.users > 0 || b.state != bookReady {
			return false
		}
	}
	return true
}

// evict closes an idle prover on a goroutine of its own; its memory counts until that is done. The caller holds the lock.
func (s *shelf) evict(b *book) {
	b.state, b.gone = bookClosing, make(chan struct{})
	go func() {
		defer close(b.gone)
		err := b.prover.Close()
		if err != nil {
			s.log.Warn("key not given back", "circuit", b.kind.name, "bytes", b.bytes, "err", err)
		} else {
			s.log.Info("key evicted", "circuit", b.kind.name, "bytes", b.bytes)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.books, b.kind.name)
		s.serve()
	}()
}

// evictIdle evicts all idle provers, waits until all that are closing are closed, and says how many that were.
func (s *shelf) evictIdle() int {
	s.mu.Lock()
	for _, b := range s.idle() {
		s.evict(b)
	}
	var gone []chan struct{}
	for _, b := range s.books {
		if b.state == bookClosing {
			gone = append(gone, b.gone)
		}
	}
	s.mu.Unlock()
	for _, c := range gone {
		<-c
	}
	return len(gone)
}

// evictKey evicts the prover of a circuit, if there is one, or tells that it is used.
func (s *shelf) evictKey(name string) (used bool) {
	s.mu.Lock()
	b := s.books[name]
	switch {
	case b == nil:
		s.mu.Unlock()
		return false
	case b.users > 0 || b.state == bookLoading:
		s.mu.Unlock()
		return true
	case b.state == bookReady:
		s.evict(b)
	}
	s.mu.Unlock()
	<-b.gone
	return false
}

// costs of starting a circuit.
const (
	costReady = iota // at once
	costLoad
	costWait // for partitions of others to end
)

// cost is how soon a partition of a circuit could start here. It asks nobody.
func (s *shelf) cost(name string, need DeviceNeed) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[name]; b != nil {
		if b.state == bookReady {
			return costReady
		}
		return costLoad
	}
	free := s.limit - s.foreign
	for _, b := range s.books {
		if b.users > 0 || b.state == bookLoading {
			free -= b.bytes
		}
	}
	if free < need.LeastBytes {
		return costWait
	}
	return costLoad
}

// fail answers all claims with err from now on. Provers that are in use stay.
func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = err
		s.serve()
	}
}
