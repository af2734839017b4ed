package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInspectEachKind(t *testing.T) {
	system, key := smallKey(t)
	systemPath := filepath.Join(t.TempDir(), "any name")
	require.NoError(t, system.WriteFile(systemPath))
	for _, x := range []struct {
		path  string
		texts []string
	}{
		{c1File, []string{"phase-1 output", "StackedDrg2KiBV1_1 (5), API 1.1.0, interactive", "sector 41 of 2048 bytes", "native check         ok",
			"comm_r               e031ca9eb63d011ea008371b625bad4abea2a549f070244bf6e6eadc526e4420"}},
		{vkFile, []string{"verifying key", "size                 4708 bytes", "public inputs        39 and ONE",
			"sha256               b88774813ffbc3fc7103aaf46f03a8d7b15be8ace862b9e34c4a6b0243d962f2",
			"blake2b-512          c1821b556666fa0ca9bbddcac806a1c0fa6739c1bd91597eb5e34875255973096a834e4c449c6b346030991d7414d3b2ee4fcd814836cc6fefa360250a016d6d"}},
		{proofFile, []string{"proof ", "proofs               1,"}},
		{key.Params, []string{"parameter file", "public inputs        1 and ONE", "points               h 7, l 3, a 4, b_g1 2, b_g2 2"}},
		{key.VK, []string{"verifying key", "public inputs        1 and ONE"}},
		{systemPath, []string{"constraint system", "circuit              small", fmt.Sprintf("%x", system.Digest())}},
	} {
		code, stdout, stderr := bench(t, "inspect", x.path)
		require.Zero(t, code, stderr)
		for _, text := range append(x.texts, x.path) {
			require.Contains(t, stdout, text)
		}
	}
	code, stdout, stderr := bench(t, "inspect", "--check", key.Params)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "points checked       all on the curve")
}

func TestRecordThenInspect(t *testing.T) {
	skipIfShort(t)
	path := filepath.Join(t.TempDir(), "porep.pce")
	code, recorded, stderr := bench(t, "record", "--type", "porep", "--size", "2KiB", "--out", path)
	require.Zero(t, code, stderr)
	code, inspected, stderr := bench(t, "inspect", path)
	require.Zero(t, code, stderr)
	for _, text := range []string{"rows                 2687921 and 40", "private variables    2685673:", "circuit              porep-2KiB", "digest  "} {
		require.Contains(t, recorded, text)
		require.Contains(t, inspected, text)
	}
}

// Inputs of PoSts and updates are called what they are, and checked.
func TestInspectInputs(t *testing.T) {
	for kind, name := range map[string]string{
		kindWinningPoSt: "WinningPoSt input", kindWindowPoSt: "WindowPoSt input", kindUpdate: "update input", kindPoRep: "phase-1 output",
	} {
		path := filepath.Join(t.TempDir(), "input.json")
		code, _, stderr := bench(t, "synth", "--type", kind, "--size", "2KiB", "--out", path)
		require.Zero(t, code, stderr)
		code, stdout, stderr := bench(t, "inspect", path)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, name)
		require.Contains(t, stdout, "2KiB")
		require.Contains(t, stdout, "native check         ok")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text[:len(text)-10], 0o600))
		requireError(t, exitFailed, []string{"inspect", path}, path)
	}
}

// Files that are cut, altered or of no known kind give one line of error each.
func TestInspectBadFiles(t *testing.T) {
	system, key := smallKey(t)
	var systemFile bytes.Buffer
	_, err := system.WriteTo(&systemFile)
	require.NoError(t, err)
	good := map[string][]byte{"pce": systemFile.Bytes()}
	for name, path := range map[string]string{"c1": c1File, "vk": vkFile, "proof": proofFile, "params": key.Params} {
		good[name], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	random := sha256.Sum256([]byte("random"))
	bad := map[string][]byte{
		"empty": nil, "text": []byte("neither fish nor flesh\n"), "zeros": make([]byte, 4708),
		"random": bytes.Repeat(random[:], 300), "brace": []byte("{"), "object": []byte("{}"),
		"magic": []byte(systemMagic), "ones": bytes.Repeat([]byte{0xff}, 192),
	}
	for name, b := range good {
		bad[name+" cut"] = b[:len(b)-1]
		bad[name+" half"] = b[:len(b)/2]
		bad[name+" long"] = append(bytes.Clone(b), 'x')
		altered := bytes.Clone(b)
		altered[len(b)/3] ^= 1
		bad[name+" altered"] = altered
	}
	dir := t.TempDir()
	for name, b := range bad {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		args := []string{"inspect", path}
		if name == "params altered" {
			args = []string{"inspect", "--check", path}
		}
		requireError(t, exitFailed, args, path)
	}
	requireError(t, exitFailed, []string{"inspect", dir}, "not a regular file")
	requireError(t, exitFailed, []string{"inspect", filepath.Join(dir, "none")}, "none")
}

func FuzzClassify(f *testing.F) {
	for _, path := range []string{c1File, vkFile, proofFile} {
		b, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(b[:min(len(b), vkFixedSize+4)], int64(len(b)))
	}
	f.Add([]byte(systemMagic), int64(8))
	f.Fuzz(func(t *testing.T, head []byte, size int64) {
		if int64(len(head)) > size {
			return
		}
		classify(head, size)
	})
}
