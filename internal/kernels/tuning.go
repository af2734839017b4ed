package kernels

// tuning is what depends on the architecture of a card: what a multiprocessor has, and what launches are sized by.
type tuning struct {
	arch      int // 10 times the major compute capability and the minor one
	threads   int // most of a multiprocessor
	blocks    int // most of a multiprocessor
	shared    int // KiB of a multiprocessor
	megahertz int // of a slower card of the architecture, under load
	counters  int // bytes of bucket counters that one pass may have: they stay in half of the second-level cache
}

// slotRate is how many slots the multipliers of a multiprocessor of any architecture here have in a clock: a 32-bit
// multiply-add takes one, one with a 64-bit result two.
const slotRate = 64

// tunings has a row for each architecture that kernels are compiled for.
func tunings() []tuning {
	return []tuning{
		{arch: 80, threads: 2048, blocks: 32, shared: 164, megahertz: 1410, counters: 20 << 20},
		{arch: 86, threads: 1536, blocks: 16, shared: 100, megahertz: 1695, counters: 3 << 20},
		{arch: 89, threads: 1536, blocks: 24, shared: 100, megahertz: 2040, counters: counterRoom},
		{arch: 90, threads: 2048, blocks: 32, shared: 228, megahertz: 1755, counters: counterRoom},
		{arch: 100, threads: 2048, blocks: 32, shared: 228, megahertz: 1920, counters: counterRoom},
		{arch: 120, threads: 1536, blocks: 24, shared: 100, megahertz: 2400, counters: counterRoom},
	}
}

// tuningOf is the row of a compute capability: the last one that is not above it.
func tuningOf(major, minor int) tuning {
	rows := tunings()
	best := rows[0]
	for _, t := range rows {
		if t.arch <= 10*major+minor {
			best = t
		}
	}
	return best
}

// micros is how long a card with so many multiprocessors takes for so many slots.
func (t tuning) micros(slots, multiprocessors int) int {
	return slots / (slotRate * t.megahertz * multiprocessors)
}
