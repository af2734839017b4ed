package cuzk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gputest"
)

// shownEvent is an event as a viewer reads it.
type shownEvent struct {
	Name string          `json:"name"`
	Cat  string          `json:"cat"`
	Ph   string          `json:"ph"`
	S    string          `json:"s"`
	Ts   *float64        `json:"ts"`
	Dur  *float64        `json:"dur"`
	Pid  int             `json:"pid"`
	Tid  int             `json:"tid"`
	Args json.RawMessage `json:"args"`
}

func (e *shownEvent) args(t *testing.T) map[string]any {
	t.Helper()
	var a map[string]any
	require.NoError(t, json.Unmarshal(e.Args, &a))
	return a
}

// readTrace reads a trace and holds it to the rules of the format: a JSON array of events with the fields that their kind
// has, named processes and rows, and spans that do not overlap on their row.
func readTrace(t *testing.T, text []byte) (events []shownEvent, rows map[int]string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&events), "%s", text)
	_, err := d.Token()
	require.ErrorIs(t, err, io.EOF)
	processes, rows := map[int]string{}, map[int]string{}
	spans := map[int][]shownEvent{}
	for _, e := range events {
		require.NotEmpty(t, e.Name)
		require.NotNil(t, e.Ts)
		require.GreaterOrEqual(t, *e.Ts, 0.0)
		if e.Ph != "M" {
			require.Contains(t, processes, e.Pid)
		}
		switch e.Ph {
		case "X":
			require.NotNil(t, e.Dur)
			require.GreaterOrEqual(t, *e.Dur, 0.0)
			require.Contains(t, rows, e.Tid)
			spans[e.Tid] = append(spans[e.Tid], e)
		case "i":
			require.Contains(t, []string{"g", "p"}, e.S)
		case "C":
			require.Contains(t, e.args(t), "value")
		case "M":
			name := e.args(t)["name"].(string)
			switch e.Name {
			case "process_name":
				require.NotContains(t, processes, e.Pid)
				processes[e.Pid] = name
			case "thread_name":
				require.Contains(t, processes, e.Pid)
				require.NotContains(t, rows, e.Tid)
				rows[e.Tid] = processes[e.Pid] + ": " + name
			default:
				t.Fatal(e.Name)
			}
		default:
			t.Fatal(e.Ph)
		}
	}
	for row, s := range spans {
		slices.SortStableFunc(s, func(a, b shownEvent) int { return cmp.Compare(*a.Ts, *b.Ts) })
		for i := 1; i < len(s); i++ {
			require.LessOrEqual(t, *s[i-1].Ts+*s[i-1].Dur, *s[i].Ts+0.001, "row %s", rows[row]) // 1 ns, for rounding
		}
	}
	return events, rows
}

func kindsOf(events []shownEvent, ph string) (found []shownEvent) {
	for _, e := range events {
		if e.Ph == ph {
			found = append(found, e)
		}
	}
	return found
}

func TestTraceFormat(t *testing.T) {
	var b bytes.Buffer
	trace := NewTrace(&b)
	card := device.Info{Ordinal: 2, UUID: "GPU-1", Name: "NVIDIA \"H200\" \x00\xff\u2028</script>"}
	trace.span(span{
		Name: "witness", Category: traceHost, Device: card, Worker: 1, Job: 7, Circuit: "porep-32GiB", Partition: 3,
		Start: trace.start.Add(1500 * time.Microsecond), Dur: 2001 * time.Nanosecond, Err: errors.New("a \"quoted\"\nreason"),
	})
	trace.instant(span{Name: "retry", Category: traceHost, Device: card, Start: trace.start.Add(time.Second)})
	trace.instant(span{Name: "closing", Start: trace.start})
	require.NoError(t, trace.Close())
	events, rows := readTrace(t, b.Bytes())

	spans := kindsOf(events, "X")
	require.Len(t, spans, 1)
	s := spans[0]
	require.Equal(t, "witness", s.Name)
	require.Equal(t, "host", s.Cat)
	require.Equal(t, []float64{1500, 2.001}, []float64{*s.Ts, *s.Dur})
	require.Equal(t, map[string]any{
		"job": 7.0, "circuit": "porep-32GiB", "partition": 3.0, "error": "a \"quoted\"\nreason",
	}, s.args(t))
	require.Equal(t, "2 NVIDIA \"H200\" \x00\ufffd\u2028</script> GPU-1: worker 1 host", rows[s.Tid])
	instants := kindsOf(events, "i")
	require.Len(t, instants, 2)
	require.Equal(t, s.Pid, instants[0].Pid)
	require.Equal(t, []string{"p", "g"}, []string{instants[0].S, instants[1].S})
}

// The curve of a card has what is promised of it.
func TestTraceMemory(t *testing.T) {
	var b bytes.Buffer
	trace := NewTrace(&b)
	_, cards := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
	for _, c := range cards {
		trace.memory(c)
	}
	v := enginetest.Small(t, "cubic")
	key, err := groth16.OpenProvingKey(v.ParamsFile(t))
	require.NoError(t, err)
	p, err := groth16.NewProver(t.Context(), key, v.System(t), &groth16.ProverOptions{Device: cards[1]})
	require.NoError(t, err)
	trace.memory(cards[1])
	leased := cards[1].Stats().LeasedBytes
	require.Positive(t, leased)
	require.NoError(t, errors.Join(p.Close(), key.Close()))
	trace.memory(cards[1])
	require.NoError(t, trace.Close())
	events, _ := readTrace(t, b.Bytes())
	byProcess := map[int][]any{}
	for _, e := range kindsOf(events, "C") {
		require.Equal(t, "promised bytes", e.Name)
		byProcess[e.Pid] = append(byProcess[e.Pid], e.args(t)["value"])
	}
	require.Equal(t, map[int][]any{1: {0.0}, 2: {0.0, float64(leased), 0.0}}, byProcess)
}

func TestEmptyTrace(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, NewTrace(&b).Close())
	events, _ := readTrace(t, b.Bytes())
	require.Empty(t, events)

	var none *Trace
	none.span(span{})
	none.instant(span{})
	none.memory(device.CPU())
}

// Spans that overlap in time are put on different rows, and no more rows are made than needed.
func TestTraceRows(t *testing.T) {
	var b bytes.Buffer
	trace := NewTrace(&b)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range 200 {
				trace.span(span{
					Name: fmt.Sprint(i), Category: []string{traceHost, traceGPU, traceQueue}[i%3], Worker: w % 2,
					Start: trace.start.Add(time.Duration(i+3)*time.Millisecond - time.Duration(r.IntN(3e6))),
					Dur:   time.Duration(r.IntN(3e6)),
				})
			}
		})
	}
	wg.Wait()
	require.NoError(t, trace.Close())
	events, rows := readTrace(t, b.Bytes())
	require.Len(t, kindsOf(events, "X"), 800)
	require.Less(t, len(rows), 40)
	require.Contains(t, fmt.Sprint(rows), "jobs: queue")

	b.Reset()
	trace = NewTrace(&b)
	for i := range 100 { // one after the other, each beginning where the last has ended
		trace.span(span{Name: "x", Category: traceHost, Start: trace.start.Add(time.Duration(i) * 333), Dur: 333})
	}
	require.NoError(t, trace.Close())
	_, rows = readTrace(t, b.Bytes())
	require.Len(t, rows, 1)
}

// A trace that was cut off, for instance since the process died, lacks nothing but its end.
func TestTraceCutOff(t *testing.T) {
	r, w := io.Pipe()
	trace := NewTrace(w)
	trace.span(span{Name: "x", Category: traceHost, Start: trace.start, Dur: time.Second})
	text := make([]byte, 1<<16)
	n, err := r.Read(text)
	require.NoError(t, err)
	events, _ := readTrace(t, append(text[:n:n], ']'))
	require.Len(t, kindsOf(events, "X"), 1)
	go io.Copy(io.Discard, r)
	require.NoError(t, trace.Close())
	require.NoError(t, trace.Close())
	trace.span(span{Name: "late", Start: time.Now()})
	require.NoError(t, trace.Close())
}

// limitedWriter fails after some bytes.
type limitedWriter struct {
	left, failed int
	err          error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		w.failed++
		return 0, w.err
	}
	return len(p), nil
}

func TestTraceOfFailingWriter(t *testing.T) {
	full := errors.New("no space left")
	w := &limitedWriter{left: 1000, err: full}
	trace := NewTrace(w)
	for i := range 10_000 {
		trace.span(span{Name: strings.Repeat("x", 100), Category: traceHost, Worker: i % 3, Start: time.Now()})
	}
	require.ErrorIs(t, trace.Close(), full)
	require.ErrorIs(t, trace.Close(), full)
	require.Equal(t, 1, w.failed, "a writer that has failed is left alone")
	require.LessOrEqual(t, cap(trace.pending), 1<<22, "what can't be written is not kept")
}

// gatedWriter lets nothing through until gate is closed.
type gatedWriter struct {
	gate chan struct{}
	bytes.Buffer
}

func (w *gatedWriter) Write(p []byte) (int, error) {
	<-w.gate
	return w.Buffer.Write(p)
}

// A writer that hangs holds nobody up and takes no more than a bounded memory.
func TestTraceOfHangingWriter(t *testing.T) {
	w := &gatedWriter{gate: make(chan struct{})}
	trace := NewTrace(w)
	name := strings.Repeat("x", 1<<10)
	const n = 40_000 // 40 MB
	for range n {
		trace.span(span{Name: name, Category: traceQueue, Start: trace.start})
	}
	require.Less(t, cap(trace.pending), 3*maxPending)
	close(w.gate)
	err := trace.Close()
	require.ErrorIs(t, err, errDropped)
	events, _ := readTrace(t, w.Bytes())
	shown := len(kindsOf(events, "X"))
	require.Positive(t, shown)
	require.Contains(t, err.Error(), fmt.Sprint(n-shown))
}

// The timeline of an Engine has every phase of every partition, on the rows of the cards that made them.
func TestTraceOfEngine(t *testing.T) {
	const jobs, partitions = 3, 4
	v := enginetest.Small(t, "cubic")
	dir := t.TempDir()
	system := v.System(t)
	_, err := groth16.WriteTestKey(t.Context(), dir, system, &groth16.TestKeyOptions{Backend: groth16.BackendCPU})
	require.NoError(t, err)
	_, cards := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
	var b bytes.Buffer
	trace := NewTrace(&b)
	e, err := Open(t.Context(), &Options{
		Params: TestParamsFolder(dir), Cache: dir, Devices: []DeviceOptions{{Device: cards[0]}, {Device: cards[1]}}, Trace: trace,
	})
	require.NoError(t, err)
	var all []*Job
	for range jobs {
		j, err := e.Submit(t.Context(), Statements(slices.Repeat([]circuits.Circuit{v.Circuit}, partitions)...), nil)
		require.NoError(t, err)
		all = append(all, j)
	}
	made := map[string]string{} // by job and partition, where
	for _, j := range all {
		r, err := j.Wait(t.Context())
		require.NoError(t, err)
		for i, p := range r.Partitions {
			made[fmt.Sprint(j.ID(), i)] = p.Device.UUID
		}
	}
	require.NoError(t, e.Close(t.Context()))
	require.NoError(t, trace.Close())

	events, rows := readTrace(t, b.Bytes())
	phases := map[string][]string{}
	for _, s := range kindsOf(events, "X") {
		a := s.args(t)
		key := fmt.Sprint(a["job"], a["partition"])
		phases[key] = append(phases[key], s.Cat+" "+s.Name)
		if s.Cat != traceQueue {
			require.Contains(t, rows[s.Tid], made[key])
		}
	}
	require.Len(t, phases, jobs*partitions)
	for _, p := range phases {
		require.ElementsMatch(t, []string{
			"queue queue", "host load", "host witness", "host assign", "host quotient", "host sums", "host assemble", "host verify",
			"gpu assign", "gpu quotient", "gpu sums",
		}, p)
	}
}
