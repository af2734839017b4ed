package porep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/pce"
)

func TestX(t *testing.T) {
	p, err := ParamsFor(2 << 10)
	require.NoError(t, err)
	s, err := pce.Record("x", Blank(p).Synthesize, nil)
	require.NoError(t, err)
	t.Logf("%+v %+v", s.Counts(), s.Stats())
	l := s.Layout()
	t.Log(l.Densities.AAux.Count(), l.Densities.BAux.Count(), l.Densities.BInput.Count())
	d := s.R1CSDigest()
	t.Logf("%x %x %v %d", d.SHA256, d.SHA256Full, d.NonZero, d.ZeroTerms)
}
