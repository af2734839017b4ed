package gpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
	"github.com/gocuzk/cuzk/pce"
)

// hollow is a circuit of which only sizes are right: its key is a file with holes for points, its witness is all zeros.
type hollow struct {
	system  *pce.System
	key     *srs.Key
	witness *pce.Witness
}

func newHollow(t *testing.T, name string, synthesize func(pce.Builder) error) *hollow {
	t.Helper()
	s, err := pce.Record(t.Context(), name, synthesize, nil)
	require.NoError(t, err)
	layout := s.Layout()
	c := layout.Counts
	return &hollow{system: s, key: hollowKey(t, s), witness: &pce.Witness{
		Inputs: make([]fr.Element, c.Inputs), Bits: make([]uint64, (c.Bits+63)/64), NumBits: c.Bits,
		Dense: make([]fr.Element, c.Dense), Layout: layout.Digest,
	}}
}

// hollowKey has a good verifying key and good counts.
func hollowKey(t *testing.T, s *pce.System) *srs.Key {
	t.Helper()
	vk, err := srs.ReadVerifyingKey(bytes.NewReader(enginetest.Small(t, "cubic").VK), "")
	require.NoError(t, err)
	ic := make([]bls12381.G1Affine, s.Counts().Inputs)
	for i := range ic {
		ic[i] = vk.IC[0]
	}
	vk.IC = ic
	path := filepath.Join(t.TempDir(), s.Name()+".params")
	f, err := os.Create(path)
	require.NoError(t, err)
	at := vk.Size()
	_, err = f.Write(vk.Append(nil))
	require.NoError(t, err)
	for _, q := range newQueries(s.Layout(), domainOf(s)) {
		_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(q.points)), at)
		require.NoError(t, err)
		size := wire.G1Size
		if q.section == srs.BG2 {
			size = wire.G2Size
		}
		at += 4 + int64(q.points*size)
	}
	require.NoError(t, errors.Join(f.Truncate(at), f.Close()))
	key, err := srs.Open(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, key.Close()) })
	return key
}

// prove goes through the steps of a proof.
func (h *hollow) prove(ctx context.Context, l engine.Loaded) error {
	a, err := l.Assign(ctx, h.witness)
	if err != nil {
		return err
	}
	defer a.Release()
	q, err := l.Quotient(ctx, a, nil)
	if err != nil {
		return err
	}
	defer q.Release()
	_, err = l.Sums(ctx, a, q, nil)
	return err
}

// scaled is a card's leasable memory that is as large for two circuits as that of a card of 19,000 MiB is for those of 32
// GiB, and that the first circuit takes whole.
func scaled(t *testing.T, o options, snap, seal *hollow) uint64 {
	t.Helper()
	const room = 1.35 // in units of the least plan of the larger circuit
	least := sizesOf(seal.system, h200.SMs, o.segmentBytes).least().total()
	p, err := makePlan(sizesOf(snap.system, h200.SMs, o.segmentBytes), uint64(room*float64(least)), false)
	require.NoError(t, err)
	return max(least, p.total())
}

// h200 is a card of which only sizes and calls are kept.
var h200 = fakedrv.Card{MemoryBytes: 139 << 30, SMs: 132}

// hollowCard is such a card with a limit for the process.
func hollowCard(t *testing.T, limit uint64) (*fakedrv.Driver, *gpu.Device) {
	t.Helper()
	drv := fake(fakedrv.Config{Cards: []fakedrv.Card{h200}, Accounting: true})
	d, err := gpu.NewSystem(drv).OpenWith(0, &gpu.Options{MemoryLimit: limit})
	require.NoError(t, err)
	return drv, d
}

// early is the historical bug: the first vector of a proof is allocated, and then it is asked whether there is room.
type early struct {
	drv *fakedrv.Driver
	mu  sync.Mutex
	got []cudrv.DevicePtr
}

func (e *early) allocate(s *sizes) {
	ctx, _ := e.drv.PrimaryRetain(0)
	defer e.drv.PrimaryRelease(0)
	p, r := e.drv.MemAlloc(ctx, uint64(unsafe.Sizeof(fr.Element{}))<<s.logN)
	if r == cudrv.Success {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.got = append(e.got, p)
	}
}

func (e *early) free() {
	ctx, _ := e.drv.PrimaryRetain(0)
	defer e.drv.PrimaryRelease(0)
	for _, p := range e.got {
		e.drv.MemFree(ctx, p)
	}
}

// twoWorkers proves the partitions of a SnapDeals update and a PoRep on one card. Each worker takes what comes next; who
// finds no room waits until a key has gone.
func twoWorkers(t *testing.T, d *gpu.Device, o options, snap, seal *hollow, partitions int) {
	e, err := newEngine(d, o)
	require.NoError(t, err)
	first, err := e.Load(t.Context(), snap.system, snap.key)
	require.NoError(t, err)
	gone := make(chan struct{})
	jobs := make(chan struct{}, partitions)
	for range partitions {
		jobs <- struct{}{}
	}
	close(jobs)
	var partitionsLeft, workers sync.WaitGroup
	partitionsLeft.Add(2)
	worker := func(last bool) {
		for range jobs {
			if err := snap.prove(t.Context(), first); err != nil {
				t.Error(err)
			}
		}
		partitionsLeft.Done()
		if last {
			partitionsLeft.Wait()
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			close(gone)
		}
	}
	workers.Go(func() { worker(true) })
	workers.Go(func() {
		if _, err := e.Load(t.Context(), seal.system, seal.key); !errors.Is(err, gpu.ErrMemory) {
			t.Error("room for both: ", err)
		}
		worker(false)
		<-gone
		second, err := e.Load(t.Context(), seal.system, seal.key)
		if err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(seal.prove(t.Context(), second), second.Close()); err != nil {
			t.Error(err)
		}
	})
	workers.Wait()
	require.NoError(t, e.Close())
}

// testBudget runs the two workers under a limit of so many leasable bytes: never is more allocated, with the reservation in
// its place; if it comes after the first allocation, it is.
func testBudget(t *testing.T, o options, snap, seal *hollow, leasable uint64) {
	const keep = 640 << 20 // of a limit, for context and kernels
	for partitions, late := range map[int]bool{16: false, 2: true} {
		drv, d := hollowCard(t, leasable+keep)
		bug := &early{drv: drv}
		if late {
			o.beforePlan = bug.allocate
		}
		twoWorkers(t, d, o, snap, seal, partitions)
		require.Equal(t, leasable, d.Stats().LimitBytes)
		peak := drv.PeakBytes(0)
		t.Logf("late %v: %d bytes allocated at most, limit %d", late, peak, leasable)
		require.Equal(t, late, peak > leasable)
		require.LessOrEqual(t, d.Stats().PeakBytes, leasable)
		bug.free()
		require.NoError(t, d.Close())
		require.Empty(t, drv.Violations())
		require.Equal(t, fakedrv.Usage{}, drv.Usage())
	}
}

// sectors are the two circuits for a sector size.
func sectors(t *testing.T, size uint64) (snap, seal *hollow) {
	t.Helper()
	p, err := porep.ParamsFor(size)
	require.NoError(t, err)
	u, err := update.ParamsFor(update.Sha256, size)
	require.NoError(t, err)
	return newHollow(t, u.Name(), update.Blank(u).Synthesize), newHollow(t, p.Name(), porep.Blank(p).Synthesize)
}

// A card of 19,000 MiB, of which 640 are kept, with sectors of 32 GiB takes -slow. Otherwise all of it is scaled down.
func TestTwoWorkersKeepTheBudget(t *testing.T) {
	if *slow {
		snap, seal := sectors(t, 32<<30)
		testBudget(t, options{segmentBytes: segmentBytes}, snap, seal, (19000-640)<<20)
		return
	}
	o := options{segmentBytes: 4 << 10}
	a, b := enginetest.Generate(1<<12-9, enginetest.Bits), enginetest.Generate(1<<12, enginetest.Bits)
	snap, seal := newHollow(t, a.Name(), a.Synthesize), newHollow(t, b.Name(), b.Synthesize)
	testBudget(t, o, snap, seal, scaled(t, o, snap, seal))
	if !testing.Short() {
		snap, seal = sectors(t, 2<<10)
		o.segmentBytes = segmentBytes >> 5 // as the domain
		testBudget(t, o, snap, seal, scaled(t, o, snap, seal))
	}
}
