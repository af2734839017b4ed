package srs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/hostmem"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
)

func open(t testing.TB, params []byte) *srs.Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key.params")
	require.NoError(t, os.WriteFile(path, params, 0o600))
	var ledger hostmem.Ledger
	key, err := srs.Open(path, &ledger)
	require.NoError(t, err)
	require.Equal(t, path, key.Path())
	t.Cleanup(func() {
		require.NoError(t, key.Close())
		require.NoError(t, key.Close())
		require.Zero(t, ledger.Bytes(hostmem.ProvingKey))
	})
	return key
}

// What is read and written again is the file.
func TestRoundTrip(t *testing.T) {
	for _, name := range enginetest.SmallNames() {
		params := enginetest.Small(t, name).Params
		key := open(t, params)
		var out bytes.Buffer
		w := srs.NewWriter(&out, key.VerifyingKey())
		for _, s := range []srs.Section{srs.H, srs.L, srs.A, srs.BG1, srs.BG2} {
			n := key.Len(s)
			require.NoError(t, w.Begin(s, n))
			require.NoError(t, key.View(s, 0, n/2, w.Encoded))
			require.NoError(t, key.View(s, n/2, n, w.Encoded))
			key.Forget(s, 0, n)
		}
		require.NoError(t, w.Finish())
		require.True(t, bytes.Equal(params, out.Bytes()))
	}
}

func TestRanges(t *testing.T) {
	key := open(t, enginetest.Small(t, "feistel").Params)
	all := make([]bls12381.G1Affine, key.Len(srs.L))
	require.NoError(t, key.G1(t.Context(), srs.L, 0, all))
	part := make([]bls12381.G1Affine, 10)
	require.NoError(t, key.G1(t.Context(), srs.L, 77, part))
	require.Equal(t, all[77:87], part)
	require.Error(t, key.G1(t.Context(), srs.L, key.Len(srs.L)-9, part))
	require.Error(t, key.G1(t.Context(), srs.L, -1, part))
	require.Error(t, key.G1(t.Context(), srs.BG2, 0, part))
	require.Error(t, key.G1(t.Context(), srs.VK, 0, part))
	require.Error(t, key.G2(t.Context(), srs.A, 0, make([]bls12381.G2Affine, 1)))
	require.NoError(t, key.View(srs.H, 3, 3, func(b []byte) error { require.Empty(t, b); return nil }))
	boom := errors.New("boom")
	require.Equal(t, boom, key.View(srs.H, 3, 5, func(b []byte) error { require.Len(t, b, 2*wire.G1Size); return boom }))
	require.Zero(t, key.Len(srs.VK))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, key.G1(ctx, srs.L, 0, part), context.Canceled)
}

func TestClosedKey(t *testing.T) {
	key := open(t, enginetest.Small(t, "cubic").Params)
	require.NoError(t, key.Close())
	err := key.G1(t.Context(), srs.L, 0, make([]bls12381.G1Affine, 1))
	require.ErrorIs(t, err, hostmem.ErrClosed)
}

func TestWriterRefuses(t *testing.T) {
	key := open(t, enginetest.Small(t, "cubic").Params)
	var g1 []byte // three points
	require.NoError(t, key.View(srs.L, 0, 3, func(b []byte) error {
		g1 = bytes.Clone(b)
		return nil
	}))
	infinity := make([]byte, wire.G1Size)
	infinity[0] = 0x40
	broken := errors.New("disk full")
	for name, use := range map[string]func(w *srs.Writer) error{
		"points before a section": func(w *srs.Writer) error { return w.Encoded(g1) },
		"wrong order":             func(w *srs.Writer) error { return w.Begin(srs.L, 3) },
		"impossible count":        func(w *srs.Writer) error { return w.Begin(srs.H, -1) },
		"too many points":         func(w *srs.Writer) error { return errors.Join(w.Begin(srs.H, 2), w.Encoded(g1)) },
		"points missing": func(w *srs.Writer) error {
			_ = w.Begin(srs.H, 4)
			_ = w.Encoded(g1)
			return w.Begin(srs.L, 1)
		},
		"half a point": func(w *srs.Writer) error { return errors.Join(w.Begin(srs.H, 3), w.Encoded(g1[:100])) },
		"infinity":     func(w *srs.Writer) error { return errors.Join(w.Begin(srs.H, 3), w.Encoded(infinity)) },
		"zeros":        func(w *srs.Writer) error { return errors.Join(w.Begin(srs.H, 3), w.Encoded(make([]byte, wire.G1Size))) },
		"wrong group in b_g2": func(w *srs.Writer) error {
			for _, s := range []srs.Section{srs.H, srs.L, srs.A, srs.BG1} {
				_ = w.Begin(s, 0)
			}
			return errors.Join(w.Begin(srs.BG2, 3), w.Encoded(g1))
		},
		"unfinished": func(w *srs.Writer) error { _ = w.Begin(srs.H, 3); return w.Finish() },
	} {
		t.Run(name, func(t *testing.T) {
			w := srs.NewWriter(&bytes.Buffer{}, key.VerifyingKey())
			require.Error(t, use(w))
			require.Error(t, w.Finish(), "the first error stays")
			require.Error(t, w.Begin(srs.H, 0))
		})
	}
	w := srs.NewWriter(failing{broken}, key.VerifyingKey())
	require.ErrorIs(t, w.Begin(srs.H, 0), broken)
	require.ErrorIs(t, w.Finish(), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func BenchmarkDecode(b *testing.B) {
	key := open(b, enginetest.Small(b, "sparse").Params)
	g1 := make([]bls12381.G1Affine, key.Len(srs.L))
	g2 := make([]bls12381.G2Affine, key.Len(srs.BG2))
	b.Run("group=g1", func(b *testing.B) {
		b.SetBytes(int64(len(g1)) * wire.G1Size)
		for b.Loop() {
			if err := key.G1(b.Context(), srs.L, 0, g1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("group=g2", func(b *testing.B) {
		b.SetBytes(int64(len(g2)) * wire.G2Size)
		for b.Loop() {
			if err := key.G2(b.Context(), srs.BG2, 0, g2); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A copy in memory reads like the file, and does not need it any more.
func TestCopyTo(t *testing.T) {
	params := enginetest.Small(t, "feistel").Params
	key := open(t, params)
	want := make([]bls12381.G1Affine, key.Len(srs.L))
	require.NoError(t, key.G1(t.Context(), srs.L, 0, want))
	_, err := key.CopyTo(t.Context(), make([]byte, len(params)-1), nil)
	require.ErrorContains(t, err, fmt.Sprintf("has %d bytes, the memory for it %d", len(params), len(params)-1))
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	_, err = key.CopyTo(ctx, make([]byte, len(params)), nil)
	require.ErrorIs(t, err, enough)

	memory := make([]byte, len(params))
	var last int64
	held, err := key.CopyTo(t.Context(), memory, func(done, total int64) {
		require.GreaterOrEqual(t, done, last)
		require.EqualValues(t, len(params), total)
		last = done
	})
	require.NoError(t, err)
	require.EqualValues(t, len(params), last)
	require.NoError(t, key.Close())
	require.True(t, bytes.Equal(params, memory))
	got := make([]bls12381.G1Affine, held.Len(srs.L))
	require.NoError(t, held.G1(t.Context(), srs.L, 0, got))
	require.Equal(t, want, got)
	require.Equal(t, key.Path(), held.Path())
	require.Same(t, key.VerifyingKey(), held.VerifyingKey())
	held.Forget(srs.L, 0, 10)
	require.NoError(t, held.View(srs.H, 0, 1, func(b []byte) error {
		require.Equal(t, wire.G1Size, len(b))
		return nil
	}))
	require.NoError(t, held.Close())
	require.ErrorIs(t, held.G1(t.Context(), srs.L, 0, got), hostmem.ErrClosed)
}

// A file that is cut short, or closed, while it is copied is an error that says where.
func TestCopyToOfWhatIsGone(t *testing.T) {
	params := enginetest.Small(t, "feistel").Params
	path := filepath.Join(t.TempDir(), "cut.params")
	require.NoError(t, os.WriteFile(path, params, 0o600))
	key, err := srs.Open(path, nil)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, int64(len(params)-1)))
	_, err = key.CopyTo(t.Context(), make([]byte, len(params)), nil)
	var located *srs.Error
	require.ErrorAs(t, err, &located)
	require.Equal(t, srs.VK, located.Section, "all of the file is one chunk")
	require.ErrorIs(t, err, hostmem.ErrTruncated)
	require.NoError(t, key.Close())
	_, err = key.CopyTo(t.Context(), make([]byte, len(params)), nil)
	require.ErrorIs(t, err, hostmem.ErrClosed)
}
