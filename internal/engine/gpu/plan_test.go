package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/srs"
)

// porep32 is a partition of PoRep 32 GiB (r1cs-digests.json): nearly all variables are bits.
func porep32() *sizes {
	const inputs, bits, dense = 328, 128470791, 1699102
	return &sizes{
		logN: 27, inputs: inputs, bits: bits, dense: dense, systemBytes: 50 << 20, multiprocessors: 132, segmentBytes: 256 << 20,
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
