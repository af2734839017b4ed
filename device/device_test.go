package device

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCPU(t *testing.T) {
	d := CPU()
	require.True(t, d.Info().IsCPU())
	require.Equal(t, "cpu", d.Info().Name)
	require.Zero(t, d.Stats())
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	require.Equal(t, CPU(), d)
}
