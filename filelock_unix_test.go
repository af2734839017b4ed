//go:build unix

package cuzk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lock of a file that its holder has removed is worth nothing, whether there is a new file of the name or not.
func TestLockOfRemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	unlock, err := tryLock(path)
	require.NoError(t, err)
	first, second := open(), open()
	require.ErrorIs(t, lockOpen(first), errNotLocked, "somebody has it")
	unlock()
	require.ErrorIs(t, lockOpen(first), errNotLocked, "it is gone")
	require.NoError(t, first.Close())
	require.NoError(t, lockOpen(open()))
	require.ErrorIs(t, lockOpen(second), errNotLocked, "it is another")
}
