package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func verifyArgs(source, path, vk, proof string) []string {
	return []string{"verify", "--type", "porep", "--" + source, path, "--vk", vk, "--proof", proof}
}

// requireVerdict runs verify and requires what it prints and its exit code.
func requireVerdict(t *testing.T, want bool, args []string) {
	t.Helper()
	code, stdout, stderr := bench(t, args...)
	if want {
		require.Equal(t, exitOK, code, stderr)
		require.Equal(t, "true\n", stdout)
	} else {
		require.Equal(t, exitFailed, code, stderr)
		require.Equal(t, "false\n", stdout)
	}
}

func TestVerifyTrue(t *testing.T) {
	requireVerdict(t, true, verifyArgs("c1", c1File, vkFile, proofFile))
	requireVerdict(t, true, verifyArgs("statement", statementPath, vkFile, proofFile))
	requireVerdict(t, true, append(verifyArgs("c1", c1File, vkFile, proofFile), "--miner", "1000"))
	requireVerdict(t, true, append(verifyArgs("c1", c1File, vkFile, proofFile), "--miner", "1000", "--sector", "41"))

	proof, err := os.ReadFile(proofFile)
	require.NoError(t, err)
	requireVerdict(t, true, verifyArgs("c1", c1File, vkFile, tempFile(t, []byte(hex.EncodeToString(proof)+"\n"))))
}

func TestVerifyFalse(t *testing.T) {
	for field, value := range map[string]any{
		"sector_id": 42, "miner_actor": 1001,
		"ticket": "30fb8d818b2f5a99df1d7127a66c53d7170061f54c5d1fab152ef1c9c54a64b2",
		"seed":   "d398a6cba32d9c1313b9bf52d18402f1c46265a8d48e4348b25140df0db46162",
		"comm_r": "e031ca9eb63d011ea008371b625bad4abea2a549f070244bf6e6eadc526e4421",
		"comm_d": "0a2f2571d278b64fb2ba5976c8f311f29333a1cba1b4524ad4d27ebf1ba5ce1a",
	} {
		requireVerdict(t, false, verifyArgs("statement", changedStatement(t, field, value), vkFile, proofFile))
	}
	// A and C exchanged: a well-formed proof.
	proof, err := os.ReadFile(proofFile)
	require.NoError(t, err)
	swapped := bytes.Join([][]byte{proof[144:], proof[48:144], proof[:48]}, nil)
	requireVerdict(t, false, verifyArgs("c1", c1File, vkFile, tempFile(t, swapped)))
}

func TestVerifyMalformed(t *testing.T) {
	proof, err := os.ReadFile(proofFile)
	require.NoError(t, err)
	vk, err := os.ReadFile(vkFile)
	require.NoError(t, err)
	off := bytes.Clone(proof)
	off[47] ^= 1
	_, key := smallKey(t)
	for _, x := range []struct {
		args []string
		text string
	}{
		{verifyArgs("c1", c1File, vkFile, tempFile(t, proof[:191])), "length"},
		{verifyArgs("c1", c1File, vkFile, tempFile(t, nil)), "proofs, want 1"},
		{verifyArgs("c1", c1File, vkFile, tempFile(t, off)), "point a at offset 0"},
		{verifyArgs("c1", c1File, vkFile, tempFile(t, append(bytes.Clone(proof), proof...))), "2 proofs, want 1"},
		{verifyArgs("c1", c1File, vkFile, tempFile(t, make([]byte, maxSmallFile+1))), "longer than"},
		{verifyArgs("c1", c1File, tempFile(t, vk[:4000]), proofFile), "file is too short"},
		{verifyArgs("c1", c1File, key.VK, proofFile), "number of public inputs"},
		{verifyArgs("c1", vkFile, vkFile, proofFile), vkFile},
		{verifyArgs("c1", "none", vkFile, proofFile), "none"},
		{append(verifyArgs("c1", c1File, vkFile, proofFile), "--miner", "1001"), "replica id"},
		{append(verifyArgs("c1", c1File, vkFile, proofFile), "--miner", "1000", "--sector", "42"), "replica id"},
		{verifyArgs("statement", c1File, vkFile, proofFile), "missing"},
		{verifyArgs("statement", proofFile, vkFile, proofFile), "invalid character"},
		{verifyArgs("statement", changedStatement(t, "registered_proof", "StackedDrg3KiBV1"), vkFile, proofFile), "unknown registered proof"},
		{verifyArgs("statement", changedStatement(t, "registered_proof", "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"), vkFile, proofFile), "not supported"},
		{verifyArgs("statement", changedStatement(t, "seed", nil), vkFile, proofFile), "seed: null, want a string"},
		{verifyArgs("statement", changedStatement(t, "seed", "00"), vkFile, proofFile), "seed: 1 bytes, want 32"},
		{verifyArgs("statement", changedStatement(t, "comm_r", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"), vkFile, proofFile), "comm_r"},
		{verifyArgs("statement", changedStatement(t, "sector_id", -1), vkFile, proofFile), "sector_id"},
	} {
		requireError(t, exitNoVerdict, x.args, x.text)
	}
}

// changedStatement writes the statement with one field changed.
func changedStatement(t *testing.T, field string, value any) string {
	t.Helper()
	b, err := os.ReadFile(statementPath)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(b, &fields))
	require.Contains(t, fields, field)
	fields[field] = value
	b, err = json.Marshal(fields)
	require.NoError(t, err)
	return tempFile(t, b)
}

func tempFile(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	return path
}
