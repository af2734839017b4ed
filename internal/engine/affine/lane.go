package affine

import (
	"context"
	"sync"
)

// lane is the buckets of one window.
type lane[E any, P Field[E]] struct {
	window        int
	group, groups int
	buckets       []Point[E] // bucket i takes points of digits ±(i+1)
}

// queue hands out (lane, piece) pairs so that no lane is given out twice at a time.
type queue[E any, P Field[E]] struct {
	mu     sync.Mutex
	freed  sync.Cond
	pieces int
	next   []int // by lane: the piece it gets next
	busy   []bool
	lanes  []*lane[E, P]
}

func newQueue[E any, P Field[E]](lanes []*lane[E, P], pieces int) *queue[E, P] {
	q := &queue[E, P]{pieces: pieces, next: make([]int, len(lanes)), busy: make([]bool, len(lanes)), lanes: lanes}
	q.freed.L = &q.mu
	for i, l := range lanes {
		q.next[i] = l.group
	}
	return q
}

// run takes pairs and works on them until none is left or ctx ends.
func (q *queue[E, P]) run(ctx context.Context, work func(l *lane[E, P], piece int)) error {
	for ctx.Err() == nil {
		i, piece := q.take()
		if i < 0 {
			return nil
		}
		func() {
			defer q.release(i)
			work(q.lanes[i], piece)
		}()
	}
	return context.Cause(ctx)
}

// take returns the free lane that is furthest behind, or -1 when no piece is left for any lane. It
// waits while all lanes with pieces left are busy.
func (q *queue[E, P]) take() (i, piece int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		best, open := -1, false
		for i, n := range q.next {
			if n >= q.pieces {
				continue
			}
			open = true
			if !q.busy[i] && (best < 0 || n < q.next[best]) {
				best = i
			}
		}
		if !open {
			return -1, 0
		}
		if best >= 0 {
			piece = q.next[best]
			q.next[best] += q.lanes[best].groups
			q.busy[best] = true
			return best, piece
		}
		q.freed.Wait()
	}
}

func (q *queue[E, P]) release(i int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy[i] = false
	q.freed.Broadcast()
}
