package cuzk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
)

// referenceName is what the reference calls the files of WindowPoSt-2KiB.
const referenceName = "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-" +
	"0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0"

// put writes a file into dir.
func put(t *testing.T, dir, name string, contents []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), contents, 0o600))
}

// requireOpens opens the key of a circuit and closes it.
func requireOpens(t *testing.T, p *cuzk.Folder, circuit, file string) {
	t.Helper()
	key, err := p.OpenKey(t.Context(), circuit)
	require.NoError(t, err)
	require.Equal(t, file, filepath.Base(key.Path()))
	require.NoError(t, key.Close())
	path, test, err := p.Find(circuit)
	require.NoError(t, err)
	require.Equal(t, key.Path(), path)
	require.Equal(t, strings.HasPrefix(file, "test-"), test)
}

// requireParamsError is the error of OpenKey.
func requireParamsError(t *testing.T, p *cuzk.Folder, circuit string) *cuzk.ParamsError {
	t.Helper()
	_, err := p.OpenKey(t.Context(), circuit)
	require.ErrorIs(t, err, cuzk.ErrParams)
	var e *cuzk.ParamsError
	require.ErrorAs(t, err, &e)
	require.Equal(t, circuit, e.Circuit)
	if _, _, missing := p.Find(circuit); len(e.Tried) > 0 {
		require.Equal(t, e, missing)
	}
	require.ErrorContains(t, err, circuit)
	require.ErrorContains(t, err, e.Folder)
	return e
}

func TestParamsFolder(t *testing.T) {
	const circuit, test = "window-post-2KiB", "test-window-post-2KiB.params"
	dir, v := t.TempDir(), enginetest.Small(t, "cubic")
	onlyReal, all := cuzk.ParamsFolder(dir), cuzk.TestParamsFolder(dir)

	e := requireParamsError(t, onlyReal, circuit)
	require.ErrorIs(t, e, fs.ErrNotExist)
	require.Equal(t, []string{referenceName + ".params"}, e.Tried)
	require.ErrorContains(t, e, referenceName+".params")
	e = requireParamsError(t, all, circuit)
	require.Equal(t, []string{referenceName + ".params", test}, e.Tried)

	// What was missing is used once it is there; a key for tests only where they are asked for.
	put(t, dir, test, v.Params)
	requireOpens(t, all, circuit, test)
	e = requireParamsError(t, onlyReal, circuit)
	require.ErrorIs(t, e, fs.ErrNotExist)
	require.ErrorContains(t, e, test+" is for tests and not served here")
	_, err := onlyReal.VerifyingKey(t.Context(), circuit)
	require.ErrorIs(t, err, cuzk.ErrParams)

	put(t, dir, referenceName+".params", v.Params)
	for _, p := range []*cuzk.Folder{onlyReal, all} {
		requireOpens(t, p, circuit, referenceName+".params")
	}
	// Other circuits are not served by these files.
	requireParamsError(t, all, "window-post-8MiB")
	requireParamsError(t, all, "winning-post-2KiB")
}

// The names are those of the reference's own list, for every circuit that has registered proofs.
func TestParamsNames(t *testing.T) {
	dir := cuzk.ParamsFolder(t.TempDir())
	want := map[string]string{ // the first digits of the reference's file names
		"winning-post-2KiB": "3ea05428", "window-post-2KiB": "0170db1f", "update-2KiB": "fb9e095b", "porep-2KiB": "032d3138",
		"winning-post-8MiB": "50c7368d", "window-post-8MiB": "5294475d", "update-8MiB": "92180959", "porep-8MiB": "ecd68364",
		"winning-post-512MiB": "7d739b8c", "window-post-512MiB": "0cfb4f17", "update-512MiB": "61fa69f3",
		"porep-512MiB":       "6babf46c",
		"winning-post-32GiB": "559e581f", "window-post-32GiB": "0377ded6", "update-32GiB": "3b7f44a9", "porep-32GiB": "82a357d2",
		"winning-post-64GiB": "b6209862", "window-post-64GiB": "2627e400", "update-64GiB": "102e1444", "porep-64GiB": "96f1b4a0",
	}
	for circuit, digits := range want {
		e := requireParamsError(t, dir, circuit)
		require.Len(t, e.Tried, 1)
		require.Contains(t, e.Tried[0], "-"+digits, circuit)
	}
	for _, c := range digestTable(t) {
		if c.SectorSize != "" && c.Circuit != "porep-ni" { // the others have no keys of their own
			require.Len(t, requireParamsError(t, dir, c.Circuit+"-"+c.SectorSize).Tried, 1)
		}
	}
}

// digestTable has an entry for each circuit that was compared with the reference's.
func digestTable(t *testing.T) (table []struct {
	Circuit    string `json:"circuit"`
	SectorSize string `json:"sector_size"`
}) {
	t.Helper()
	text, err := os.ReadFile("testdata/r1cs-digests.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &table))
	require.NotEmpty(t, table)
	return table
}

func TestParamsOfOtherNames(t *testing.T) {
	dir, v := t.TempDir(), enginetest.Small(t, "cubic")
	inner := filepath.Join(dir, "inner")
	require.NoError(t, os.Mkdir(inner, 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(inner, "test-x"), 0o700))
	put(t, dir, "test-cubic.params", v.Params)
	requireOpens(t, cuzk.TestParamsFolder(dir), "cubic", "test-cubic.params")
	for _, circuit := range []string{"cubic", "", "porep", "porep-3KiB", "PoRep-32GiB"} {
		require.ErrorContains(t, requireParamsError(t, cuzk.ParamsFolder(dir), circuit), "not the name of a Filecoin circuit")
	}
	for _, circuit := range []string{"x/../../test-cubic", "x/../../cubic", "/cubic", "../cubic"} { // names are not paths
		e := requireParamsError(t, cuzk.TestParamsFolder(inner), circuit)
		require.Empty(t, e.Tried)
	}
	e := requireParamsError(t, cuzk.ParamsFolder(filepath.Join(dir, "none")), "porep-2KiB")
	require.ErrorContains(t, e, "none: no such file")
	put(t, dir, "file", nil)
	requireParamsError(t, cuzk.ParamsFolder(filepath.Join(dir, "file")), "porep-2KiB")
}

// Whatever is wrong with a file that is there is said, and is over once the file is right.
func TestDamagedParams(t *testing.T) {
	const circuit, name = "window-post-2KiB", referenceName + ".params"
	v := enginetest.Small(t, "cubic")
	other := enginetest.Small(t, "feistel")
	for what, x := range map[string]struct {
		make func(t *testing.T, dir string)
		text string
	}{
		"empty": {func(t *testing.T, dir string) { put(t, dir, name, nil) }, "file is too short"},
		"half":  {func(t *testing.T, dir string) { put(t, dir, name, v.Params[:len(v.Params)/2]) }, "file is too short"},
		"directory": {func(t *testing.T, dir string) {
			require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		}, "not a regular file"},
		"broken link": {func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, name)))
		}, "broken link"},
		"verifying key of another": {func(t *testing.T, dir string) {
			put(t, dir, name, v.Params)
			put(t, dir, referenceName+".vk", other.VK)
		}, "is not the verifying key in"},
		"verifying key with one other bit": {func(t *testing.T, dir string) {
			put(t, dir, name, v.Params)
			put(t, dir, referenceName+".vk", append(bytes.Clone(v.VK[:len(v.VK)-1]), v.VK[len(v.VK)-1]^1))
		}, "not on the curve"},
		"verifying key cut short": {func(t *testing.T, dir string) {
			put(t, dir, name, v.Params)
			put(t, dir, referenceName+".vk", v.VK[:100])
		}, "file is too short"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			folder := cuzk.ParamsFolder(dir)
			x.make(t, dir)
			e := requireParamsError(t, folder, circuit)
			require.ErrorContains(t, e, x.text)
			require.Contains(t, e.File, referenceName)
			require.Empty(t, e.Tried)
			require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
			put(t, dir, name, v.Params)
			put(t, dir, referenceName+".vk", v.VK)
			requireOpens(t, folder, circuit, name)
		})
	}
}

func TestVerifyingKeyOfFolder(t *testing.T) {
	const circuit = "window-post-2KiB"
	dir, v := t.TempDir(), enginetest.Small(t, "cubic")
	folder := cuzk.ParamsFolder(dir)
	requireVK := func() {
		t.Helper()
		vk, err := folder.VerifyingKey(t.Context(), circuit)
		require.NoError(t, err)
		var b bytes.Buffer
		_, err = vk.WriteTo(&b)
		require.NoError(t, err)
		require.Equal(t, v.VK, b.Bytes())
	}
	_, err := folder.VerifyingKey(t.Context(), circuit)
	var e *cuzk.ParamsError
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{referenceName + ".vk", referenceName + ".params"}, e.Tried)
	put(t, dir, referenceName+".params", v.Params)
	requireVK()
	put(t, dir, referenceName+".params", nil)
	_, err = folder.VerifyingKey(t.Context(), circuit)
	require.ErrorIs(t, err, groth16.ErrEncoding)
	put(t, dir, referenceName+".vk", v.VK[1:])
	_, err = folder.VerifyingKey(t.Context(), circuit)
	require.ErrorIs(t, err, groth16.ErrEncoding)
	require.ErrorIs(t, err, cuzk.ErrParams)
	put(t, dir, referenceName+".vk", v.VK)
	requireVK()
}

func TestParamsHeedContext(t *testing.T) {
	dir, v := t.TempDir(), enginetest.Small(t, "cubic")
	put(t, dir, referenceName+".params", v.Params)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, err := cuzk.ParamsFolder(dir).OpenKey(ctx, "window-post-2KiB")
	require.ErrorIs(t, err, cause)
	_, err = cuzk.ParamsFolder(dir).VerifyingKey(ctx, "window-post-2KiB")
	require.ErrorIs(t, err, cause)
}
