package queue

import (
	"slices"
	"time"
)

// Next takes out the partition that a worker is to work on now. idle are the other workers that have asked and got
// nothing since: they are to ask again whenever a partition was taken or has come.
func (q *Queue) Next(now time.Time, w Worker, idle []Worker) (Item, bool) {
	var head, choice *job
	var at, cost int
	for _, j := range q.order(now) {
		if !w.Takes(j.Class) {
			continue
		}
		i := j.firstFor(w)
		if i < 0 || j.deferred(i, w, idle) {
			continue
		}
		c := w.cost(j.Circuit)
		switch {
		case head == nil:
			head = j
		case q.class(j, now) != q.class(head, now), head.passed >= q.o.Patience:
			// Only equals of the head are preferred, and only while its patience lasts.
			return q.take(choice, at), true
		case c >= cost:
			continue
		}
		choice, at, cost = j, i, c
		if cost == 0 {
			break
		}
	}
	if choice == nil {
		return Item{}, false
	}
	if choice != head {
		head.passed++
	}
	return q.take(choice, at), true
}

// class is the class that a job has by now.
func (q *Queue) class(j *job, now time.Time) Class {
	if q.o.Aging <= 0 {
		return j.Class
	}
	return max(j.Class-Class(max(now.Sub(j.Since), 0)/q.o.Aging), 0)
}

// order is all jobs, the most urgent first.
func (q *Queue) order(now time.Time) []*job {
	order := slices.Clone(q.jobs)
	slices.SortStableFunc(order, func(a, b *job) int { return int(q.class(a, now) - q.class(b, now)) })
	return order
}

// firstFor is the place of the first partition that the worker's card may take, or -1.
func (j *job) firstFor(w Worker) int {
	return slices.IndexFunc(j.waiting, func(x waiting) bool { return !x.not.Has(w.Card) })
}

// deferred tells whether an idle worker of another card can start the partition at place i sooner than w.
func (j *job) deferred(i int, w Worker, idle []Worker) bool {
	cost := w.cost(j.Circuit)
	return slices.ContainsFunc(idle, func(o Worker) bool {
		if o.Card == w.Card || !o.Takes(j.Class) || j.waiting[i].not.Has(o.Card) {
			return false
		}
		c := o.cost(j.Circuit)
		return c < cost || c == cost && o.Busy < w.Busy
	})
}

// take takes the partition at place i out of a job.
func (q *Queue) take(j *job, i int) Item {
	item := Item{Job: j.ID, Partition: j.waiting[i].partition}
	j.waiting = slices.Delete(j.waiting, i, i+1)
	if len(j.waiting) == 0 {
		q.jobs = slices.DeleteFunc(q.jobs, func(o *job) bool { return o == j })
	}
	return item
}
