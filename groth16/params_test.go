package groth16

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
)

// sectionAt is where the parts of a parameter file are: the offset of each list's count, and of the end.
func sectionAt(params []byte) map[string]int64 {
	at := int64(868 - 4)
	out := map[string]int64{"ic": at}
	at += 4 + 96*int64(binary.BigEndian.Uint32(params[at:]))
	for _, s := range []string{"h", "l", "a", "b_g1", "b_g2"} {
		out[s] = at
		size := int64(96)
		if s == "b_g2" {
			size = 192
		}
		at += 4 + size*int64(binary.BigEndian.Uint32(params[at:]))
	}
	out["end"] = at
	return out
}

// useParams opens a parameter file, checks all points, and proves with it.
func useParams(t *testing.T, v *enginetest.Vector, params []byte) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.params")
	require.NoError(t, os.WriteFile(path, params, 0o600))
	key, err := OpenProvingKey(path)
	if err != nil {
		return err
	}
	defer key.Close()
	if err := key.Check(t.Context(), nil); err != nil {
		return err
	}
	p, err := NewProver(t.Context(), key, v.System(t), onCPU)
	if err != nil {
		return err
	}
	defer p.Close()
	_, err = p.Prove(t.Context(), list(v.Circuit), nil)
	return err
}

func change(b []byte, at int64, with ...byte) []byte {
	out := append([]byte{}, b...)
	copy(out[at:], with)
	return out
}

func TestGoodParams(t *testing.T) {
	for _, name := range enginetest.SmallNames() {
		v := enginetest.Small(t, name)
		require.NoError(t, useParams(t, v, v.Params))
		key := openKey(t, v.ParamsFile(t))
		var vk bytes.Buffer
		_, err := key.VerifyingKey().WriteTo(&vk)
		require.NoError(t, err)
		require.Equal(t, v.VK, vk.Bytes())
		c := v.System(t).Counts()
		require.Equal(t, c.Aux, key.Counts().L)
		require.EqualValues(t, len(v.Params), key.Bytes())
	}
}

func TestTruncatedParams(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	for n := range len(v.Params) {
		if n%37 > 1 && n < len(v.Params)-5 {
			continue
		}
		var e *ParamsError
		err := useParams(t, v, v.Params[:n])
		require.ErrorAs(t, err, &e, "%d bytes", n)
		require.ErrorIs(t, err, srs.ErrTruncated)
		require.ErrorIs(t, err, ErrEncoding)
		require.Contains(t, e.Error(), "x.params")
	}
	err := useParams(t, v, append(append([]byte{}, v.Params...), 0))
	require.ErrorIs(t, err, srs.ErrTrailing)
}

// A flipped byte anywhere is found, and the point is named.
func TestFlippedBytesInParams(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	at := sectionAt(v.Params)
	for _, s := range []struct {
		name string
		size int64
	}{{"h", 96}, {"l", 96}, {"a", 96}, {"b_g1", 96}, {"b_g2", 192}} {
		n := int64(binary.BigEndian.Uint32(v.Params[at[s.name]:]))
		for index := range n {
			for _, in := range []int64{0, 1, 47, s.size - 1} {
				offset := at[s.name] + 4 + index*s.size
				err := useParams(t, v, change(v.Params, offset+in, v.Params[offset+in]^0x10))
				var e *ParamsError
				require.ErrorAs(t, err, &e, "%s %d byte %d", s.name, index, in)
				require.Equal(t, s.name, e.Section)
				require.EqualValues(t, index, e.Index)
				require.Equal(t, offset, e.Offset)
			}
		}
	}
	for offset := int64(0); offset < at["ic"]; offset += 41 {
		var e *ParamsError
		require.ErrorAs(t, useParams(t, v, change(v.Params, offset, v.Params[offset]^1)), &e)
		require.Equal(t, "vk", e.Section)
	}
}

func TestDamagedPoints(t *testing.T) {
	v := enginetest.Small(t, "feistel")
	at := sectionAt(v.Params)
	infinity := append([]byte{0x40}, make([]byte, 191)...)
	outside := make([]byte, 48)
	outsideSubgroup(outside)
	p, err := wire.G1Compressed(outside)
	require.ErrorIs(t, err, wire.NotInSubgroup)
	full := wire.AppendG1(nil, &p)
	for _, c := range []struct {
		section string
		bytes   []byte
		reason  error
	}{
		{"h", infinity[:96], wire.Infinity},
		{"b_g2", infinity, wire.Infinity},
		{"l", bytes.Repeat([]byte{0x1f}, 96), wire.NotReduced},
		{"a", make([]byte, 96), wire.NotOnCurve},
		{"b_g1", full, wire.NotInSubgroup},
		{"a", append([]byte{0x80}, make([]byte, 95)...), wire.Flags},
	} {
		size := int64(len(c.bytes))
		offset := at[c.section] + 4 + 7*size
		err := useParams(t, v, change(v.Params, offset, c.bytes...))
		require.ErrorIs(t, err, c.reason, c.section)
		var e *ParamsError
		require.ErrorAs(t, err, &e)
		require.Equal(t, ParamsError{File: e.File, Section: c.section, Index: 7, Offset: offset, Err: c.reason}, *e)
	}
}

func TestWrongCountsInParams(t *testing.T) {
	v := enginetest.Small(t, "feistel")
	at := sectionAt(v.Params)
	for _, s := range []string{"ic", "h", "l", "a", "b_g1", "b_g2"} {
		n := binary.BigEndian.Uint32(v.Params[at[s]:])
		for _, m := range []uint32{0, 1, n - 1, n + 1, 2 * n, 1 << 31, 1<<32 - 1} {
			t.Run(fmt.Sprintf("%s=%d", s, m), func(t *testing.T) {
				err := useParams(t, v, change(v.Params, at[s], binary.BigEndian.AppendUint32(nil, m)...))
				require.Error(t, err)
				var e *ParamsError
				if !errors.As(err, &e) {
					require.ErrorIs(t, err, ErrKeyMismatch)
				}
			})
		}
	}
}

// Lists of the same length can change places without any count being wrong.
func TestSwappedSections(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	at := sectionAt(v.Params)
	swapped := append([]byte{}, v.Params...)
	// l has 3 points, so has the start of a.
	copy(swapped[at["l"]+4:], v.Params[at["a"]+4:at["a"]+4+3*96])
	copy(swapped[at["a"]+4:], v.Params[at["l"]+4:at["l"]+4+3*96])
	require.ErrorIs(t, useParams(t, v, swapped), ErrInvalidProof)
}

// A point with a small error in a key whose points are only checked as they are used still makes no bad proof.
func TestPointOutsideSubgroupGivesNoProof(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	outside := make([]byte, 48)
	outsideSubgroup(outside)
	p, _ := wire.G1Compressed(outside)
	path := filepath.Join(t.TempDir(), "x.params")
	require.NoError(t, os.WriteFile(path, change(v.Params, sectionAt(v.Params)["a"]+4, wire.AppendG1(nil, &p)...), 0o600))
	prover := newProver(t, openKey(t, path), v.System(t), onCPU)
	_, err := prover.Prove(t.Context(), list(v.Circuit), nil)
	require.ErrorIs(t, err, ErrInvalidProof)
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := OpenProvingKey(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = OpenProvingKey(dir)
	require.ErrorContains(t, err, "not a regular file")
	for name, b := range map[string][]byte{
		"empty": nil, "html": []byte("<html>502 Bad Gateway</html>"), "zeros": make([]byte, 5000),
		"vk": enginetest.Small(t, "cubic").VK,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, err := OpenProvingKey(path)
		var e *ParamsError
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, path, e.File)
	}
	// The cause removed, the next call succeeds.
	v := enginetest.Small(t, "cubic")
	path := filepath.Join(dir, "html")
	require.NoError(t, os.WriteFile(path, v.Params, 0o600))
	openKey(t, path)
}

func TestKeyCutShortInUse(t *testing.T) {
	v := enginetest.Small(t, "feistel")
	path := v.ParamsFile(t)
	p := newProver(t, openKey(t, path), v.System(t), onCPU)
	require.NoError(t, os.Truncate(path, sectionAt(v.Params)["a"]+1000))
	_, err := p.Prove(t.Context(), list(v.Circuit), nil)
	var e *ParamsError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "a", e.Section)
	require.ErrorContains(t, err, "cut short")
}

func TestCheckReportsProgressAndStops(t *testing.T) {
	v := enginetest.Small(t, "sparse")
	key := openKey(t, v.ParamsFile(t))
	c := key.Counts()
	total := int64(c.H + c.L + c.A + 2*c.B)
	last := int64(0)
	require.NoError(t, key.Check(t.Context(), func(done, n int64) {
		require.GreaterOrEqual(t, done, last)
		require.Equal(t, total, n)
		last = done
	}))
	require.Equal(t, total, last)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	require.ErrorIs(t, key.Check(ctx, func(int64, int64) { cancel(cause) }), cause)
}

func TestMalformedVerifyingKey(t *testing.T) {
	good := enginetest.Small(t, "feistel").VK
	for n := range len(good) {
		_, err := ReadVerifyingKey(bytes.NewReader(good[:n]))
		require.ErrorIs(t, err, srs.ErrTruncated)
		if n > 700 {
			break // every further prefix has a few milliseconds of points to check
		}
	}
	for _, n := range []int{863, 864, 867, 868, 869, len(good) - 1} {
		_, err := ReadVerifyingKey(bytes.NewReader(good[:n]))
		require.ErrorIs(t, err, srs.ErrTruncated)
	}
	_, err := ReadVerifyingKey(bytes.NewReader(append(append([]byte{}, good...), 7)))
	require.ErrorIs(t, err, srs.ErrTrailing)
	_, err = ReadVerifyingKey(bytes.NewReader(change(good, 864, 0xff, 0xff, 0xff, 0xff)))
	require.ErrorIs(t, err, srs.ErrTruncated)
	_, err = ReadVerifyingKey(bytes.NewReader(change(good, 864, 0, 0, 0, 0)))
	require.ErrorIs(t, err, srs.ErrCount)
	var e *ParamsError
	_, err = ReadVerifyingKey(bytes.NewReader(change(good, 868+96+50, good[868+96+50]^1)))
	require.ErrorAs(t, err, &e)
	require.Equal(t, 7, e.Index, "six single points, then IC")
	require.EqualValues(t, 868+96, e.Offset)
}
