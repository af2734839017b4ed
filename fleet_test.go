package cuzk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/gputest"
	"github.com/gocuzk/cuzk/internal/queue"
	"github.com/gocuzk/cuzk/pce"
)

// The tests here make real proofs, on made-up cards that run the twins of the kernels.

// fleet is circuits with their keys.
type fleet struct {
	params *Folder
	cache  string
	list   []circuits.Circuit
}

// newFleet makes keys for circuits of the given numbers of rows.
func newFleet(t testing.TB, rows ...int) *fleet {
	t.Helper()
	dir := t.TempDir()
	f := &fleet{params: TestParamsFolder(dir), cache: dir}
	for _, n := range rows {
		c := enginetest.Generate(n, enginetest.Bits)
		system, err := pce.Record(t.Context(), c.Name(), c.Synthesize, nil)
		require.NoError(t, err)
		_, err = groth16.WriteTestKey(t.Context(), dir, system, &groth16.TestKeyOptions{Backend: groth16.BackendCPU})
		require.NoError(t, err)
		f.list = append(f.list, c)
	}
	return f
}

// open opens an Engine on devices.
func (f *fleet) open(t testing.TB, devices []device.Device, o Options) *Engine {
	t.Helper()
	o.Params, o.Cache = f.params, f.cache
	for _, d := range devices {
		o.Devices = append(o.Devices, DeviceOptions{Device: d})
	}
	return openEngine(t, o)
}

// verify verifies all proofs of a result apart from the prover.
func (f *fleet) verify(t testing.TB, c circuits.Circuit, r *Result) {
	t.Helper()
	vk, err := f.params.VerifyingKey(t.Context(), c.Name())
	require.NoError(t, err)
	inputs, err := c.PublicInputs()
	require.NoError(t, err)
	all := slices.Repeat([][]fr.Element{inputs}, len(r.Proofs))
	require.NoError(t, groth16.VerifyBatch(t.Context(), vk, r.Proofs, all, nil))
}

// launchesOf counts kernel launches by card as the driver saw them.
func launchesOf(drv *fakedrv.Driver, cards int) []int {
	n := make([]int, cards)
	for _, c := range drv.Log() {
		if c.Op == "LaunchKernel" {
			n[c.Card]++
		}
	}
	return n
}

// costs are how many kernels loading and proving of each circuit launch.
type costs struct{ load, prove map[string]int }

// measure finds out, on a card alone.
func (f *fleet) measure(t *testing.T) costs {
	c := costs{load: map[string]int{}, prove: map[string]int{}}
	drv, devices := gputest.Cards(t, nil, fakedrv.Card{})
	e := f.open(t, devices, Options{})
	for _, x := range f.list {
		for _, into := range []map[string]int{c.load, c.prove} {
			before := launchesOf(drv, 1)[0]
			_, err := wait(t, submit(t, e, Statements(x), nil))
			require.NoError(t, err)
			into[x.Name()] = launchesOf(drv, 1)[0] - before
		}
		c.load[x.Name()] -= c.prove[x.Name()]
	}
	return c
}

// TestFleet: 64 mixed jobs on four cards with two workers each, with random delays in the driver. All proofs are valid, no
// card is left out, and each has run exactly the kernels of the proofs that are said to come from it. How the cards share the
// work of real proofs depends on what else the machine does; see TestFleetBalance.
func TestFleet(t *testing.T) {
	rows := []int{1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12}
	if raceDetector { // arithmetic is some ten times slower; scheduling is the same
		rows = []int{8, 16}
	}
	f := newFleet(t, rows...)
	want := f.measure(t)
	t.Run("right", func(t *testing.T) {
		drv, devices := fleetCards(t, nil)
		used, expected := f.run(t, devices, want, 64)
		require.Equal(t, expected, launchesOf(drv, len(devices)))
		t.Logf("partitions by card: %v", used)
		require.NotContains(t, used, 0)
	})
	// The historical bug: each worker believes that it has its own card, and all work on the first.
	t.Run("ignored handle", func(t *testing.T) {
		drv, devices := fleetCards(t, func(d cudrv.Driver) cudrv.Driver { return firstCard{d} })
		_, expected := f.run(t, devices, want, 8)
		got := launchesOf(drv, len(devices))
		require.NotEqual(t, expected, got)
		require.Equal(t, []int{expected[0] + expected[1] + expected[2] + expected[3], 0, 0, 0}, got)
	})
}

// TestFleetBalance: 64 jobs of several circuits on four cards with two workers each, all of whose proofs take equally long:
// no card has a fifth more or less to do than the mean.
func TestFleetBalance(t *testing.T) {
	const cards, workers = 4, 2
	begun, end := make(chan struct{}, cards*workers), make(chan struct{})
	e := scripted(t, Options{Devices: cardsOf(t, cards), Workers: workers},
		func(context.Context, *card, *kind, *groth16.ProveOptions) error {
			begun <- struct{}{}
			<-end
			return nil
		})
	r := rand.New(rand.NewPCG(2, 5))
	names := enginetest.SmallNames()
	jobs, left := make([]*Job, 64), 0
	for i := range jobs {
		n := 1 + r.IntN(2)
		left += n
		jobs[i] = submit(t, e, taskOf(queue.Rest, small(t, names[r.IntN(len(names))]), n), nil)
	}
	mean := float64(left) / cards
	for left > 0 { // all that can be in work begin, and then all end
		n := min(cards*workers, left)
		for k := range n {
			select {
			case <-begun:
			case <-time.After(time.Minute):
				require.Fail(t, "workers are idle while partitions wait", "%d of %d have one", k, n)
			}
		}
		for range n {
			end <- struct{}{}
		}
		left -= n
	}
	used := make([]int, cards)
	for _, j := range jobs {
		result, err := wait(t, j)
		require.NoError(t, err)
		for _, p := range result.Partitions {
			used[p.Device.Ordinal]++
		}
	}
	for _, n := range used {
		require.InDelta(t, mean, n, 0.2*mean, "%v", used)
	}
}

// fleetCards are four cards on a driver with delays.
func fleetCards(t *testing.T, wrap func(cudrv.Driver) cudrv.Driver) (*fakedrv.Driver, []device.Device) {
	config := fakedrv.Config{Cards: make([]fakedrv.Card, 4), Seed: 1}
	drv, devices := gputest.Open(t, gputest.Options{Driver: config, Wrap: wrap})
	r := rand.New(rand.NewPCG(1, 4))
	for card := range devices {
		for _, op := range []string{"LaunchKernel", "CopyToDeviceAsync", "EventQuery"} {
			for range 50 {
				drv.Inject(fakedrv.Rule{Op: op, Card: card, After: r.IntN(2000), Delay: time.Duration(r.IntN(2000)) * time.Microsecond})
			}
		}
	}
	return drv, devices
}

// firstCard gives everyone the first card's context.
type firstCard struct{ cudrv.Driver }

func (d firstCard) PrimaryRetain(cudrv.Device) (cudrv.Context, cudrv.Result) {
	return d.Driver.PrimaryRetain(0)
}

func (d firstCard) PrimaryRelease(cudrv.Device) cudrv.Result { return d.Driver.PrimaryRelease(0) }

// run proves jobs and verifies them. It returns how many partitions are said to come from each card, and how many kernels
// the cards should have run for that.
func (f *fleet) run(t *testing.T, devices []device.Device, c costs, jobs int) (used, launches []int) {
	e := f.open(t, devices, Options{})
	used, launches = make([]int, len(devices)), make([]int, len(devices))
	var names []string
	for _, c0 := range f.list { // first loaded everywhere, so that the cards start alike
		result, err := wait(t, submit(t, e, Statements(c0), nil))
		require.NoError(t, err)
		launches[result.Partitions[0].Device.Ordinal] += c.prove[c0.Name()]
		names = append(names, c0.Name())
	}
	require.NoError(t, e.Preload(t.Context(), "", names...))
	r := rand.New(rand.NewPCG(2, 5))
	list := make([]*Job, jobs)
	of := make([]circuits.Circuit, jobs)
	for i := range list {
		of[i] = f.list[min(int(r.ExpFloat64()), len(f.list)-1)]
		list[i] = submit(t, e, taskOf(queue.Class(r.IntN(3)), of[i], 1+r.IntN(2)), nil)
	}
	for i, j := range list {
		result, err := wait(t, j)
		require.NoError(t, err)
		f.verify(t, of[i], result)
		for _, p := range result.Partitions {
			require.Equal(t, 1, p.Attempts)
			used[p.Device.Ordinal]++
			launches[p.Device.Ordinal] += c.prove[of[i].Name()]
		}
	}
	for i, d := range e.Stats().Devices {
		for _, k := range d.Keys {
			launches[i] += c.load[k.Circuit]
		}
	}
	require.NoError(t, e.Close(context.Background()))
	return used, launches
}

// TestFaultsInTheDriver: whichever native call of a card fails for good, the partitions are proved on the other card, and
// the Engine closes with nothing left.
func TestFaultsInTheDriver(t *testing.T) {
	f := newFleet(t, 8)
	sweep := []int{0, 1, 2, 5, 10, 20, 40, 80, 120, 160, 200, 250, 300, 400}
	if raceDetector {
		sweep = []int{5, 80, 250}
	}
	lost := 0
	for _, n := range sweep {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			drv, devices := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
			e := f.open(t, devices, Options{})
			drv.Inject(fakedrv.Rule{Card: 0, After: n, Result: cudrv.IllegalAddress, Sticky: true})
			j := submit(t, e, taskOf(queue.Rest, f.list[0], 4), nil)
			result, err := wait(t, j)
			require.NoError(t, err)
			f.verify(t, f.list[0], result)
			require.False(t, devices[1].Stats().Lost)
			require.NoError(t, e.Close(context.Background()))
			if devices[0].Stats().Lost {
				lost++
				for _, p := range result.Partitions {
					require.Equal(t, p.Attempts == 2, p.Fault != nil)
					require.True(t, p.Fault == nil || p.Device == devices[1].Info() && errors.Is(p.Fault, device.ErrLost))
				}
			}
			requireNoFailedCalls(t, drv, 1)
		})
	}
	require.GreaterOrEqual(t, lost, len(sweep)/2)
}

// requireNoFailedCalls requires that the driver had nothing to say about a card.
func requireNoFailedCalls(t *testing.T, drv *fakedrv.Driver, card int) {
	t.Helper()
	for _, c := range drv.Log() {
		if c.Card == card && c.Result != cudrv.Success && c.Result != cudrv.NotReady {
			t.Errorf("%+v", c)
		}
	}
}

// TestHangAndForeignPrograms: one card hangs for ever, and other code in the process uses all cards through the driver at
// the same time. The watchdog takes the card out, the job is done on the other one, and the other code sees nothing of
// it.
func TestHangAndForeignPrograms(t *testing.T) {
	f := newFleet(t, 8)
	watchdog := 2 * time.Second
	if raceDetector {
		watchdog = 10 * time.Second
	}
	drv, devices := gputest.Cards(t, &gpu.Options{Watchdog: watchdog}, fakedrv.Card{}, fakedrv.Card{}, fakedrv.Card{})
	e := f.open(t, devices[:2], Options{})
	_, err := wait(t, submit(t, e, taskOf(queue.Rest, f.list[0], 4), nil))
	require.NoError(t, err)
	require.NoError(t, e.Preload(t.Context(), "", f.list[0].Name()))

	stop := make(chan struct{})
	var foreign sync.WaitGroup
	for range 2 {
		foreign.Go(func() { useCards(t, drv, []cudrv.Device{1, 2}, stop) })
	}
	drv.Inject(fakedrv.Rule{Op: "LaunchKernel", Card: 0, Hang: true})
	j := submit(t, e, taskOf(queue.Rest, f.list[0], 6), nil)
	result, err := wait(t, j)
	require.NoError(t, err)
	f.verify(t, f.list[0], result)
	for _, p := range result.Partitions {
		require.Equal(t, devices[1].Info(), p.Device)
	}
	require.True(t, devices[0].Stats().Lost)
	require.ErrorContains(t, e.Stats().Devices[0].Stats.Cause, "nothing completed for")
	require.False(t, devices[1].Stats().Lost)
	close(stop)
	foreign.Wait()
	require.NoError(t, e.Close(context.Background()))
	drv.Resume(0)
	requireNoFailedCalls(t, drv, 1)
}

// useCards is another program in the process: it goes from card to card and requires to find what it has left there.
func useCards(t *testing.T, drv cudrv.Driver, cards []cudrv.Device, stop <-chan struct{}) {
	want, got := make([]byte, 64), make([]byte, 64)
	for n := byte(0); ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		for i := range want {
			want[i] = n
		}
		d := cards[int(n)%len(cards)]
		ctx, r1 := drv.PrimaryRetain(d)
		p, r2 := drv.MemAlloc(ctx, 64)
		s, r3 := drv.StreamCreate(ctx)
		r4 := drv.CopyToDevice(ctx, p, want, s)
		r5 := drv.CopyToHost(ctx, got, p, s)
		if !bytes.Equal(want, got) {
			t.Errorf("foreign memory on card %d is %x, want %x", d, got, want)
			return
		}
		r6, r7, r8 := drv.StreamDestroy(ctx, s), drv.MemFree(ctx, p), drv.PrimaryRelease(d)
		for _, r := range []cudrv.Result{r1, r2, r3, r4, r5, r6, r7, r8} {
			if r != cudrv.Success {
				t.Errorf("foreign call on card %d: %v", d, r)
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// TestUrgentWorkStartsWithinTwoPieces: a WinningPoSt that arrives at random during long work has the card after at most two
// pieces of it, and all work is done in the end.
func TestUrgentWorkStartsWithinTwoPieces(t *testing.T) {
	f := newFleet(t, 8, 16)
	arrivals := 100
	if raceDetector {
		arrivals = 5
	}
	// Every launch is a piece.
	drv, devices := gputest.Cards(t, &gpu.Options{Piece: 1, Patience: time.Hour}, fakedrv.Card{})
	e := f.open(t, devices, Options{})
	slow, urgent := f.list[0], f.list[1]
	_, err := wait(t, submit(t, e, Statements(slow), nil))
	require.NoError(t, err)
	streams := streamsOf(drv.Log())
	_, err = wait(t, submit(t, e, Statements(urgent), nil))
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	long, err := e.Submit(ctx, taskOf(queue.Rest, slow, 2000), nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 6))
	yielded := 0
	for range arrivals {
		eventually(t, func() bool { return long.Progress().State == JobRunning })
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		from := 0
		_, err := wait(t, submit(t, e, taskOf(queue.Winning, urgent, 1), &JobOptions{Hooks: &Hooks{PhaseStart: func(i PhaseInfo) {
			if i.Phase == groth16.PhaseAssign {
				from = len(drv.Log())
			}
		}}}))
		require.NoError(t, err)
		n := overtaken(drv.Log()[from:], streams)
		require.LessOrEqual(t, n, 2)
		yielded += n
	}
	t.Logf("%d pieces of other work began during %d urgent proofs", yielded, arrivals)
	eventually(t, func() bool { return long.Progress().Finished > 0 })
	cancel()
	_, err = wait(t, long)
	require.ErrorIs(t, err, context.Canceled)
}

// streamsOf are the streams that kernels were launched on.
func streamsOf(log []fakedrv.Call) map[cudrv.Stream]bool {
	streams := map[cudrv.Stream]bool{}
	for _, c := range log {
		if c.Op == "LaunchKernel" {
			streams[c.Stream] = true
		}
	}
	return streams
}

// overtaken counts the launches on the given streams between the first and the last one on others.
func overtaken(log []fakedrv.Call, streams map[cudrv.Stream]bool) (n int) {
	pending, begun := 0, false
	for _, c := range log {
		switch {
		case c.Op != "LaunchKernel":
		case !streams[c.Stream]:
			begun = true
			n, pending = n+pending, 0
		case begun:
			pending++
		}
	}
	return n
}

// TestCardIsTooSmallForAll: two workers want keys that do not fit on the card together. They take turns, and at no call
// of the driver is more allocated than the card may give.
func TestCardIsTooSmallForAll(t *testing.T) {
	f := newFleet(t, 8, 256)
	_, roomy := gputest.Cards(t, nil, fakedrv.Card{})
	e := f.open(t, roomy, Options{})
	var needs []DeviceNeed
	for _, c := range f.list {
		_, err := wait(t, submit(t, e, Statements(c), nil))
		require.NoError(t, err)
		n, err := e.Estimate(t.Context(), c.Name())
		require.NoError(t, err)
		require.Positive(t, n.KeyBytes)
		needs = append(needs, n.Devices[0])
		require.Equal(t, n.Devices[0].AmpleBytes, keyOf(e, c.Name()).Bytes, "it is what was said")
	}
	both := needs[0].AmpleBytes + needs[1].LeastBytes
	largest := max(needs[0].AmpleBytes, needs[1].AmpleBytes)
	require.Less(t, largest, both-both/100)

	card := fakedrv.Card{MemoryBytes: uint64(both-1) * 16 / 15} // a sixteenth is left free
	drv, devices := gputest.Cards(t, nil, card)
	e = f.open(t, devices, Options{})
	var jobs []*Job
	for i := range 6 {
		jobs = append(jobs, submit(t, e, taskOf(queue.Rest, f.list[i%2], 2), nil))
	}
	for i, j := range jobs {
		r, err := wait(t, j)
		require.NoError(t, err)
		f.verify(t, f.list[i%2], r)
		for _, p := range r.Partitions {
			require.Equal(t, 1, p.Attempts)
		}
	}
	require.Len(t, e.Stats().Devices[0].Keys, 1, "the other one went")
	stats := devices[0].Stats()
	require.LessOrEqual(t, stats.PeakLeasedBytes, stats.LimitBytes)
	require.LessOrEqual(t, int64(drv.PeakBytes(0)), stats.LimitBytes)

	_, tiny := gputest.Cards(t, nil, fakedrv.Card{MemoryBytes: uint64(needs[0].LeastBytes)})
	e = f.open(t, tiny, Options{})
	_, err := e.Submit(t.Context(), Statements(f.list[0]), nil)
	require.ErrorIs(t, err, device.ErrMemory)
	numbers := fmt.Sprintf("need %d bytes, or %d for the whole key, ", needs[0].LeastBytes, needs[0].AmpleBytes)
	require.ErrorContains(t, err, numbers)
	require.ErrorContains(t, e.Preload(t.Context(), tiny[0].Info().UUID, f.list[0].Name()), "not enough memory")
	require.Zero(t, tiny[0].Stats().Launches)
}

func keyOf(e *Engine, circuit string) KeyStats {
	for _, d := range e.Stats().Devices {
		for _, k := range d.Keys {
			if k.Circuit == circuit {
				return k
			}
		}
	}
	return KeyStats{}
}

// Two Engines of a process share the cards and their memory; each has its own keys and jobs.
func TestTwoEngines(t *testing.T) {
	f := newFleet(t, 8)
	_, devices := gputest.Cards(t, nil, fakedrv.Card{}, fakedrv.Card{})
	engines := []*Engine{f.open(t, devices, Options{}), f.open(t, devices, Options{DisablePCE: true})}
	var jobs []*Job
	for i := range 6 {
		jobs = append(jobs, submit(t, engines[i%2], taskOf(queue.Rest, f.list[0], 1), nil))
	}
	for _, j := range jobs {
		r, err := wait(t, j)
		require.NoError(t, err)
		f.verify(t, f.list[0], r)
		require.Equal(t, groth16.BackendGPU, r.Partitions[0].Backend)
	}
	require.NoError(t, engines[0].Close(context.Background()))
	r, err := wait(t, submit(t, engines[1], taskOf(queue.Rest, f.list[0], 2), nil))
	require.NoError(t, err)
	f.verify(t, f.list[0], r)
}

// TestProcessor: an Engine on the processor, with and without constraint systems, tells the same as one on GPUs.
func TestProcessor(t *testing.T) {
	f := newFleet(t, 8)
	for _, direct := range []bool{false, true} {
		e := f.open(t, nil, Options{Backend: groth16.BackendCPU, DisablePCE: direct, SelfTest: true})
		var seen []Progress
		var mu sync.Mutex
		phases := map[groth16.Phase]int{}
		o := &JobOptions{
			Check:    true,
			Progress: func(p Progress) { seen = append(seen, p) },
			Hooks: &Hooks{
				PhaseStart: func(i PhaseInfo) {
					mu.Lock()
					defer mu.Unlock()
					phases[i.Phase]++
				},
				PhaseEnd: func(i PhaseInfo, err error) {
					mu.Lock()
					defer mu.Unlock()
					phases[i.Phase]--
					if err != nil || i.Partitions != 3 || !i.Device.IsCPU() || i.Circuit != "bits-8" || i.Job != 1 {
						t.Errorf("%+v: %v", i, err)
					}
				},
			},
		}
		j := submit(t, e, Statements(f.list[0], f.list[0], f.list[0]), o)
		r, err := wait(t, j)
		require.NoError(t, err)
		f.verify(t, f.list[0], r)
		require.Len(t, r.Bytes(), 3*groth16.ProofSize)
		for _, p := range r.Partitions {
			require.Equal(t, groth16.BackendCPU, p.Backend)
			require.Positive(t, p.Took)
			require.Positive(t, p.Stats.Sums)
		}
		require.Equal(t, JobRunning, seen[0].State)
		for i := range seen[1:] {
			require.LessOrEqual(t, seen[i].Done, seen[i+1].Done)
			require.LessOrEqual(t, seen[i].Finished, seen[i+1].Finished)
		}
		last := seen[len(seen)-1]
		last.Waited = 0
		require.Equal(t, Progress{State: JobDone, Partitions: 3, Finished: 3, Done: 3000, Total: 3000}, last)
		for _, phase := range phaseOrder()[1:] {
			n, ok := phases[phase]
			require.True(t, ok, phase)
			require.Zero(t, n, phase)
		}
		s := e.Stats()
		require.Equal(t, []JobStats{{Kind: "statements", Done: 1}}, s.Jobs)
		require.Equal(t, []PartitionStats{{Circuit: "bits-8", Done: 3}}, s.Partitions)
		require.Len(t, s.Phases, len(phaseOrder()))
		for _, p := range s.Phases {
			require.EqualValues(t, 3, p.Count)
		}
		require.EqualValues(t, 3, s.Devices[0].Done)
	}
}

// Memory that others have taken in between is a fault that passes: the partition is tried once more, and the card stays.
func TestMemoryIsTakenByOthers(t *testing.T) {
	f := newFleet(t, 8)
	drv, devices := gputest.Cards(t, nil, fakedrv.Card{})
	e := f.open(t, devices, Options{})
	drv.Inject(fakedrv.Rule{Op: "MemAlloc", Card: 0, Result: cudrv.OutOfMemory})
	r, err := wait(t, submit(t, e, Statements(f.list[0]), nil))
	require.NoError(t, err)
	f.verify(t, f.list[0], r)
	require.Equal(t, 2, r.Partitions[0].Attempts)
	require.ErrorIs(t, r.Partitions[0].Fault, device.ErrMemory)

	require.NoError(t, e.Evict(t.Context(), "", f.list[0].Name()))
	drv.Inject(fakedrv.Rule{Op: "MemAlloc", Card: 0, Times: -1, Result: cudrv.OutOfMemory})
	_, err = wait(t, submit(t, e, Statements(f.list[0]), nil))
	require.ErrorIs(t, err, device.ErrMemory)
	var typed *device.Error
	require.ErrorAs(t, err, &typed)
	require.Equal(t, devices[0].Info().UUID, typed.UUID)
	require.False(t, devices[0].Stats().Lost)
	require.Zero(t, devices[0].Stats().LeasedBytes)
}
