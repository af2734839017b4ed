package gpu

import (
	"context"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/internal/urgency"
)

// gate holds work back at the edge of its pieces while more urgent work is under way on the card.
type gate struct {
	mu      sync.Mutex
	active  map[int]int   // streams that are bound, by the level of their work
	waiting int           // streams held back
	yields  int64         // pieces that were held back
	changed chan struct{} // closed when the last stream of a level leaves; nil if nobody has waited since
}

// pass is a stream's place in a gate. It is known to the stream's handle, so that a stream that nobody closes leaves too.
type pass struct {
	g     *gate
	level int
	in    bool // under g.mu
}

// enter counts the stream as active at a level.
func (p *pass) enter(level int) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.in && p.level == level {
		return
	}
	p.drop()
	if p.g.active == nil {
		p.g.active = map[int]int{}
	}
	p.level, p.in = level, true
	p.g.active[level]++
}

// leave counts the stream as idle.
func (p *pass) leave() {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.drop()
}

// drop takes the stream out. The caller holds the lock.
func (p *pass) drop() {
	if !p.in {
		return
	}
	p.in = false
	g := p.g
	if g.active[p.level]--; g.active[p.level] > 0 {
		return
	}
	delete(g.active, p.level)
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// held gives a channel that is closed when a stream that holds back may go on, or nil if it may now.
func (p *pass) held() <-chan struct{} {
	g := p.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if !p.in {
		return nil
	}
	for level := range g.active {
		if level > p.level {
			if g.changed == nil {
				g.changed = make(chan struct{})
			}
			return g.changed
		}
	}
	return nil
}

// wait counts a stream as held back, and resume as no longer so.
func (g *gate) wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
	g.yields++
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

// begin waits, before the first work of a piece, until no stream with more urgent work is active. After
// [Options.Patience] the piece may run all the same, so that nothing waits for ever.
func (s *Stream) begin(op string) error {
	if s.begun {
		return nil
	}
	if held := s.pass.held(); held != nil {
		if err := s.yield(op, held); err != nil {
			return err
		}
	}
	s.begun = true
	return nil
}

// yield waits while the stream is held back.
func (s *Stream) yield(op string, held <-chan struct{}) error {
	s.d.gate.wait()
	defer s.d.gate.resume()
	late := time.NewTimer(s.d.opts.Patience)
	defer late.Stop()
	for ; held != nil; held = s.pass.held() {
		select {
		case <-held:
		case <-late.C:
			return nil
		case <-s.ctx.Done():
			return ended(s.ctx, op)
		case <-s.d.gone:
			return s.d.alive(op)
		}
	}
	return nil
}

// Bind lets every later call that enqueues work answer the cause of ctx, before it enqueues anything, once ctx is done. Wait
// and the closes are not affected.
//
// From then on the stream's work is as urgent as ctx says, and counts as under way until the next Bind: less urgent
// streams of the card begin no new piece meanwhile, and this one begins none while more urgent ones are bound, but one each
// time it has waited for [Options.Patience]. Nil and context.Background() unbind: the stream is idle, and what is enqueued
// all the same waits for nobody.
func (s *Stream) Bind(ctx context.Context) {
	s.ctx, s.begun = ctx, false
	if ctx == nil || ctx == context.Background() {
		s.pass.leave()
	} else {
		s.pass.enter(urgency.Of(ctx))
	}
}
