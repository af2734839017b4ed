package post

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// The table of spec §6.1, with the tree shapes of §5.1 and the sizes of §8.3.
func TestParamsFor(t *testing.T) {
	sizes := Sizes()
	for i, c := range []struct {
		size, shape               string
		levels, windowSectors     int
		windowBytes, winningBytes int // of a vanilla proof, where known
	}{
		{"2KiB", "8-0-0", 2, 2, 5680, 36816},
		{"4KiB", "8-2-0", 3, 2, 0, 0},
		{"16KiB", "8-8-0", 3, 2, 0, 0},
		{"32KiB", "8-8-2", 4, 2, 8720, 56880},
		{"8MiB", "8-0-0", 6, 2, 0, 0},
		{"16MiB", "8-2-0", 7, 2, 0, 0},
		{"512MiB", "8-0-0", 8, 2, 0, 0},
		{"1GiB", "8-2-0", 9, 2, 0, 0},
		{"32GiB", "8-8-0", 10, 2349, 24960, 164064},
		{"64GiB", "8-8-2", 11, 2300, 25520, 167760},
	} {
		size := circuittest.Size(t, c.size)
		require.Equal(t, size, sizes[i])
		for _, k := range []Kind{Winning, Window} {
			p, err := ParamsFor(k, size)
			require.NoError(t, err)
			require.NoError(t, p.Validate())
			require.Equal(t, c.shape, p.Shape.String())
			require.Len(t, p.Levels(), c.levels)
			require.Equal(t, k.String()+"-post-"+c.size, p.Name())
			want, bytes, paths := [2]int{c.windowSectors, 10}, c.windowBytes, 10
			if k == Winning {
				want, bytes, paths = [2]int{66, 1}, c.winningBytes, 66
			}
			require.Equal(t, want, [2]int{p.Sectors, p.Challenges})
			require.Equal(t, paths, p.PathsPerProof())
			require.Equal(t, want[0]*(1+want[1]), p.PublicInputCount())
			if bytes != 0 {
				require.Equal(t, bytes, p.VanillaSize())
			}
		}
	}
	for _, size := range []uint64{0, 1, 1 << 10, 8 << 10, 2<<10 + 1, 3 << 10, 128 << 30} {
		_, err := ParamsFor(Window, size)
		require.ErrorIs(t, err, ErrSectorSize)
	}
	_, err := ParamsFor(2, 2<<10)
	require.ErrorIs(t, err, ErrParams)
}

func TestParamsValidate(t *testing.T) {
	good, err := ParamsFor(Winning, 2<<10)
	require.NoError(t, err)
	for name, change := range map[string]func(*Params){
		"size 0":                   func(p *Params) { p.SectorSize = 0 },
		"no power of two":          func(p *Params) { p.SectorSize = 3 << 10 },
		"one node":                 func(p *Params) { p.SectorSize = 32 },
		"too many nodes":           func(p *Params) { p.SectorSize = 1 << 38 },
		"uneven levels":            func(p *Params) { p.SectorSize = 4 << 10 },
		"base 0":                   func(p *Params) { p.Shape = Shape{} },
		"base 16":                  func(p *Params) { p.Shape.Base = 16 },
		"top without sub":          func(p *Params) { p.Shape.Top = 8 },
		"kind":                     func(p *Params) { p.Kind = 2 },
		"no sectors":               func(p *Params) { p.Sectors = 0 },
		"no challenges":            func(p *Params) { p.Challenges = 0 },
		"negative":                 func(p *Params) { p.Sectors = -1 },
		"two winning challenges":   func(p *Params) { p.Challenges = 2 },
		"too many window sectors":  func(p *Params) { p.Kind, p.Sectors = Window, 1<<18+1 },
		"too many of both":         func(p *Params) { p.Kind, p.Sectors, p.Challenges = Window, 1<<10, 1<<10 },
		"overflowing their number": func(p *Params) { p.Kind, p.Sectors, p.Challenges = Window, 1<<62, 1<<62 },
	} {
		p := good
		change(&p)
		require.ErrorIs(t, p.Validate(), ErrParams, name)
		_, err := DecodeAll(p, nil)
		require.ErrorIs(t, err, ErrParams, name)
	}
}

// The published names begin as the table of spec §9.10 says; the 2 KiB ones are also those of the
// reference's own parameters in the test vectors.
func TestCacheName(t *testing.T) {
	for size, hash := range map[string][2]string{
		"2KiB":   {"3ea05428c9d11689", "0170db1f394b35d9"},
		"8MiB":   {"50c7368dea9593ed", "5294475db5237a2e"},
		"512MiB": {"7d739b8cf60f1b07", "0cfb4f178bbb71cf"},
		"32GiB":  {"559e581f022bb4e4", "0377ded656c6f524"},
		"64GiB":  {"b62098629d07946e", "2627e4006b67f99c"},
	} {
		for _, k := range []Kind{Winning, Window} {
			p, err := ParamsFor(k, circuittest.Size(t, size))
			require.NoError(t, err)
			prefix := "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-" + p.Shape.String() + "-"
			require.True(t, strings.HasPrefix(p.CacheName(), prefix+hash[k]), p.CacheName())
			require.Len(t, p.CacheName(), len(prefix)+64)
		}
	}
}

func TestRegisteredProofs(t *testing.T) {
	sizes := []string{"2KiB", "8MiB", "512MiB", "32GiB", "64GiB"}
	for i, p := range RegisteredProofs() {
		require.Equal(t, i, int(p))
		require.True(t, p.Valid())
		require.Equal(t, sizes[i%5], sectorsize.Format(p.SectorSize()))
		rule := i / 5
		require.Equal(t, "StackedDrg"+[]string{"Winning", "Window", "Window"}[rule]+sizes[i%5]+[]string{"V1", "V1", "V1_2"}[rule], p.String())
		require.Equal(t, []Kind{Winning, Window, Window}[rule], p.Kind())
		require.Equal(t, []string{"1.0.0", "1.0.0", "1.2.0"}[rule], p.APIVersion().String())

		again, err := ParseRegisteredProof(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		again, err = RegisteredProofFor(p.Kind(), p.SectorSize(), p.APIVersion())
		require.NoError(t, err)
		require.Equal(t, p, again)
		one, err := OneProofType(p, p)
		require.NoError(t, err)
		require.Equal(t, p, one)

		params, err := p.Params()
		require.NoError(t, err)
		require.NoError(t, params.Validate())
	}
	require.Len(t, RegisteredProofs(), 15)
}

func TestUnknownRegisteredProof(t *testing.T) {
	for _, name := range []string{"", "StackedDrgWindow3KiBV1", "StackedDrgWinning2KiBV1_2", "StackedDrgWindow2KiBV1_1", "StackedDrgWindow2KiBV1 "} {
		_, err := ParseRegisteredProof(name)
		require.ErrorIs(t, err, ErrProofType, name)
	}
	bad := RegisteredProof(15)
	require.False(t, bad.Valid())
	require.Zero(t, bad.SectorSize())
	require.Equal(t, "registered proof 15", bad.String())
	_, err := bad.Params()
	require.ErrorIs(t, err, ErrProofType)
	_, err = OneProofType(bad)
	require.ErrorIs(t, err, ErrProofType)
	_, err = OneProofType()
	require.ErrorIs(t, err, ErrNoSectors)
	_, err = OneProofType(Window2KiBV1, Window2KiBV1, Window2KiBV1_2)
	require.ErrorIs(t, err, ErrMixed)
	_, err = RegisteredProofFor(Window, 4<<10, APIv1_0)
	require.ErrorIs(t, err, ErrProofType)
	_, err = RegisteredProofFor(Winning, 2<<10, APIv1_2)
	require.ErrorIs(t, err, ErrProofType)
	require.Equal(t, "kind 9", Kind(9).String())
	require.Equal(t, "API version 9", APIVersion(9).String())
}
