package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
)

func TestKeyMaker(t *testing.T) {
	enginetest.RunKeyMaker(t, func(t testing.TB, n int) engine.KeyMaker {
		m, err := NewKeyMaker(t.Context(), n, n)
		require.NoError(t, err)
		return m
	})
}
