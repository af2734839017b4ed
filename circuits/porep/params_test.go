package porep

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// The table of spec §5.1.
func TestParamsFor(t *testing.T) {
	sizes := Sizes()
	for i, c := range []struct {
		size                           string
		logNodes                       int
		shape                          string
		base                           int
		layers, partitions, challenges int
	}{
		{"2KiB", 6, "8-0-0", 2, 2, 1, 2},
		{"4KiB", 7, "8-2-0", 2, 2, 1, 2},
		{"16KiB", 9, "8-8-0", 2, 2, 1, 2},
		{"32KiB", 10, "8-8-2", 2, 2, 1, 2},
		{"8MiB", 18, "8-0-0", 6, 2, 1, 2},
		{"16MiB", 19, "8-2-0", 6, 2, 1, 2},
		{"512MiB", 24, "8-0-0", 8, 2, 1, 2},
		{"1GiB", 25, "8-2-0", 8, 2, 1, 2},
		{"32GiB", 30, "8-8-0", 9, 11, 10, 18},
		{"64GiB", 31, "8-8-2", 9, 11, 10, 18},
	} {
		size := circuittest.Size(t, c.size)
		require.Equal(t, size, sizes[i])
		p, err := ParamsFor(size)
		require.NoError(t, err)
		require.NoError(t, p.Validate())
		require.Equal(t, c.logNodes, p.LogNodes())
		require.Equal(t, uint64(1)<<c.logNodes, p.Nodes())
		require.Equal(t, c.shape, p.Shape.String())
		require.Equal(t, []int{c.layers, c.partitions, c.challenges}, []int{p.Layers, p.Partitions, p.Challenges})
		require.Equal(t, 3+18*c.challenges, p.PublicInputCount())
		require.Equal(t, "porep-"+c.size, p.Name())

		levels := p.Levels()
		leaves := 1
		for k, arity := range levels {
			leaves *= arity
			if k < c.base {
				require.Equal(t, 8, arity)
			}
		}
		require.Equal(t, 1<<c.logNodes, leaves)
		upper := len(strings.ReplaceAll(c.shape, "-0", "")) / 2
		require.Len(t, levels, c.base+upper)
	}
	for _, size := range []uint64{0, 1, 1 << 10, 2<<10 + 1, 3 << 10, 128 << 30} {
		_, err := ParamsFor(size)
		require.ErrorIs(t, err, ErrSectorSize)
	}
}

func TestParamsValidate(t *testing.T) {
	good, err := ParamsFor(2 << 10)
	require.NoError(t, err)
	for name, change := range map[string]func(*Params){
		"size 0":            func(p *Params) { p.SectorSize = 0 },
		"no power of two":   func(p *Params) { p.SectorSize = 3 << 10 },
		"one node":          func(p *Params) { p.SectorSize = 32 },
		"too many nodes":    func(p *Params) { p.SectorSize = 1 << 38 },
		"uneven levels":     func(p *Params) { p.SectorSize = 4 << 10 },
		"no base level":     func(p *Params) { p.Shape = Shape{Base: 8, Sub: 8, Top: 8} },
		"base 0":            func(p *Params) { p.Shape = Shape{} },
		"base 16":           func(p *Params) { p.Shape.Base = 16 },
		"base -8":           func(p *Params) { p.Shape.Base = -8 },
		"sub 3":             func(p *Params) { p.Shape.Sub = 3 },
		"top without sub":   func(p *Params) { p.Shape.Top = 8 },
		"3 layers":          func(p *Params) { p.Layers = 3 },
		"no layers":         func(p *Params) { p.Layers = 0 },
		"no partitions":     func(p *Params) { p.Partitions = 0 },
		"no challenges":     func(p *Params) { p.Challenges = 0 },
		"too many in a row": func(p *Params) { p.Challenges = 19 },
	} {
		p := good
		change(&p)
		require.ErrorIs(t, p.Validate(), ErrParams, name)
	}
}

// The published names begin as the table of spec §9.10 says; the 2 KiB one is also that of the
// reference's own parameters in the test vectors.
func TestCacheName(t *testing.T) {
	for size, hash := range map[string]string{
		"2KiB":   "032d3138d22506ec",
		"8MiB":   "ecd683648512ab17",
		"512MiB": "6babf46ce344ae49",
		"32GiB":  "82a357d2f2ca81dc",
		"64GiB":  "96f1b4a04c5c51e4",
	} {
		p, err := ParamsFor(circuittest.Size(t, size))
		require.NoError(t, err)
		prefix := "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-" + p.Shape.String() + "-sha256_hasher-"
		require.True(t, strings.HasPrefix(p.CacheName(), prefix+hash), p.CacheName())
		require.Len(t, p.CacheName(), len(prefix)+64)
	}
	p, err := ParamsFor(2 << 10)
	require.NoError(t, err)
	require.Equal(t, "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-"+
		"032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f", p.CacheName())
}

func TestRegisteredProofs(t *testing.T) {
	sizes := []string{"2KiB", "8MiB", "512MiB", "32GiB", "64GiB"}
	for i, p := range RegisteredProofs() {
		require.Equal(t, i, int(p))
		require.True(t, p.Valid())
		require.Equal(t, sizes[i%5], sectorsize.Format(p.SectorSize()))
		rule := i / 5
		require.Equal(t, "StackedDrg"+sizes[i%5]+[]string{"V1", "V1_1", "V1_1_Feat_SyntheticPoRep", "V1_2_Feat_NonInteractivePoRep"}[rule], p.String())
		require.Equal(t, []string{"1.0.0", "1.1.0", "1.2.0", "1.2.0"}[rule], p.APIVersion().String())
		require.Equal(t, []string{"interactive", "interactive", "synthetic", "non-interactive"}[rule], p.Feature().String())
		require.Equal(t, [32]byte{byte(i)}, p.PoRepID())

		again, err := ParseRegisteredProof(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		again, err = RegisteredProofFor(p.SectorSize(), p.APIVersion(), p.Feature())
		require.NoError(t, err)
		require.Equal(t, p, again)

		params, err := p.Params()
		require.NoError(t, err)
		require.NoError(t, params.Validate())
		large := i%5 >= 3
		if rule == 3 {
			require.ErrorIs(t, p.Supported(), ErrUnsupported)
			require.ErrorContains(t, p.Supported(), p.String())
			require.Equal(t, map[bool]int{true: 126, false: 13}[large], params.Partitions)
		} else {
			require.NoError(t, p.Supported())
			require.Equal(t, map[bool]int{true: 10, false: 1}[large], params.Partitions)
		}
	}
	require.Len(t, RegisteredProofs(), 20)
}

func TestUnknownRegisteredProof(t *testing.T) {
	for _, name := range []string{"", "StackedDrg3KiBV1", "StackedDrg2KiBV1_2", "stackeddrg2kibv1", "StackedDrg4KiBV1", "StackedDrg2KiBV1 "} {
		_, err := ParseRegisteredProof(name)
		require.ErrorIs(t, err, ErrProofType, name)
	}
	bad := RegisteredProof(20)
	require.False(t, bad.Valid())
	require.Zero(t, bad.SectorSize())
	require.Equal(t, "registered proof 20", bad.String())
	require.ErrorIs(t, bad.Supported(), ErrProofType)
	_, err := bad.Params()
	require.ErrorIs(t, err, ErrProofType)
	_, err = RegisteredProofFor(4<<10, APIv1_1, Interactive)
	require.ErrorIs(t, err, ErrProofType)
	_, err = RegisteredProofFor(2<<10, APIv1_0, Synthetic)
	require.ErrorIs(t, err, ErrProofType)
	require.Equal(t, "feature 9", Feature(9).String())
}
