package circuittest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// Hex32 is 32 bytes, hex in JSON.
type Hex32 [32]byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex32) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err == nil && len(b) != len(h) {
		err = fmt.Errorf("%d bytes, want %d", len(b), len(h))
	}
	copy(h[:], b)
	return err
}

// Testdata is the content of a file of the package's testdata, decompressed if it is a .zst.
func Testdata(t testing.TB, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	require.NoError(t, err)
	if filepath.Ext(path[len(path)-1]) != ".zst" {
		return b
	}
	d, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer d.Close()
	b, err = d.DecodeAll(b, nil)
	require.NoError(t, err)
	return b
}

// LoadJSON reads a file as [Testdata] does.
func LoadJSON[T any](t testing.TB, path ...string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(Testdata(t, path...), &v))
	return v
}

// HexesLE are public inputs as the vectors have them: hex, least significant byte first.
func HexesLE(in [][]fr.Element) [][]string {
	out := make([][]string, len(in))
	for k := range in {
		for _, e := range in[k] {
			out[k] = append(out[k], hex.EncodeToString(bytesLE(e)))
		}
	}
	return out
}

func bytesLE(e fr.Element) []byte {
	b := e.Bytes()
	slices.Reverse(b[:])
	return b[:]
}

// Size is a sector size in bytes.
func Size(t testing.TB, s string) uint64 {
	t.Helper()
	n, err := sectorsize.Parse(s)
	require.NoError(t, err)
	return n
}
