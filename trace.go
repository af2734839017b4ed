package cuzk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/parallel"
)

// Trace writes a timeline of an Engine's work in Chrome's trace event format, which Perfetto and chrome://tracing open: a
// row for each worker of each device with the phases of its partitions, one with what its GPU did by its own clock, rows
// for what waited, marks for retries and lost devices, and curves of promised memory.
//
// It may be used by several goroutines and by several Engines. A slow writer does not hold proofs up: events that it
// falls behind by more than 16 MiB are left out and counted. A file that was not closed can still be opened.
type Trace struct {
	start time.Time
	wake  chan struct{} // there is something to write
	done  chan struct{} // the writer has returned

	mu      sync.Mutex
	pending []byte // not yet taken by the writer
	events  int
	dropped int
	closed  bool
	err     error // of the writer
	devices map[string]int
	rows    map[rowKey][]row
	threads int
}

// maxPending is how many bytes may wait for the writer.
const maxPending = 16 << 20

// Categories of spans; each has its own rows.
const (
	traceHost  = "host"  // phases, by the host's clock
	traceGPU   = "gpu"   // the same by the GPU's
	traceQueue = "queue" // partitions that wait for a worker
)

// span is something that took time, or for instant something that happened.
type span struct {
	Name, Category string
	Device         device.Info // the zero Info for what belongs to none
	Worker         int
	Job            uint64
	Circuit        string
	Partition      int
	Start          time.Time
	Dur            time.Duration
	Err            error // how it ended
}

// rowKey is what has rows of its own.
type rowKey struct {
	process, worker int
	category        string
}

// rowOf is where a span belongs. Those of the queue are not told apart by worker.
func rowOf(process int, s *span) rowKey {
	if s.Category == traceQueue {
		return rowKey{process: process, category: s.Category}
	}
	return rowKey{process, s.Worker, s.Category}
}

// row is a line of the timeline. Spans on it do not overlap.
type row struct {
	thread int
	end    time.Duration // of its last span
}

// NewTrace begins a trace, which must be closed. w is written to by one goroutine.
func NewTrace(w io.Writer) *Trace {
	t := &Trace{
		start: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{}), pending: []byte("[\n"),
		devices: map[string]int{}, rows: map[rowKey][]row{},
	}
	go t.write(w)
	return t
}

// Close writes what is left and ends the trace; later events are ignored. It does not close the writer, and returns its
// first error, or says how many events were left out. Closing again returns the same.
func (t *Trace) Close() error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		t.pending = append(t.pending, "\n]\n"...)
	}
	t.mu.Unlock()
	t.signal()
	<-t.done
	switch {
	case t.err != nil:
		return fmt.Errorf("cuzk: trace: %w", t.err)
	case t.dropped > 0:
		return fmt.Errorf("cuzk: trace: %w: %d", errDropped, t.dropped)
	}
	return nil
}

var errDropped = errors.New("the writer was too slow; events left out")

// signal wakes the writer.
func (t *Trace) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// write brings events to w until the trace is closed.
func (t *Trace) write(w io.Writer) {
	defer close(t.done)
	var spare []byte
	for range t.wake {
		t.mu.Lock()
		events, closed, failed := t.pending, t.closed, t.err != nil
		t.pending = spare[:0]
		t.mu.Unlock()
		if !failed {
			err := parallel.Guard(func() error {
				_, err := w.Write(events)
				return err
			})
			if err != nil {
				t.mu.Lock()
				t.err = err
				t.mu.Unlock()
			}
		}
		if closed {
			return
		}
		spare = events
	}
}

// traceEvent is one event of the format. Times are in microseconds.
type traceEvent struct {
	Name     string   `json:"name"`
	Category string   `json:"cat,omitempty"`
	Phase    string   `json:"ph"`
	Scope    string   `json:"s,omitempty"`
	Time     float64  `json:"ts"`
	Duration *float64 `json:"dur,omitempty"`
	Process  int      `json:"pid"`
	Thread   int      `json:"tid"`
	Args     any      `json:"args,omitempty"`
}

// traceArgs are shown with a span.
type traceArgs struct {
	Job       uint64 `json:"job,omitempty"`
	Circuit   string `json:"circuit,omitempty"`
	Partition int    `json:"partition"`
	Err       string `json:"error,omitempty"`
}

func (s *span) args() traceArgs {
	a := traceArgs{Job: s.Job, Circuit: s.Circuit, Partition: s.Partition}
	if s.Err != nil {
		a.Err = s.Err.Error()
	}
	return a
}

// span adds a span that has ended. A nil Trace does nothing.
func (t *Trace) span(s span) {
	t.add(func() {
		begin := s.Start.Sub(t.start)
		dur := microseconds(s.Dur)
		process := t.process(&s.Device)
		thread := t.thread(rowOf(process, &s), begin, begin+s.Dur)
		t.append(&traceEvent{Name: s.Name, Category: s.Category, Phase: "X", Time: microseconds(begin), Duration: &dur,
			Process: process, Thread: thread, Args: s.args()})
	})
}

// instant marks on the rows of a device, or of all, that something happened at s.Start.
func (t *Trace) instant(s span) {
	t.add(func() {
		scope := "p"
		if s.Device.Name == "" {
			scope = "g"
		}
		t.append(&traceEvent{Name: s.Name, Category: s.Category, Phase: "i", Scope: scope,
			Time: microseconds(s.Start.Sub(t.start)), Process: t.process(&s.Device), Args: s.args()})
	})
}

// memory adds a point to the curve of what is promised of a device's memory.
func (t *Trace) memory(d device.Device) {
	if t == nil {
		return
	}
	now, info, leased := time.Now(), d.Info(), d.Stats().LeasedBytes
	t.add(func() {
		t.append(&traceEvent{Name: "promised bytes", Phase: "C", Time: microseconds(now.Sub(t.start)), Process: t.process(&info),
			Args: map[string]int64{"value": leased}})
	})
}

// add appends what event appends, if there is room for it.
func (t *Trace) add(event func()) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed || t.err != nil:
	case len(t.pending) > maxPending:
		t.dropped++
	default:
		event()
		t.signal()
	}
}

func (t *Trace) append(e *traceEvent) {
	b, err := json.Marshal(e)
	if err != nil {
		t.err = err
		return
	}
	if t.events > 0 {
		t.pending = append(t.pending, ",\n"...)
	}
	t.pending = append(t.pending, b...)
	t.events++
}

// process is the number of a device's group of rows.
func (t *Trace) process(d *device.Info) int {
	name := d.Name
	switch {
	case name == "":
		name = "jobs"
	case d.UUID != "":
		name = fmt.Sprintf("%d %s %s", d.Ordinal, d.Name, d.UUID)
	}
	n, ok := t.devices[name]
	if !ok {
		n = len(t.devices) + 1
		t.devices[name] = n
		t.append(&traceEvent{Name: "process_name", Phase: "M", Process: n, Args: map[string]string{"name": name}})
	}
	return n
}

// thread is the number of the first row of key that is free from begin on, which is taken until end.
func (t *Trace) thread(key rowKey, begin, end time.Duration) int {
	rows := t.rows[key]
	for i := range rows {
		if rows[i].end <= begin {
			rows[i].end = end
			return rows[i].thread
		}
	}
	t.threads++
	t.rows[key] = append(rows, row{t.threads, end})
	t.append(&traceEvent{Name: "thread_name", Phase: "M", Process: key.process, Thread: t.threads,
		Args: map[string]string{"name": key.name(len(rows))}})
	return t.threads
}

// name is what the row with the given number among those of a key is called.
func (k rowKey) name(i int) string {
	name := fmt.Sprintf("worker %d %s", k.worker, k.category)
	if k.category == traceQueue {
		name = traceQueue
	}
	if i > 0 {
		name += fmt.Sprintf(" (%d)", i+1)
	}
	return name
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
