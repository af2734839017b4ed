package hostmem

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, n int) (string, []byte) {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path, b
}

func TestView(t *testing.T) {
	path, want := write(t, 10_000)
	var ledger Ledger
	f, err := Open(path, ProvingKey, &ledger)
	require.NoError(t, err)
	require.EqualValues(t, 10_000, f.Size())
	for _, r := range [][2]int64{{0, 0}, {0, 10_000}, {9_999, 1}, {10_000, 0}, {4_090, 20}} {
		require.NoError(t, f.View(r[0], r[1], func(b []byte) error {
			require.Equal(t, want[r[0]:r[0]+r[1]], append([]byte{}, b...))
			return nil
		}))
		f.Forget(r[0], r[1])
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {0, 10_001}, {10_001, 0}, {1 << 62, 1 << 62}} {
		require.Error(t, f.View(r[0], r[1], nil), "%v", r)
	}
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.View(0, 1, nil), ErrClosed)
	f.Forget(0, 10_000)
	require.Zero(t, ledger.Bytes(ProvingKey))
}

func TestLedgerCountsMappings(t *testing.T) {
	path, _ := write(t, 5_000)
	var ledger Ledger
	f, err := Open(path, ConstraintSystem, &ledger)
	require.NoError(t, err)
	defer f.Close()
	if f.mapped != nil {
		require.EqualValues(t, 5_000, ledger.Bytes(ConstraintSystem))
	}
	require.Zero(t, ledger.Bytes(ProvingKey))
	require.Zero(t, (*Ledger)(nil).Bytes(ProvingKey))
	require.Equal(t, "proving key", ProvingKey.String())
}

func TestCutShort(t *testing.T) {
	path, _ := write(t, 1<<20)
	f, err := Open(path, ProvingKey, nil)
	require.NoError(t, err)
	defer f.Close()

	// Between two uses.
	require.NoError(t, os.Truncate(path, 1<<19))
	require.ErrorIs(t, f.View(1<<19, 1, func([]byte) error { return nil }), ErrTruncated)
	require.NoError(t, f.View(0, 1<<19, func(b []byte) error { return nil }))

	// During one.
	if f.mapped == nil {
		t.Skip("files are not mapped here")
	}
	sum := 0
	err = f.View(0, 1<<19, func(b []byte) error {
		require.NoError(t, os.Truncate(path, 0))
		for _, x := range b {
			sum += int(x)
		}
		return nil
	})
	require.ErrorIs(t, err, ErrTruncated)
}

func TestOtherPanicsGoOn(t *testing.T) {
	path, _ := write(t, 100)
	f, err := Open(path, ProvingKey, nil)
	require.NoError(t, err)
	defer f.Close()
	require.PanicsWithValue(t, "mine", func() {
		_ = f.View(0, 1, func([]byte) error { panic("mine") })
	})
	require.NoError(t, f.View(0, 1, func([]byte) error { return nil }), "the lock is free again")
}

func TestOpenRefuses(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none"), ProvingKey, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir(), ProvingKey, nil)
	require.ErrorContains(t, err, "not a regular file")

	path := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	f, err := Open(path, ProvingKey, nil)
	require.NoError(t, err)
	require.NoError(t, f.View(0, 0, func(b []byte) error { return nil }))
	require.NoError(t, f.Close())
}

// Memory reads like a file, and is the caller's again after Close.
func TestMemory(t *testing.T) {
	b := []byte{1, 2, 3, 4}
	f := Memory(b)
	require.EqualValues(t, 4, f.Size())
	require.NoError(t, f.View(1, 2, func(got []byte) error {
		require.Same(t, &b[1], &got[0], "in place")
		require.Equal(t, 2, cap(got))
		return nil
	}))
	require.Error(t, f.View(3, 2, nil))
	f.Forget(0, 4)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.View(1, 2, nil), ErrClosed)
	require.Equal(t, []byte{1, 2, 3, 4}, b)
}
