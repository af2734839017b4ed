package queue

import (
	"errors"
	"slices"
	"time"
)

// Class is how urgent a job is; lower goes first.
type Class int

// The classes.
const (
	Winning Class = iota
	Window
	Rest

	// Classes is how many there are.
	Classes
)

func (c Class) String() string {
	if c < 0 || c >= Classes {
		return "unknown"
	}
	return [Classes]string{"winning", "window", "sealing"}[c]
}

// ErrFull reports a class in which as many jobs wait as may.
var ErrFull = errors.New("queue: full")

// Options tunes a Queue.
type Options struct {
	// Limit is how many jobs of a class may wait. 0 is no limit.
	Limit int
	// Aging is how long a job waits before it moves up a class. 0 is for ever.
	Aging time.Duration
	// Patience is how often a job at the head may be passed over.
	Patience int
}

// Cards is a set of cards by number, from 0 to 63.
type Cards uint64

// Has tells whether a card is in the set.
func (c Cards) Has(card int) bool { return c>>card&1 == 1 }

// With is the set with one card more.
func (c Cards) With(card int) Cards { return c | 1<<card }

// Job describes a job.
type Job struct {
	ID         uint64 // jobs that come later have higher ones
	Class      Class
	Circuit    string
	Partitions int
	Not        Cards // cards that can't take it
	Since      time.Time
}

// Item is a partition of a job.
type Item struct {
	Job       uint64
	Partition int
}

// Worker is one who asks for a partition: a place at a card.
type Worker struct {
	Card        int
	Express     bool // takes Winning and Window only
	OnlyWinning bool
	Busy        int // partitions that the card has in work
	// Cost is how soon the card could start a circuit; lower is sooner, and 0 is at once. Nil is always 0.
	Cost func(circuit string) int
}

func (w Worker) cost(circuit string) int {
	if w.Cost == nil {
		return 0
	}
	return w.Cost(circuit)
}

// Takes tells whether the worker takes jobs of a class.
func (w Worker) Takes(c Class) bool {
	return (!w.OnlyWinning || c == Winning) && (!w.Express || c < Rest)
}

// job is one that has partitions waiting.
type job struct {
	Job
	waiting []waiting // ascending
	passed  int       // how often it was passed over at the head
}

type waiting struct {
	partition int
	not       Cards
}

// Queue is the jobs that have partitions waiting. It is not safe for concurrent use.
type Queue struct {
	o    Options
	jobs []*job // by ID
}

// New makes an empty queue.
func New(o Options) *Queue { return &Queue{o: o} }

// Add lets all partitions of a job wait, or answers ErrFull.
func (q *Queue) Add(j Job) error {
	if q.o.Limit > 0 && q.Jobs(j.Class) >= q.o.Limit {
		return ErrFull
	}
	n := &job{Job: j}
	for k := range j.Partitions {
		n.waiting = append(n.waiting, waiting{partition: k, not: j.Not})
	}
	q.insert(n)
	return nil
}

// Return lets a partition of j wait again that Next has given out, for cards that are not in not. It is no addition:
// there is always room.
func (q *Queue) Return(j Job, partition int, not Cards) {
	i, found := q.find(j.ID)
	if !found {
		q.insert(&job{Job: j})
	}
	n := q.jobs[i]
	at, _ := slices.BinarySearchFunc(n.waiting, partition, func(w waiting, p int) int { return w.partition - p })
	n.waiting = slices.Insert(n.waiting, at, waiting{partition: partition, not: not})
}

// Remove takes out what waits of a job, and returns the partitions.
func (q *Queue) Remove(id uint64) []int {
	i, found := q.find(id)
	if !found {
		return nil
	}
	var out []int
	for _, w := range q.jobs[i].waiting {
		out = append(out, w.partition)
	}
	q.jobs = slices.Delete(q.jobs, i, i+1)
	return out
}

// Orphans takes out the partitions that none of the workers takes, and returns them.
func (q *Queue) Orphans(workers []Worker) []Item {
	var out []Item
	for _, j := range q.jobs {
		kept := j.waiting[:0]
		for _, w := range j.waiting {
			takes := func(x Worker) bool { return x.Takes(j.Class) && !w.not.Has(x.Card) }
			if slices.ContainsFunc(workers, takes) {
				kept = append(kept, w)
			} else {
				out = append(out, Item{Job: j.ID, Partition: w.partition})
			}
		}
		j.waiting = kept
	}
	q.jobs = slices.DeleteFunc(q.jobs, func(j *job) bool { return len(j.waiting) == 0 })
	return out
}

// Jobs is how many jobs of a class have partitions waiting.
func (q *Queue) Jobs(c Class) (n int) {
	for _, j := range q.jobs {
		if j.Class == c {
			n++
		}
	}
	return n
}

// Partitions is how many partitions of a class wait, and Oldest since when the first of their jobs has waited.
func (q *Queue) Partitions(c Class) (n int, oldest time.Time) {
	for _, j := range q.jobs {
		if j.Class != c {
			continue
		}
		n += len(j.waiting)
		if oldest.IsZero() || j.Since.Before(oldest) {
			oldest = j.Since
		}
	}
	return n, oldest
}

// Len is how many partitions wait.
func (q *Queue) Len() (n int) {
	for _, j := range q.jobs {
		n += len(j.waiting)
	}
	return n
}

func (q *Queue) find(id uint64) (int, bool) {
	return slices.BinarySearchFunc(q.jobs, id, func(j *job, id uint64) int {
		switch {
		case j.ID < id:
			return -1
		case j.ID > id:
			return 1
		}
		return 0
	})
}

func (q *Queue) insert(n *job) {
	i, _ := q.find(n.ID)
	q.jobs = slices.Insert(q.jobs, i, n)
}
