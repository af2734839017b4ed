package pce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/sync/errgroup"
)

func encode(t testing.TB, s *System) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := s.WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	return b.Bytes()
}

func TestFileRoundTrip(t *testing.T) {
	sys := record(t, many(5))
	path := filepath.Join(t.TempDir(), "x.pce")
	require.NoError(t, sys.WriteFile(path))
	got, err := Open(path, "test")
	require.NoError(t, err)
	require.Equal(t, sys.Counts(), got.Counts())
	require.Equal(t, sys.Layout(), got.Layout())
	require.Equal(t, sys.Stats(), got.Stats())
	require.Equal(t, digest(t, sys), digest(t, got))
	require.Equal(t, sys.Digest(), got.Digest())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, encode(t, got), data, "a file read and written again is the same")
	require.Equal(t, blake2b.Sum256(data), sys.Digest())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file stays")
}

// tiny has blocks, all kinds of variables and a file of some two thousand bytes.
func tiny(b Builder) error {
	x := b.Alloc(fr.NewElement(3))
	for range 3 {
		x = b.Block("outer", []Arg{x}, func(b Builder, in []Arg) []Arg {
			bit := b.AllocBit(true)
			b.PackInput([]Bit{bit.Not()})
			return b.Block("inner", in, func(b Builder, in []Arg) []Arg {
				return []Arg{b.Mul(in[0].(Num), in[0].(Num))}
			})
		})[0].(Num)
	}
	return nil
}

func TestFileDamage(t *testing.T) {
	data := encode(t, record(t, tiny))
	check := func(t *testing.T, b []byte) *FormatError {
		t.Helper()
		_, err := decode(b, "x.pce", "")
		require.ErrorIs(t, err, ErrFormat)
		var fe *FormatError
		require.ErrorAs(t, err, &fe)
		require.Equal(t, "x.pce", fe.File)
		require.LessOrEqual(t, fe.Offset, int64(len(b)))
		return fe
	}
	t.Run("any byte", func(t *testing.T) {
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 0x40
			check(t, bad)
		}
	})
	t.Run("any length", func(t *testing.T) {
		for i := range data {
			check(t, data[:i])
		}
		check(t, append(slices.Clone(data), 0))
	})
	t.Run("section is named", func(t *testing.T) {
		var h fileHeader
		_, err := binary.Decode(data, binary.LittleEndian, &h)
		require.NoError(t, err)
		for i, s := range h.Sections {
			bad := slices.Clone(data)
			bad[s.Offset+s.Length/2] ^= 1
			fe := check(t, bad)
			require.Equal(t, sectionName(i), fe.Section)
			require.EqualValues(t, s.Offset, fe.Offset)
		}
	})
	t.Run("section is elsewhere", func(t *testing.T) {
		for i := range sectionCount {
			bad := slices.Clone(data)
			at := binary.Size(fileHeader{}) - (sectionCount-i)*16
			bad[at+4] = 1 // the high half of the offset
			fe := check(t, bad)
			require.EqualValues(t, at, fe.Offset)
			require.ErrorIs(t, fe, errIndex)
			require.NotErrorIs(t, fe, ErrTruncated)
			require.ErrorContains(t, fe, "section "+sectionName(i))
		}
	})
	t.Run("version", func(t *testing.T) {
		bad := slices.Clone(data)
		bad[8]++
		require.ErrorIs(t, check(t, bad), ErrVersion)
	})
	t.Run("circuit", func(t *testing.T) {
		_, err := decode(data, "x.pce", "porep-2KiB")
		require.ErrorIs(t, err, ErrCircuit)
	})
}

// reseal makes the digests of altered contents right, as a hostile author would.
func reseal(data []byte) {
	d := &decoder{data: data}
	if d.header() != nil {
		return
	}
	trailer := len(data) - (sectionCount+1)*digestSize
	for i := range sectionCount {
		sum := sectionDigest(data[:headerSize], i, d.section(i))
		copy(data[trailer+i*digestSize:], sum[:])
	}
	sum := blake2b.Sum256(data[:len(data)-digestSize])
	copy(data[len(data)-digestSize:], sum[:])
}

// exercise uses a system in every way; none may panic whatever file it came from.
func exercise(t testing.TB, s *System) {
	c := s.Counts()
	if c.Rows+c.Aux+c.Inputs > 1<<16 || s.Stats().Instances > 1<<16 {
		return
	}
	l := s.Layout()
	w := &Witness{
		Inputs: make([]fr.Element, c.Inputs), Bits: make([]uint64, bitWords(c.Bits)), NumBits: c.Bits,
		Dense: make([]fr.Element, c.Dense), Layout: l.Digest,
	}
	n := s.FullRows()
	require.NoError(t, s.Eval(t.Context(), w, make([]fr.Element, n), make([]fr.Element, n), make([]fr.Element, n)))
	require.NoError(t, l.Expand(w, make([]fr.Element, c.Aux)))
	_, err := s.Transpose(t.Context(), make([]fr.Element, n))
	require.NoError(t, err)
	_, err = s.R1CSDigest(t.Context())
	require.NoError(t, err)
}

func TestHostileFiles(t *testing.T) {
	data := encode(t, record(t, tiny))
	accepted := 0
	for i := headerSize; i < len(data)-(sectionCount+1)*digestSize; i++ {
		for _, x := range []byte{1, 0x80, 0xff} {
			bad := slices.Clone(data)
			bad[i] ^= x
			reseal(bad)
			s, err := decode(bad, "x.pce", "")
			if err != nil {
				require.ErrorIs(t, err, ErrFormat)
				continue
			}
			accepted++
			exercise(t, s)
		}
	}
	require.Positive(t, accepted, "some changes, such as of a coefficient, make another system")
}

func FuzzOpen(f *testing.F) {
	f.Add(encode(f, record(f, tiny)))
	f.Add(encode(f, record(f, many(3))))
	f.Add([]byte(fileMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = slices.Clone(data)
		reseal(data)
		s, err := decode(data, "fuzz", "")
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		require.True(t, bytes.Equal(data, encode(t, s)), "written again it is another file")
		exercise(t, s)
	})
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "missing"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(dir, "")
	require.ErrorIs(t, err, ErrFormat)
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	_, err = Open(empty, "")
	require.ErrorIs(t, err, ErrTruncated)
	require.Error(t, record(t, many(1)).WriteFile(filepath.Join(dir, "no", "such", "folder")))
}

// fullDisk takes some bytes and then no more.
type fullDisk struct{ left int }

var errDiskFull = errors.New("no space left")

func (d *fullDisk) Write(b []byte) (int, error) {
	n := min(len(b), d.left)
	d.left -= n
	if n < len(b) {
		return n, errDiskFull
	}
	return n, nil
}

// Whoever writes the same file at the same time: readers find a whole one or none, and nothing else stays in the folder.
func TestWritersOfOneFile(t *testing.T) {
	sys := record(t, many(5))
	path := filepath.Join(t.TempDir(), "system.pce")
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			for range 8 {
				if err := sys.WriteFile(path); err != nil {
					return err
				}
				if _, err := Open(path, sys.Name()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestWriteToFullDisk(t *testing.T) {
	sys := record(t, many(1))
	size := len(encode(t, sys))
	for _, left := range []int{0, 1, headerSize, size / 2, size - 1} {
		n, err := sys.WriteTo(&fullDisk{left})
		require.ErrorIs(t, err, errDiskFull)
		require.EqualValues(t, left, n)
	}
	_, err := sys.WriteTo(&fullDisk{size})
	require.NoError(t, err)
}
