package gpu

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// porep32 is a partition of PoRep 32 GiB (r1cs-digests.json): nearly all variables are bits.
func porep32() *sizes {
	const inputs, bits, dense = 328, 128470791, 1699102
	return &sizes{
		logN: 27, inputs: inputs, bits: bits, dense: dense, systemBytes: 50 << 20, multiprocessors: 132, segmentBytes: segmentBytes,
		sections: []sectionSize{
			{section: srs.H, dense: 1<<27 - 1},
			{section: srs.L, bits: bits, dense: dense},
			{section: srs.A, bits: 128 << 20, dense: dense + inputs},
			{section: srs.BG1, bits: 32 << 20, dense: dense},
			{section: srs.BG2, bits: 32 << 20, dense: dense},
		},
	}
}

func (p *plan) names() (out []srs.Section) {
	for _, s := range residency {
		if p.resident[s] {
			out = append(out, s)
		}
	}
	return out
}

func TestPlanOfPoRep32GiB(t *testing.T) {
	for _, c := range []struct {
		gibibytes uint64
		resident  []srs.Section
	}{
		{139, []srs.Section{srs.BG2, srs.BG1, srs.A, srs.L, srs.H}},
		{80, []srs.Section{srs.BG2, srs.BG1, srs.A, srs.L, srs.H}},
		{48, []srs.Section{srs.BG2, srs.BG1, srs.A, srs.L}},
		{40, []srs.Section{srs.BG2, srs.BG1, srs.A}},
		{24, []srs.Section{srs.BG2, srs.BG1}},
		{20, []srs.Section{srs.BG1}},
		{16, nil},
	} {
		memory := c.gibibytes<<30 - 512<<20 // what leases leave
		p, err := makePlan(porep32(), memory, false)
		require.NoError(t, err, "%d GiB", c.gibibytes)
		require.LessOrEqual(t, p.total(), memory)
		require.Equal(t, c.resident, p.names(), "%d GiB: %+v", c.gibibytes, p)
	}
}

func TestPlanThatDoesNotFit(t *testing.T) {
	s := porep32()
	least, err := makePlan(s, 1<<40, true)
	require.NoError(t, err)
	require.Empty(t, least.names())
	_, err = makePlan(s, least.total(), false)
	require.NoError(t, err)
	_, err = makePlan(s, least.total()-1, false)
	var short *shortError
	require.ErrorAs(t, err, &short)
	require.Equal(t, &shortError{need: least.total(), memory: least.total() - 1}, short)
	require.Equal(t, least.total(), s.least().total())
}

// A small key takes less room than the buffers for its sections would.
func TestLeastPlanOfASmallKey(t *testing.T) {
	s := sizesOf(enginetest.Small(t, "feistel").System(t), 132, segmentBytes)
	require.Less(t, s.least().total(), s.streamed().total())
	p, err := makePlan(s, s.least().total(), false)
	require.NoError(t, err)
	require.Equal(t, s.least(), p)
	_, err = makePlan(s, s.least().total()-1, false)
	var short *shortError
	require.ErrorAs(t, err, &short)
	require.Equal(t, s.least().total(), short.need)
}

// The sizes of a key that follow from a layout are those of the key, and both classes are counted as they are cut.
func TestSizesOfKeys(t *testing.T) {
	type pair struct {
		sys *pce.System
		key *srs.Key
	}
	var pairs []pair
	for _, name := range enginetest.SmallNames() {
		v := enginetest.Small(t, name)
		key, err := srs.Open(v.ParamsFile(t), nil)
		require.NoError(t, err)
		defer key.Close()
		pairs = append(pairs, pair{v.System(t), key})
	}
	for _, rows := range []int{1, 2, 3, 64, 200, 513} {
		b := enginetest.NewBench(t, rows)
		pairs = append(pairs, pair{b.System(), b.Key()})
	}
	for _, x := range pairs {
		queries := newQueries(x.sys.Layout(), domainOf(x.sys))
		require.NoError(t, fit(queries, x.key))
		for i, s := range sizesOf(x.sys, 4, 1<<10).sections {
			q := queries[i]
			require.Equal(t, x.key.Len(s.section), s.points())
			q.split(7)
			bits := 0
			for _, seg := range q.segments {
				bits += seg.bits
			}
			require.Equal(t, bits, s.bits, "%s of %s", s.section, x.sys.Name())
		}
		queries[0].points++
		require.ErrorIs(t, fit(queries, x.key), engine.ErrForeign)
	}
}

// A limit below what can be leased makes the plan; what is leased is what Memory says.
func TestMemoryLimit(t *testing.T) {
	b := enginetest.NewBench(t, 300)
	s := sizesOf(b.System(), 4, 4<<10)
	require.Less(t, s.streamed().total(), s.resident(kernels.Least).total())
	for _, limit := range []uint64{0, s.resident(kernels.Ample).total(), s.streamed().total()} {
		e := open(t, fake(fakedrv.Config{}), options{segmentBytes: 4 << 10, memoryLimit: limit})
		l, err := e.Load(t.Context(), b.System(), b.Key())
		require.NoError(t, err)
		m := l.Memory()
		require.Equal(t, limit == s.streamed().total(), m.Streamed)
		if limit != 0 {
			require.Equal(t, limit, m.Leased)
		}
		require.Equal(t, l.(*loaded).desk.lease.Bytes(), m.Leased)
		require.Equal(t, l.(*loaded).desk.keep.Size(), m.Resident)
		require.NoError(t, l.Close())
		require.Zero(t, l.Memory())
		require.NoError(t, e.Close())
	}
	e := open(t, fake(fakedrv.Config{}), options{segmentBytes: 4 << 10, memoryLimit: s.streamed().total() - 1})
	_, err := e.Load(t.Context(), b.System(), b.Key())
	require.ErrorIs(t, err, gpu.ErrMemory)
	require.ErrorContains(t, err, fmt.Sprintf("the smallest plan needs %d bytes, %[2]d can be had, the prover's limit is %[2]d",
		s.streamed().total(), s.streamed().total()-1))
	require.NoError(t, e.Close())
}

// With more memory a plan never keeps less on the card, and never takes more than there is.
func TestPlanGrows(t *testing.T) {
	s := porep32()
	var before uint64
	for memory := uint64(16 << 30); memory < 80<<30; memory += 97 << 20 {
		p, err := makePlan(s, memory, false)
		if err != nil {
			require.Zero(t, before)
			continue
		}
		require.LessOrEqual(t, p.total(), memory)
		require.GreaterOrEqual(t, p.fixed+p.key+p.work, before*9/10)
		before = max(before, p.fixed+p.key+p.work)
	}
	require.NotZero(t, before)
}
