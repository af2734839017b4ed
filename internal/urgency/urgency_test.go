package urgency

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	require.Zero(t, Of(t.Context()))
	ctx := With(t.Context(), 3)
	require.Equal(t, 3, Of(ctx))
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	require.Equal(t, 3, Of(inner))
	require.Equal(t, -1, Of(With(inner, -1)))
	require.Equal(t, 3, Of(inner))
}
