package gpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/pce"
)

// randomQuery is a query over a made-up layout with long and short runs, of whose variables some have no point.
func randomQuery(rng *rand.Rand) *query {
	layout, count := new(pce.Layout), [2]int{}
	aux := 0
	for range rng.IntN(30) {
		n, bit := rng.IntN(1<<rng.IntN(10)), rng.IntN(2)
		layout.Runs = append(layout.Runs, pce.Run{Bit: bit == 1, Start: aux, First: count[bit], N: n})
		aux, count[bit] = aux+n, count[bit]+n
	}
	layout.Counts = pce.Counts{Inputs: 1 + rng.IntN(5), Aux: aux, Bits: count[1], Dense: count[0]}
	q := &query{layout: layout, points: aux}
	for i := range layout.Counts.Inputs {
		if rng.IntN(2) == 0 {
			q.inputs = append(q.inputs, i)
		}
	}
	if rng.IntN(3) > 0 {
		q.aux = make(pce.Bitset, (aux+63)/64)
		for i := range aux {
			if rng.IntN(4) > 0 {
				q.aux[i/64] |= 1 << (i % 64)
			}
		}
		q.points = q.aux.Count()
	}
	q.points += len(q.inputs)
	return q
}

// Places that are given stretch by stretch are those that a walk over the variables one by one gives.
func TestPlaces(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		q := randomQuery(rng)
		q.split(1 + rng.IntN(q.points+10))
		for _, s := range q.segments {
			want := make([]uint32, s.hi-s.lo)
			bits, others := uint32(0), uint32(s.bits)
			walk := s.start
			for i := range want {
				next := &others
				if walk.next().class == classBit {
					next = &bits
				}
				want[i] = *next
				*next++
			}
			require.EqualValues(t, s.bits, bits)
			got, p := make([]uint32, len(want)), s.placer()
			for lo := 0; lo < len(got); {
				hi := min(lo+1+rng.IntN(100), len(got))
				p.fill(got[lo:hi])
				lo = hi
			}
			require.Equal(t, want, got, "seed %d, segment from %d", seed, s.lo)
		}
	}
}
