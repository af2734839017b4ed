package sectorsize

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	for s, n := range map[string]uint64{
		"1B": 1, "100B": 100, "2KiB": 2048, "16KiB": 16384, "8MiB": 8 << 20, "512MiB": 512 << 20,
		"1GiB": 1 << 30, "32GiB": 32 << 30, "64GiB": 64 << 30, "3KiB": 3072, "1025B": 1025,
		"18446744073709551615B": math.MaxUint64,
	} {
		got, err := Parse(s)
		require.NoError(t, err)
		require.Equal(t, n, got)
		require.Equal(t, s, Format(n))
	}
}

func TestParseErrors(t *testing.T) {
	for _, s := range []string{"", "2", "KiB", "2kib", "2 KiB", " 2KiB", "+2KiB", "-2KiB", "02KiB", "0KiB", "2.5GiB", "2TiB", "17179869184GiB", "99999999999999999999B", "2KiBB"} {
		_, err := Parse(s)
		require.ErrorIs(t, err, ErrSyntax, "%q", s)
		require.ErrorContains(t, err, s)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"2KiB", "32GiB", "0B", "1024B", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(Format(n))
		require.NoError(t, err)
		require.Equal(t, n, again)
	})
}
