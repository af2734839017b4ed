package queue

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(seconds int) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(seconds) * time.Second)
}

// drain takes everything that one worker gets, at one time.
func drain(q *Queue, now time.Time, w Worker) (items []Item) {
	for {
		i, ok := q.Next(now, w, nil)
		if !ok {
			return items
		}
		items = append(items, i)
	}
}

func add(t *testing.T, q *Queue, id uint64, c Class, circuit string, partitions int) {
	t.Helper()
	require.NoError(t, q.Add(Job{ID: id, Class: c, Circuit: circuit, Partitions: partitions, Since: at(0)}))
}

func TestOrder(t *testing.T) {
	q := New(Options{})
	add(t, q, 1, Rest, "porep", 2)
	add(t, q, 2, Window, "window", 1)
	add(t, q, 3, Rest, "update", 1)
	add(t, q, 4, Winning, "winning", 1)
	add(t, q, 5, Window, "window", 2)
	require.Equal(t, []Item{{4, 0}, {2, 0}, {5, 0}, {5, 1}, {1, 0}, {1, 1}, {3, 0}}, drain(q, at(0), Worker{}))
	require.Zero(t, q.Len())
}

func TestAging(t *testing.T) {
	q := New(Options{Aging: time.Minute})
	require.NoError(t, q.Add(Job{ID: 1, Class: Rest, Partitions: 1, Since: at(0)}))
	for id := uint64(2); id < 6; id++ {
		require.NoError(t, q.Add(Job{ID: id, Class: Window, Partitions: 1, Since: at(100)}))
	}
	require.NoError(t, q.Add(Job{ID: 6, Class: Winning, Partitions: 1, Since: at(100)}))
	next := func(second int) uint64 {
		i, ok := q.Next(at(second), Worker{}, nil)
		require.True(t, ok)
		return i.Job
	}
	require.EqualValues(t, 6, next(100))
	require.EqualValues(t, 1, next(101)) // one class up, and the first of it
	require.EqualValues(t, 2, next(102))
	require.NoError(t, q.Add(Job{ID: 7, Class: Winning, Partitions: 1, Since: at(130)}))
	require.EqualValues(t, 7, next(130))
	require.EqualValues(t, 3, next(10_000)) // not higher than the highest class
	require.Equal(t, Winning, q.class(&job{Job: Job{Class: Rest, Since: at(0)}}, at(10_000)))
	require.Equal(t, Rest, q.class(&job{Job: Job{Class: Rest, Since: at(50)}}, at(0)), "a clock that was set back")
}

func TestExpressAndReservedWorkers(t *testing.T) {
	q := New(Options{Aging: time.Second})
	add(t, q, 1, Rest, "porep", 1)
	add(t, q, 2, Window, "window", 1)
	add(t, q, 3, Winning, "winning", 1)
	require.Equal(t, []Item{{3, 0}}, drain(q, at(1000), Worker{OnlyWinning: true}), "aging makes no WinningPoSt")
	require.Equal(t, []Item{{2, 0}}, drain(q, at(1000), Worker{Express: true}))
	require.Equal(t, []Item{{1, 0}}, drain(q, at(1000), Worker{}))
}

// A loaded circuit is preferred, but the head of the queue is passed over only so many times.
func TestPreferenceIsBounded(t *testing.T) {
	q := New(Options{Patience: 3})
	add(t, q, 1, Rest, "cold", 1)
	add(t, q, 2, Rest, "warm", 10)
	add(t, q, 3, Window, "cold", 1)
	w := Worker{Cost: func(circuit string) int {
		if circuit == "warm" {
			return 0
		}
		return 1
	}}
	var jobs []uint64
	for _, i := range drain(q, at(0), w) {
		jobs = append(jobs, i.Job)
	}
	require.Equal(t, []uint64{3, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2}, jobs, "another class is not passed over")
}

func TestDeference(t *testing.T) {
	q := New(Options{Patience: 3})
	add(t, q, 1, Rest, "a", 2)
	cost := func(n int) func(string) int { return func(string) int { return n } }
	cold, warm := Worker{Card: 0, Cost: cost(1)}, Worker{Card: 1, Cost: cost(0)}
	_, ok := q.Next(at(0), cold, []Worker{warm})
	require.False(t, ok, "the idle card has the key")
	_, ok = q.Next(at(0), warm, []Worker{cold})
	require.True(t, ok)
	_, ok = q.Next(at(0), cold, nil)
	require.True(t, ok, "nobody else is idle")

	add(t, q, 2, Rest, "a", 1)
	busy := Worker{Card: 0, Busy: 1}
	_, ok = q.Next(at(0), busy, []Worker{{Card: 1}})
	require.False(t, ok, "the idle card has less to do")
	_, ok = q.Next(at(0), busy, []Worker{{Card: 1, OnlyWinning: true}, {Card: 2, Express: true}, {Card: 3, Busy: 1}, {Card: 0}})
	require.True(t, ok, "none of them is better or takes it")
}

func TestReturnAndExclusion(t *testing.T) {
	q := New(Options{Limit: 1})
	first := Job{ID: 1, Class: Rest, Circuit: "a", Partitions: 3, Since: at(0)}
	require.NoError(t, q.Add(first))
	require.ErrorIs(t, q.Add(Job{ID: 2, Class: Rest, Partitions: 1}), ErrFull)
	require.NoError(t, q.Add(Job{ID: 3, Class: Winning, Partitions: 1}), "another class has a limit of its own")
	require.Len(t, drain(q, at(0), Worker{}), 4)
	require.NoError(t, q.Add(Job{ID: 4, Class: Rest, Partitions: 1, Since: at(0)}))
	q.Return(first, 1, Cards(0).With(0))
	q.Return(first, 0, Cards(0).With(1))
	require.Equal(t, []Item{{1, 0}, {4, 0}}, drain(q, at(0), Worker{Card: 0}))
	require.Equal(t, []Item{{1, 1}}, drain(q, at(0), Worker{Card: 1}))

	require.NoError(t, q.Add(Job{ID: 5, Class: Rest, Partitions: 2, Not: Cards(0).With(2)}))
	require.Empty(t, drain(q, at(0), Worker{Card: 2}))
	require.Empty(t, q.Orphans([]Worker{{Card: 2}, {Card: 3}}))
	require.Equal(t, []Item{{5, 0}, {5, 1}}, q.Orphans([]Worker{{Card: 2}, {Card: 3, OnlyWinning: true}}))
	require.Zero(t, q.Len())
	require.Nil(t, q.Remove(5))
}

func TestClassNames(t *testing.T) {
	require.Equal(t, "winning window sealing unknown", fmt.Sprint(Winning, Window, Rest, Classes))
}

// model keeps in a list what a Queue should have.
type model struct {
	t       *testing.T
	r       *rand.Rand
	q       *Queue
	now     time.Time
	waiting map[Item]Cards // with the cards that can't take it
	jobs    map[uint64]Job
	working map[Item]int // with the card that has it
	next    uint64
	loaded  [3]string // by card
}

const modelWorkers = 2 // of each card, and an express one

func (m *model) workers() (all []Worker) {
	for c := range m.loaded {
		busy := 0
		for _, card := range m.working {
			if card == c {
				busy++
			}
		}
		for i := range modelWorkers + 1 {
			all = append(all, Worker{Card: c, Express: i == modelWorkers, OnlyWinning: c == 2, Busy: busy,
				Cost: func(circuit string) int {
					if m.loaded[c] == circuit {
						return 0
					}
					return 1
				}})
		}
	}
	return all
}

// settle lets all idle workers ask, in a random order and again and again, as the Engine does, and then makes sure that
// nothing waits that one of them takes.
func (m *model) settle(idle []Worker) {
	for asked := 0; asked < len(idle); {
		i := m.r.IntN(len(idle))
		w := idle[i]
		others := slices.Delete(slices.Clone(idle), i, i+1)
		item, ok := m.q.Next(m.now, w, others)
		if !ok {
			asked++ // enough in a row, with luck; the check below does not rely on it
			continue
		}
		m.taken(w, item, others)
		idle, asked = others, 0
	}
	for again := true; again; {
		again = false
		for i, w := range idle {
			others := slices.Delete(slices.Clone(idle), i, i+1)
			if item, ok := m.q.Next(m.now, w, others); ok {
				m.taken(w, item, others)
				idle, again = others, true
				break
			}
		}
	}
	for item, not := range m.waiting {
		for _, w := range idle {
			require.False(m.t, w.Takes(m.jobs[item.Job].Class) && !not.Has(w.Card), "%v waits while %v is idle", item, w)
		}
	}
}

func (m *model) taken(w Worker, item Item, idle []Worker) {
	not, ok := m.waiting[item]
	require.True(m.t, ok, "%v was not waiting", item)
	require.False(m.t, not.Has(w.Card))
	j := m.jobs[item.Job]
	require.True(m.t, w.Takes(j.Class))
	class := m.q.class(&job{Job: j}, m.now)
	for other, not := range m.waiting { // nobody of a more urgent class is passed over
		o := m.jobs[other.Job]
		takes := func(x Worker) bool { return x.Takes(o.Class) && !not.Has(x.Card) }
		left := slices.ContainsFunc(idle, func(x Worker) bool { return x.Card != w.Card && takes(x) })
		if takes(w) && !left && m.q.class(&job{Job: o}, m.now) < class {
			m.t.Fatalf("%v was given out before %v", item, other)
		}
	}
	delete(m.waiting, item)
	m.working[item] = w.Card
	m.loaded[w.Card] = j.Circuit
}

// any is one of the partitions in work.
func (m *model) any() (Item, bool) {
	if len(m.working) == 0 {
		return Item{}, false
	}
	all := slices.SortedFunc(maps.Keys(m.working), func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), a.Partition-b.Partition)
	})
	return all[m.r.IntN(len(all))], true
}

// step does one thing at random.
func (m *model) step() {
	m.now = m.now.Add(time.Duration(m.r.IntN(20)) * time.Second)
	switch m.r.IntN(4) {
	case 0:
		m.next++
		j := Job{ID: m.next, Class: Class(m.r.IntN(3)), Circuit: string(rune('a' + m.r.IntN(4))), Partitions: 1 + m.r.IntN(4),
			Not: Cards(m.r.IntN(4)), Since: m.now}
		require.NoError(m.t, m.q.Add(j))
		m.jobs[j.ID] = j
		for k := range j.Partitions {
			m.waiting[Item{j.ID, k}] = j.Not
		}
	case 1: // one is done
		if item, ok := m.any(); ok {
			delete(m.working, item)
		}
	case 2: // one has failed
		if item, ok := m.any(); ok {
			j := m.jobs[item.Job]
			not := j.Not.With(m.working[item])
			delete(m.working, item)
			m.waiting[item] = not
			m.q.Return(j, item.Partition, not)
		}
	case 3: // a job is cancelled
		if m.next > 0 {
			id := 1 + m.r.Uint64N(m.next)
			for _, k := range m.q.Remove(id) {
				_, ok := m.waiting[Item{id, k}]
				require.True(m.t, ok)
				delete(m.waiting, Item{id, k})
			}
		}
	}
	require.Equal(m.t, len(m.waiting), m.q.Len())
}

// TestRandomOperations: nothing is lost or given out twice, no card gets what it may not have, and no worker that could work
// is idle.
func TestRandomOperations(t *testing.T) {
	for seed := range uint64(50) {
		m := &model{t: t, r: rand.New(rand.NewPCG(seed, 1)), q: New(Options{Aging: time.Minute, Patience: 2}), now: at(0),
			waiting: map[Item]Cards{}, jobs: map[uint64]Job{}, working: map[Item]int{}}
		for range 200 {
			m.step()
			var idle []Worker
			used := map[int]int{}
			for _, card := range m.working {
				used[card]++
			}
			for _, w := range m.workers() {
				if used[w.Card]--; used[w.Card] < 0 {
					idle = append(idle, w)
				}
			}
			m.settle(idle)
		}
	}
}

// TestNothingStarves: on a card whose key for other circuits is always loaded, and under a stream of more urgent jobs, every
// job's turn comes after a bounded number of others.
func TestNothingStarves(t *testing.T) {
	q := New(Options{Aging: time.Minute, Patience: 4})
	require.NoError(t, q.Add(Job{ID: 1, Class: Rest, Circuit: "cold", Partitions: 1, Since: at(0)}))
	w := Worker{Cost: func(circuit string) int {
		if circuit == "warm" {
			return 0
		}
		return 1
	}}
	for n := range 1000 {
		now := at(n)
		id := uint64(10 + 2*n)
		require.NoError(t, q.Add(Job{ID: id, Class: Winning, Circuit: "warm", Partitions: 1, Since: now}))
		require.NoError(t, q.Add(Job{ID: id + 1, Class: Rest, Circuit: "warm", Partitions: 1, Since: now}))
		item, ok := q.Next(now, w, nil)
		require.True(t, ok)
		if item.Job == 1 {
			require.LessOrEqual(t, n, 2*60+4+1)
			return
		}
	}
	t.Fatal("starved")
}
