package update

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// The tables of spec §7.1 and §7.5.
func TestParamsFor(t *testing.T) {
	sizes := Sizes()
	for i, c := range []struct {
		size, shape                               string
		logNodes, partitions, challenges, apex, h int
		hSelect                                   uint64
		bytes                                     int // of a vanilla proof, where known
	}{
		{"1KiB", "8-4-0", 5, 1, 10, 8, 1, 1, 0},
		{"2KiB", "8-0-0", 6, 1, 10, 8, 1, 1, 15064},
		{"4KiB", "8-2-0", 7, 1, 10, 8, 1, 1, 0},
		{"8KiB", "8-4-0", 8, 1, 10, 8, 1, 1, 0},
		{"16KiB", "8-8-0", 9, 2, 10, 128, 1, 1, 25304},
		{"32KiB", "8-8-2", 10, 2, 10, 128, 1, 1, 26904},
		{"8MiB", "8-0-0", 18, 4, 10, 128, 10, 8, 43864},
		{"16MiB", "8-2-0", 19, 4, 10, 128, 10, 8, 0},
		{"512MiB", "8-0-0", 24, 16, 86, 128, 10, 8, 0},
		{"32GiB", "8-8-0", 30, 16, 86, 128, 10, 8, 561768},
		{"64GiB", "8-8-2", 31, 16, 86, 128, 10, 8, 575528},
	} {
		size := circuittest.Size(t, c.size)
		require.Equal(t, size, sizes[i])
		p, err := ParamsFor(Sha256, size)
		require.NoError(t, err)
		require.NoError(t, p.Validate())
		require.Equal(t, c.shape, p.Shape.String())
		require.Equal(t, []int{c.logNodes, c.partitions, c.challenges, c.apex, c.h},
			[]int{p.LogNodes(), p.Partitions, p.Challenges, p.ApexLeaves, p.H})
		require.Equal(t, c.hSelect, p.hSelect())
		require.Equal(t, uint64(c.partitions-1)+c.hSelect*uint64(c.partitions), p.selector(c.partitions-1))
		require.Equal(t, "update-"+c.size, p.Name())
		if c.bytes != 0 {
			require.Equal(t, c.bytes, p.VanillaSize())
		}

		q, err := ParamsFor(Poseidon, size)
		require.NoError(t, err)
		require.NoError(t, q.Validate())
		require.Equal(t, []int{1, c.partitions * c.challenges, 0}, []int{q.Partitions, q.Challenges, q.ApexLeaves})
		require.Equal(t, "update-poseidon-"+c.size, q.Name())
		require.Equal(t, q.Levels(), q.DataLevels())
	}
	for _, c := range []struct {
		size               string
		drawn, per, number int
	}{{"512MiB", 20, 12, 8}, {"32GiB", 26, 9, 10}, {"64GiB", 27, 9, 10}, {"16MiB", 17, 14, 1}} {
		p, err := ParamsFor(Sha256, circuittest.Size(t, c.size))
		require.NoError(t, err)
		require.Equal(t, []int{c.drawn, c.per, c.number}, []int{p.drawnBits(), p.perDigest(), p.digests()})
	}
	for _, size := range []uint64{0, 1, 512, 2<<10 + 1, 3 << 10, 1 << 30, 128 << 30} {
		_, err := ParamsFor(Sha256, size)
		require.ErrorIs(t, err, ErrSectorSize)
	}
	_, err := ParamsFor(2, 2<<10)
	require.ErrorIs(t, err, ErrParams)
}

func TestParamsValidate(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"size 0":               func(p *Params) { p.SectorSize = 0 },
		"no power of two":      func(p *Params) { p.SectorSize = 3 << 10 },
		"one node":             func(p *Params) { p.SectorSize = 32 },
		"too many nodes":       func(p *Params) { p.SectorSize = 1 << 38 },
		"uneven levels":        func(p *Params) { p.SectorSize = 4 << 10 },
		"base 16":              func(p *Params) { p.Shape.Base = 16 },
		"three partitions":     func(p *Params) { p.Partitions = 3 },
		"no partitions":        func(p *Params) { p.Partitions = 0 },
		"too many partitions":  func(p *Params) { p.Partitions = 512 },
		"no challenges":        func(p *Params) { p.Challenges = 0 },
		"too many challenges":  func(p *Params) { p.Challenges = 1 << 20 },
		"three apex leaves":    func(p *Params) { p.ApexLeaves = 3 },
		"no apex leaves":       func(p *Params) { p.ApexLeaves = 0 },
		"apex on the leaves":   func(p *Params) { p.ApexLeaves = 64 },
		"height 0":             func(p *Params) { p.Heights[5] = 0 },
		"height over the tree": func(p *Params) { p.Heights[5] = 7 },
		"no such height":       func(p *Params) { p.H = 2 },
		"variant":              func(p *Params) { p.Variant = 2 },
		"poseidon with apex":   func(p *Params) { p.Variant = Poseidon },
		"poseidon partitions":  func(p *Params) { p.Variant, p.ApexLeaves, p.Partitions = Poseidon, 0, 2 },
	} {
		p, err := ParamsFor(Sha256, 2<<10)
		require.NoError(t, err)
		change(&p)
		require.ErrorIs(t, p.Validate(), ErrParams, name)
		_, err = DecodeAll(p, nil)
		require.ErrorIs(t, err, ErrParams, name)
		require.ErrorIs(t, (&Statement{Params: &p}).Validate(), ErrParams, name)
	}
	require.Equal(t, "variant 2", Variant(2).String())
}

// The published names begin as the table of spec §9.10 says.
func TestCacheName(t *testing.T) {
	for size, hash := range map[string]string{
		"2KiB":   "fb9e095bebdd7751",
		"8MiB":   "92180959e1918d26",
		"512MiB": "61fa69f38b9cc771",
		"32GiB":  "3b7f44a9362e3985",
		"64GiB":  "102e1444a7e9a97e",
	} {
		for v, infix := range map[Variant]string{Sha256: "", Poseidon: "-poseidon"} {
			p, err := ParamsFor(v, circuittest.Size(t, size))
			require.NoError(t, err)
			prefix := "v28-empty-sector-update" + infix + "-merkletree-poseidon_hasher-" + p.Shape.String() + "-"
			require.True(t, strings.HasPrefix(p.CacheName(), prefix+hash), p.CacheName())
			require.Len(t, p.CacheName(), len(prefix)+64)
		}
	}
}

func TestRegisteredProofs(t *testing.T) {
	sizes := []string{"2KiB", "8MiB", "512MiB", "32GiB", "64GiB"}
	for i, p := range RegisteredProofs() {
		require.Equal(t, i, int(p))
		require.True(t, p.Valid())
		require.Equal(t, sizes[i], sectorsize.Format(p.SectorSize()))
		require.Equal(t, "StackedDrg"+sizes[i]+"V1", p.String())
		again, err := ParseRegisteredProof(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		again, err = RegisteredProofFor(p.SectorSize())
		require.NoError(t, err)
		require.Equal(t, p, again)
		params, err := p.Params()
		require.NoError(t, err)
		require.NoError(t, params.Validate())
	}
	require.Len(t, RegisteredProofs(), 5)
	for _, name := range []string{"", "StackedDrg3KiBV1", "StackedDrg2KiBV1_1", "StackedDrg2KiBV1 "} {
		_, err := ParseRegisteredProof(name)
		require.ErrorIs(t, err, ErrProofType, name)
	}
	bad := RegisteredProof(5)
	require.False(t, bad.Valid())
	require.Zero(t, bad.SectorSize())
	require.Equal(t, "registered proof 5", bad.String())
	_, err := bad.Params()
	require.ErrorIs(t, err, ErrProofType)
	_, err = RegisteredProofFor(4 << 10)
	require.ErrorIs(t, err, ErrProofType)
}
