package synth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/pce"
)

// BenchmarkPoSt goes from vanilla bytes to the packed witness of a partition of 32 GiB sectors, checks
// included, on one core.
func BenchmarkPoSt(b *testing.B) {
	for name, c := range map[string]struct {
		proof   post.RegisteredProof
		sectors int
	}{
		"winning":      {post.Winning2KiBV1 + 3, 1},
		"window=100":   {post.Window2KiBV1_2 + 3, 100},
		"window=whole": {post.Window2KiBV1_2 + 3, 2349},
	} {
		b.Run(name, func(b *testing.B) {
			if c.sectors > 100 && !*slow {
				b.Skip("takes a minute; runs with -slow")
			}
			p, err := c.proof.Params()
			require.NoError(b, err)
			if c.sectors == 100 { // a partition of a hundred, and not one that repeats the last sector
				p.Sectors = c.sectors
			}
			s, proofs, err := PoSt(b.Context(), c.proof, &p, c.sectors, 1)
			require.NoError(b, err)
			var data [][]byte
			for _, v := range proofs {
				data = append(data, v.Append(nil, p.Shape))
			}
			for b.Loop() {
				proofs, err := post.DecodeAll(p, data)
				require.NoError(b, err)
				circuits, err := s.Circuits(proofs)
				require.NoError(b, err)
				_, err = circuits[0].Witness(b.Context(), &pce.WitnessOptions{Workers: 1})
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkUpdate does the same for a partition of an update of 32 GiB.
func BenchmarkUpdate(b *testing.B) {
	proof := update.StackedDrg32GiBV1
	p, err := proof.Params()
	require.NoError(b, err)
	s, proofs, err := Update(b.Context(), proof, nil, 1)
	require.NoError(b, err)
	data := proofs[3].Append(nil, p)
	for b.Loop() {
		v, err := update.Decode(data, p)
		require.NoError(b, err)
		c, err := s.Circuit(3, v)
		require.NoError(b, err)
		_, err = c.Witness(b.Context(), &pce.WitnessOptions{Workers: 1})
		require.NoError(b, err)
	}
}
