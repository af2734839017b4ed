package nilvalue

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIs(t *testing.T) {
	var p *int
	var f func()
	var err error
	for _, v := range []any{nil, p, f, err, map[int]int(nil)} {
		require.True(t, Is(v), "%T", v)
	}
	for _, v := range []any{0, "", struct{}{}, new(int), func() {}, errors.New("no"), map[int]int{}} {
		require.False(t, Is(v), "%T", v)
	}
}
