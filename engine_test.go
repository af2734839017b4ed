package cuzk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/queue"
)

func TestOptionsSayAllThatIsWrong(t *testing.T) {
	_, err := Open(t.Context(), nil)
	require.EqualError(t, err, "cuzk: option Params: none given")
	_, err = Open(t.Context(), &Options{
		Backend: 7, Workers: -1, HostMemory: -2, QueueLimit: -3, Aging: -4,
		Devices: []DeviceOptions{{Name: "0", Device: device.CPU(), MemoryLimit: -5, Watchdog: -6, Workers: 65}, {}},
	})
	require.EqualError(t, err, `cuzk: option Params: none given
cuzk: option Backend: 7 is not one of 0 to 2
cuzk: option Workers: -1 is not one of 0 to 64
cuzk: option HostMemory: -2 bytes
cuzk: option QueueLimit: -3
cuzk: option Aging: -4ns
cuzk: option Devices[0].Workers: 65 is not one of 0 to 64
cuzk: option Devices[0].Name: "0", and Device is given: true; want one of them
cuzk: option Devices[0].Device: the processor is asked for by Backend
cuzk: option Devices[0].Device: MemoryLimit -5 and Watchdog -6ns are for a device that is named
cuzk: option Devices[0].MemoryLimit: -5 bytes
cuzk: option Devices[0].Watchdog: -6ns
cuzk: option Devices[1].Name: "", and Device is given: false; want one of them`)
	d := cardsOf(t, 1)
	_, err = Open(t.Context(), &Options{Params: ParamsFolder(t.TempDir()), Devices: append(d, d...)})
	require.ErrorContains(t, err, "cuzk: option Devices: Fake GPU (GPU-fa000000-0000-0000-0000-000000000001) is given twice")
	_, err = Open(t.Context(), &Options{Params: ParamsFolder(t.TempDir()), Backend: groth16.BackendCPU, Devices: d})
	require.ErrorContains(t, err, "cuzk: option Devices: 1 given for backend cpu")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, &Options{Params: ParamsFolder(t.TempDir()), Backend: groth16.BackendCPU})
	require.ErrorIs(t, err, context.Canceled)
}

// held lets proofs wait until they are told to end, and notes in what order they began.
type held struct {
	mu    sync.Mutex
	order []string
	begun chan string
	end   chan struct{}
}

func newHeld() *held { return &held{begun: make(chan string, 1000), end: make(chan struct{})} }

func (h *held) prove(ctx context.Context, _ *card, _ *kind, o *groth16.ProveOptions) error {
	name := fmt.Sprint("priority ", o.Priority)
	h.mu.Lock()
	h.order = append(h.order, name)
	h.mu.Unlock()
	h.begun <- name
	select {
	case <-h.end:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Urgent jobs begin at once on a card that is busy with others, and go before those that wait.
func TestUrgentJobsBeginAtOnce(t *testing.T) {
	h := newHeld()
	e := scripted(t, Options{Devices: cardsOf(t, 1)}, h.prove)
	c := small(t, "cubic")
	jobs := []*Job{submit(t, e, taskOf(queue.Rest, c, 6), nil)}
	require.Equal(t, []string{"priority 0", "priority 0"}, []string{<-h.begun, <-h.begun})
	for _, class := range []queue.Class{queue.Rest, queue.Window, queue.Winning} {
		jobs = append(jobs, submit(t, e, taskOf(class, c, 1), nil))
		if class == queue.Window {
			require.Equal(t, "priority 1", <-h.begun, "on the express worker")
		}
	}
	require.Equal(t, JobQueued, jobs[3].Progress().State)
	require.Equal(t, []QueueStats{
		{Class: "winning", Jobs: 1, Partitions: 1}, {Class: "window"}, {Class: "sealing", Jobs: 2, Partitions: 5},
	}, withoutWaits(e.Stats().Queues))
	h.end <- struct{}{} // whichever of the three ends: the most urgent one is next
	require.Equal(t, "priority 2", <-h.begun)
	close(h.end)
	for _, j := range jobs {
		_, err := wait(t, j)
		require.NoError(t, err)
	}
}

func withoutWaits(q []QueueStats) []QueueStats {
	for i := range q {
		q[i].OldestWait = 0
	}
	return q
}

// Jobs go where they can start first: to a loaded key, or else to the card that has less to do.
func TestPartitionsSpread(t *testing.T) {
	h := newHeld()
	e := scripted(t, Options{Devices: cardsOf(t, 3)}, h.prove)
	c := small(t, "cubic")
	close(h.end)
	_, err := wait(t, submit(t, e, taskOf(queue.Rest, c, 1), nil)) // makes the circuit known
	require.NoError(t, err)
	require.NoError(t, e.Preload(t.Context(), "", "cubic"))
	<-h.begun
	h.end = make(chan struct{})
	eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.idle) == 9
	})
	j := submit(t, e, taskOf(queue.Rest, c, 3), nil)
	for range 3 {
		<-h.begun
	}
	for _, d := range e.Stats().Devices {
		require.Equal(t, 1, d.Busy)
	}
	close(h.end)
	r, err := wait(t, j)
	require.NoError(t, err)
	require.Len(t, r.Bytes(), 3*groth16.ProofSize)

	require.NoError(t, e.Evict(t.Context(), "", "cubic"))
	uuid := e.cards[1].device.Info().UUID
	require.NoError(t, e.Preload(t.Context(), uuid, "cubic"))
	for range 20 { // one after another: always the card that has the key
		r, err := wait(t, submit(t, e, taskOf(queue.Rest, c, 1), nil))
		require.NoError(t, err)
		require.Equal(t, uuid, r.Partitions[0].Device.UUID)
	}
}

func TestReservedCard(t *testing.T) {
	h := newHeld()
	close(h.end)
	d := cardsOf(t, 2)
	d[0].OnlyWinning = true
	e := scripted(t, Options{Devices: d}, h.prove)
	c := small(t, "cubic")
	for range 20 {
		r, err := wait(t, submit(t, e, taskOf(queue.Rest, c, 4), nil))
		require.NoError(t, err)
		for _, p := range r.Partitions {
			require.Equal(t, 1, p.Device.Ordinal)
		}
	}
	only := scripted(t, Options{Devices: d[:1]}, h.prove)
	_, err := only.Submit(t.Context(), taskOf(queue.Window, c, 1), nil)
	require.ErrorIs(t, err, ErrTask)
	_, err = wait(t, submit(t, only, taskOf(queue.Winning, c, 1), nil))
	require.NoError(t, err)
	require.EqualValues(t, 1, only.Stats().Jobs[0].Refused)
}

// TestCancellations: 1,000 jobs are cancelled at random moments in all ways that there are. Nothing is left of them, and
// what was not cancelled is done.
func TestCancellations(t *testing.T) {
	var proved atomic.Int64
	e := scripted(t, Options{Devices: cardsOf(t, 4), HostMemory: 20 << 20},
		func(ctx context.Context, _ *card, _ *kind, _ *groth16.ProveOptions) error {
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			proved.Add(1)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return nil
		})
	list := []circuits.Circuit{small(t, "cubic"), small(t, "feistel"), small(t, "sparse")}
	for _, c := range list { // so that keys are open
		_, err := wait(t, submit(t, e, taskOf(queue.Rest, c, 1), nil))
		require.NoError(t, err)
	}
	goroutines := runtime.NumGoroutine()
	errEnough := errors.New("enough")
	var wg sync.WaitGroup
	for seed := range uint64(20) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 3))
			for range 50 {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if r.IntN(10) == 0 {
					cancel(errEnough) // before it is submitted
				}
				n := 1 + r.IntN(8)
				j, err := e.Submit(ctx, taskOf(queue.Class(r.IntN(3)), list[r.IntN(3)], n), nil)
				if err != nil {
					if !errors.Is(err, errEnough) {
						t.Error(err)
					}
					continue
				}
				time.Sleep(time.Duration(r.IntN(1000)) * time.Microsecond)
				want := errEnough
				if r.IntN(2) == 0 {
					j.Cancel()
					want = ErrCancelled
				} else {
					cancel(errEnough)
				}
				result, err := j.Wait(context.Background())
				good := 0
				for i, p := range result.Partitions {
					if p.Err == nil {
						good++
						continue
					}
					if !errors.Is(p.Err, want) || result.Proofs[i] != (groth16.Proof{}) {
						t.Errorf("partition %d: %v", i, p.Err)
					}
				}
				if (err == nil) != (good == n) || err == nil && len(result.Bytes()) != n*groth16.ProofSize {
					t.Errorf("%d of %d are good: %v", good, n, err)
				}
			}
		})
	}
	last := submit(t, e, taskOf(queue.Rest, list[0], 8), nil)
	wg.Wait()
	_, err := wait(t, last)
	require.NoError(t, err)
	require.Positive(t, proved.Load())
	requireQuiet(t, e)
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines })
	for _, k := range e.Stats().Jobs {
		require.Zero(t, k.Failed, k.Kind)
		require.Zero(t, k.Queued+k.Running, k.Kind)
	}
}

// faulty proves but on some cards or circuits.
type faulty struct {
	mu     sync.Mutex
	faults map[string]error // by "card n" or circuit; those of cards once unless the card is lost, all others always
}

func (f *faulty) prove(_ context.Context, c *card, k *kind, _ *groth16.ProveOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := fmt.Sprint("card ", c.index)
	if err := f.faults[name]; err != nil {
		if !errors.Is(err, device.ErrLost) {
			delete(f.faults, name)
		}
		return err
	}
	return f.faults[k.name]
}

func (f *faulty) set(name string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[name] = err
}

func TestPartitionsOfALostCardMove(t *testing.T) {
	f := &faulty{faults: map[string]error{}}
	failed := make(chan struct{})
	var once sync.Once
	prove := func(ctx context.Context, c *card, k *kind, o *groth16.ProveOptions) error {
		err := f.prove(ctx, c, k, o)
		if c.index == 0 && err != nil {
			once.Do(func() { close(failed) })
		} else if c.index == 1 && k.name == "cubic" { // slow, so that both cards get something
			<-failed
		}
		return err
	}
	e := scripted(t, Options{Devices: cardsOf(t, 2)}, prove)
	c := small(t, "cubic")
	f.set("card 0", fmt.Errorf("fell off the bus: %w", device.ErrLost))
	r, err := wait(t, submit(t, e, taskOf(queue.Rest, c, 12), nil))
	require.NoError(t, err)
	retried := 0
	for _, p := range r.Partitions {
		require.Equal(t, 1, p.Device.Ordinal)
		if p.Attempts == 2 {
			retried++
			require.ErrorIs(t, p.Fault, device.ErrLost)
		} else {
			require.NoError(t, p.Fault)
		}
	}
	require.NotZero(t, retried)
	require.LessOrEqual(t, retried, 2, "as many as were in work")
	s := e.Stats()
	require.EqualValues(t, retried, s.Partitions[0].Retried)
	require.EqualValues(t, 12, s.Partitions[0].Done)
	require.True(t, s.Devices[0].Stats.Lost)
	require.ErrorContains(t, s.Devices[0].Stats.Cause, "fell off the bus")
	require.False(t, s.Devices[1].Stats.Lost)
	require.EqualValues(t, 12, s.Devices[1].Done)

	f.set("card 1", device.ErrLost) // the last one
	_, err = wait(t, submit(t, e, taskOf(queue.Rest, c, 12), nil))
	require.ErrorIs(t, err, device.ErrLost)
	_, err = e.Submit(t.Context(), taskOf(queue.Rest, c, 1), nil)
	require.ErrorIs(t, err, device.ErrLost)
	require.ErrorContains(t, err, "fell off the bus")
}

// A partition has one retry: a job that takes a card down with every attempt takes two.
func TestOneRetry(t *testing.T) {
	f := &faulty{faults: map[string]error{"feistel": device.ErrLost}}
	e := scripted(t, Options{Devices: cardsOf(t, 3)}, f.prove)
	r, err := wait(t, submit(t, e, taskOf(queue.Rest, small(t, "feistel"), 1), nil))
	require.ErrorIs(t, err, device.ErrLost)
	require.ErrorContains(t, err, "cuzk: prove feistel partition 0 of 1: ")
	var p *PartitionError
	require.ErrorAs(t, err, &p)
	require.Equal(t, 2, p.Attempts)
	require.Equal(t, 2, r.Partitions[0].Attempts)
	require.Nil(t, r.Bytes())
	_, err = wait(t, submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 4), nil))
	require.NoError(t, err)
}

func TestWhatIsRetried(t *testing.T) {
	f := &faulty{faults: map[string]error{}}
	e := scripted(t, Options{Devices: cardsOf(t, 1)}, f.prove)
	c := small(t, "cubic")
	prove := func() (*Result, error) { return wait(t, submit(t, e, taskOf(queue.Rest, c, 1), nil)) }

	f.set("card 0", fmt.Errorf("others took it: %w", device.ErrMemory))
	r, err := prove()
	require.NoError(t, err, "once more on the same card")
	require.Equal(t, 2, r.Partitions[0].Attempts)
	require.ErrorIs(t, r.Partitions[0].Fault, device.ErrMemory)

	for _, fault := range []error{
		groth16.ErrUnsatisfied, groth16.ErrStatement, groth16.ErrInvalidProof, groth16.ErrEncoding, device.ErrMemory,
	} {
		f.set("cubic", fault)
		r, err := prove()
		require.ErrorIs(t, err, fault)
		require.Equal(t, errors.Is(fault, device.ErrMemory), r.Partitions[0].Attempts == 2, fault)
		require.Equal(t, groth16.Proof{}, r.Proofs[0])
		require.Nil(t, r.Bytes())
	}
	require.False(t, e.Stats().Devices[0].Stats.Lost)
}

// Without a good proof the native check says what is wrong; if it finds nothing, the device is at fault.
func TestNativeCheckExplains(t *testing.T) {
	f := &faulty{faults: map[string]error{}}
	e := scripted(t, Options{Devices: cardsOf(t, 2)}, f.prove)
	errField := errors.New("sector 7: comm_r is wrong")
	task := func(err error) Task {
		c := small(t, "cubic")
		return Task{kind: kindPoRep, class: queue.Rest, open: func() (*work, error) {
			return newWork([]circuits.Circuit{c}, func(context.Context, int) error { return err })
		}}
	}
	f.set("cubic", groth16.ErrUnsatisfied)
	_, err := wait(t, submit(t, e, task(errField), nil))
	require.ErrorIs(t, err, errField)
	require.ErrorIs(t, err, groth16.ErrUnsatisfied)

	f.set("cubic", nil)
	_, err = wait(t, submit(t, e, task(errField), nil))
	require.NoError(t, err, "it is not run for nothing")
	_, err = wait(t, submit(t, e, task(errField), &JobOptions{Check: true}))
	require.ErrorIs(t, err, errField)

	f.set("card 0", groth16.ErrInvalidProof)
	f.set("card 1", groth16.ErrInvalidProof)
	r, err := wait(t, submit(t, e, task(nil), nil))
	require.ErrorIs(t, err, ErrUnsound)
	require.Equal(t, 2, r.Partitions[0].Attempts, "on both cards")
	r, err = wait(t, submit(t, e, task(nil), nil))
	require.NoError(t, err)
	require.Equal(t, 1, r.Partitions[0].Attempts)
}

func TestFallBackToTheProcessor(t *testing.T) {
	f := &faulty{faults: map[string]error{"card 0": device.ErrLost}}
	e := scripted(t, Options{Devices: cardsOf(t, 1), CPUFallback: true}, f.prove)
	require.Len(t, e.Stats().Devices, 1)
	r, err := wait(t, submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 3), nil))
	require.NoError(t, err)
	for _, p := range r.Partitions {
		require.Equal(t, groth16.BackendCPU, p.Backend)
	}
	require.Len(t, e.Stats().Devices, 2)
	_, err = wait(t, submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 3), nil))
	require.NoError(t, err)
}

func TestQueueLimit(t *testing.T) {
	h := newHeld()
	e := scripted(t, Options{Devices: cardsOf(t, 1), QueueLimit: 2}, h.prove)
	c := small(t, "cubic")
	jobs := []*Job{submit(t, e, taskOf(queue.Rest, c, 2), nil)}
	<-h.begun
	<-h.begun // the queue is empty now
	for range 2 {
		jobs = append(jobs, submit(t, e, taskOf(queue.Rest, c, 1), nil))
	}
	_, err := e.Submit(t.Context(), taskOf(queue.Rest, c, 1), nil)
	require.ErrorIs(t, err, ErrBusy)
	require.EqualError(t, err, "cuzk: busy: 2 jobs of class sealing wait")
	jobs = append(jobs, submit(t, e, taskOf(queue.Winning, c, 1), nil))
	jobs[1].Cancel()
	_, err = wait(t, jobs[1])
	require.ErrorIs(t, err, ErrCancelled)
	jobs = append(jobs[:1], append(jobs[2:], submit(t, e, taskOf(queue.Rest, c, 1), nil))...)
	close(h.end)
	for _, j := range jobs {
		_, err := wait(t, j)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, e.Stats().Jobs[0].Refused)
	require.EqualValues(t, 1, e.Stats().Jobs[0].Cancelled)
}

func TestRefuseLate(t *testing.T) {
	h := newHeld()
	close(h.end)
	e := scripted(t, Options{Devices: cardsOf(t, 1)}, h.prove)
	c := small(t, "cubic")
	soon, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	late := &JobOptions{RefuseLate: true}
	j, err := e.Submit(soon, taskOf(queue.Rest, c, 3), late)
	require.NoError(t, err, "nothing is known yet")
	_, err = wait(t, j)
	require.NoError(t, err)
	k := e.kinds.get("cubic")
	k.times.mu.Lock()
	k.times.last = []time.Duration{time.Second, time.Hour, 31 * time.Minute} // the median counts
	k.times.mu.Unlock()
	_, err = e.Submit(soon, taskOf(queue.Rest, c, 3), late)
	require.ErrorIs(t, err, ErrLate)
	require.ErrorContains(t, err, "3 partitions of cubic take 1h2m0s with 2 workers, ")
	for _, again := range []func() (*Job, error){
		func() (*Job, error) { return e.Submit(soon, taskOf(queue.Rest, c, 2), late) },
		func() (*Job, error) { return e.Submit(soon, taskOf(queue.Rest, c, 3), nil) },
		func() (*Job, error) { return e.Submit(t.Context(), taskOf(queue.Rest, c, 3), late) },
	} {
		j, err := again()
		require.NoError(t, err)
		_, err = wait(t, j)
		require.NoError(t, err)
	}
}

// The host's memory is promised before a partition takes it: what does not fit at all is refused, the rest takes turns.
func TestHostMemory(t *testing.T) {
	var now, most atomic.Int64
	d := cardsOf(t, 3)
	prove := func(context.Context, *card, *kind, *groth16.ProveOptions) error {
		most.Store(max(most.Load(), now.Add(1))) // one at a time, so that no other one stores
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return nil
	}
	e := scripted(t, Options{Devices: d}, prove)
	c := small(t, "cubic")
	_, err := wait(t, submit(t, e, taskOf(queue.Rest, c, 1), nil))
	require.NoError(t, err)
	need, err := e.Estimate(t.Context(), "cubic")
	require.NoError(t, err)
	one := need.Devices[0].HostBytes
	require.Positive(t, one)

	tight := scripted(t, Options{Devices: d, HostMemory: 2*one - 1}, prove)
	most.Store(0)
	_, err = wait(t, submit(t, tight, taskOf(queue.Rest, c, 20), nil))
	require.NoError(t, err)
	require.EqualValues(t, 1, most.Load())
	require.Equal(t, one, tight.Stats().HostPeakBytes)

	tooTight := scripted(t, Options{Devices: d[:1], HostMemory: one - 1}, prove)
	_, err = tooTight.Submit(t.Context(), taskOf(queue.Rest, c, 1), nil)
	require.ErrorIs(t, err, device.ErrMemory)
	require.ErrorContains(t, err, fmt.Sprintf("a partition needs %d bytes of the host, the limit is %d", one, one-1))
}

func TestLedger(t *testing.T) {
	l := &ledger{limit: 10}
	require.NoError(t, l.take(t.Context(), 6, queue.Rest))
	got := make(chan int, 3)
	ask := func(n int64, class queue.Class, waiting int) {
		go func() {
			if l.take(t.Context(), n, class) == nil {
				got <- int(n)
			}
		}()
		eventually(t, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.queue) == waiting
		})
	}
	ask(9, queue.Rest, 1)
	ask(2, queue.Rest, 2) // it would fit, but is not first
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() { done <- l.take(ctx, 8, queue.Winning) }()
	eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.queue) == 3
	})
	cancel(errors.New("enough"))
	require.EqualError(t, <-done, "enough")
	ask(3, queue.Winning, 2) // goes at once
	require.Equal(t, 3, <-got)
	l.giveBack(6)
	l.giveBack(3)
	require.Equal(t, 9, <-got)
	l.giveBack(9)
	require.Equal(t, 2, <-got)
	l.giveBack(2)
	taken, peak := l.books()
	require.Zero(t, taken)
	require.EqualValues(t, 9, peak)
}

func TestCloseWaits(t *testing.T) {
	h := newHeld()
	e := scripted(t, Options{Devices: cardsOf(t, 1)}, h.prove)
	j := submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 5), nil)
	<-h.begun
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, func() bool {
		_, err := e.Submit(t.Context(), taskOf(queue.Rest, small(t, "cubic"), 1), nil)
		return errors.Is(err, ErrClosed)
	})
	close(h.end)
	wg.Wait()
	_, err := wait(t, j)
	require.NoError(t, err)
	_, err = e.Estimate(t.Context(), "cubic")
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, e.Preload(t.Context(), "", "cubic"), ErrClosed)
	require.NotZero(t, e.Stats().Jobs[0].Done)
	require.Zero(t, e.Stats().Jobs[0].Failed+e.Stats().Jobs[0].Cancelled)
}

func TestCloseCancels(t *testing.T) {
	h := newHeld()
	d := cardsOf(t, 1)
	o := Options{Devices: d, Params: TestParamsFolder(vectorFolder(t)), Cache: t.TempDir()}
	before := runtime.NumGoroutine()
	e, err := Open(t.Context(), &o)
	require.NoError(t, err)
	e.cards[0].shelf.load = func(_ context.Context, k *kind, _ int64) (groth16.Prover, error) {
		return &scriptedProver{script: &script{prove: h.prove}, card: e.cards[0], kind: k}, nil
	}
	j := submit(t, e, taskOf(queue.Rest, small(t, "cubic"), 5), nil)
	<-h.begun
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("shutting down")
	cancel(why)
	require.ErrorIs(t, e.Close(ctx), why)
	require.NoError(t, e.Close(context.Background()), "it has ended")
	r, err := wait(t, j)
	require.ErrorIs(t, err, ErrClosed)
	require.Len(t, r.Partitions, 5)
	requireQuiet(t, e)
	eventually(t, func() bool { return runtime.NumGoroutine() <= before })
}

func TestUnusableTasks(t *testing.T) {
	e := openEngine(t, Options{Backend: groth16.BackendCPU})
	for _, task := range []Task{
		{}, Statements(), Seal(nil), WinningPoSt(nil, nil), WindowPoStPartition(nil, nil, 0), Update(nil, nil),
		Statements(small(t, "cubic"), small(t, "feistel")), Statements(nil, small(t, "cubic")),
	} {
		_, err := e.Submit(t.Context(), task, nil)
		require.ErrorIs(t, err, ErrTask)
	}
	missing := enginetest.Generate(8, enginetest.Bits)
	_, err := e.Submit(t.Context(), Statements(missing), nil)
	require.ErrorIs(t, err, ErrParams)
	require.ErrorContains(t, err, "bits-8")
	_, err = e.Estimate(t.Context(), "bits-8")
	require.ErrorIs(t, err, ErrCircuit)
	_, err = e.Estimate(t.Context(), "winning-post-2KiB")
	require.ErrorIs(t, err, ErrParams, "it is known, but has no key here")
	require.ErrorContains(t, e.Evict(t.Context(), "GPU-1", "cubic"), `no device "GPU-1"`)
}

func TestEveryFilecoinCircuitIsKnown(t *testing.T) {
	for _, c := range filecoinCircuits() {
		require.Equal(t, c.Name(), blankOf(c.Name()).Name())
	}
	require.Nil(t, blankOf("porep-3KiB"))
	require.Equal(t, []queue.Class{queue.Winning, queue.Window, queue.Rest, queue.Rest},
		[]queue.Class{classOf("winning-post-2KiB"), classOf("window-post-32GiB"), classOf("porep-2KiB"), classOf("update-2KiB")})
}

func TestHostMemoryOfTheSystem(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	info := file("meminfo", "MemTotal:       24 kB\nMemAvailable:   16 kB\n")
	require.EqualValues(t, 16<<10, availableMemory(info))
	require.EqualValues(t, math.MaxInt64, availableMemory(info+"-missing"))
	require.EqualValues(t, math.MaxInt64, availableMemory(file("meminfo", "MemAvailable:   many kB\n")))
	require.EqualValues(t, math.MaxInt64, groupMemory(dir), "no limit file")
	file("memory.stat", "anon 1000\nfile 5000\n")
	file("memory.max", "max\n")
	require.EqualValues(t, math.MaxInt64, groupMemory(dir))
	file("memory.max", "4096\n")
	require.EqualValues(t, 3096, groupMemory(dir), "files can be given back")
	file("memory.max", "10\n")
	require.Zero(t, groupMemory(dir))
	require.Positive(t, hostMemory())
}

// BenchmarkPartition is what an Engine itself costs: partitions that take no time, on eight cards, from submission to
// result.
func BenchmarkPartition(b *testing.B) {
	prove := func(context.Context, *card, *kind, *groth16.ProveOptions) error { return nil }
	e := scripted(b, Options{Devices: cardsOf(b, 8)}, prove)
	c := small(b, "cubic")
	for b.Loop() {
		_, err := wait(b, submit(b, e, taskOf(queue.Rest, c, 100), nil))
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/100/1000, "µs/partition")
}
