package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/groth16"
)

func params2KiB(t *testing.T) porep.Params {
	t.Helper()
	p, err := porep.ParamsFor(2 << 10)
	require.NoError(t, err)
	return p
}

func TestSingleRefusesBadInput(t *testing.T) {
	cache := t.TempDir()
	c1, err := os.ReadFile(c1File)
	require.NoError(t, err)
	for _, x := range []struct {
		c1   []byte
		text string
	}{
		{c1[:len(c1)/2], "unexpected EOF"},
		{[]byte("{}"), "missing"},
		{[]byte("not JSON"), "JSON"},
		{editPhase1(t, c1, "StackedDrg2KiBV1_1", "StackedDrg2KiBV9_1"), "registered proof"},
		{editPhase1(t, c1, `"comm_r":[224,49,`, `"comm_r":[224,50,`), "comm_r"},
		{editPhase1(t, c1, `"seed":[211,`, `"seed":[212,`), "challenge"},
	} {
		path := tempFile(t, x.c1)
		requireError(t, exitFailed, []string{"single", "--type", "porep", "--c1", path, "--cache", cache}, path, x.text)
	}
	requireError(t, exitFailed, []string{"single", "--type", "porep", "--c1", c1File, "--cache", cache, "--miner", "7"}, "replica id")
	require.Empty(t, fileNames(t, cache), "nothing is written for bad input")
}

// editPhase1 replaces text in the phase-1 output inside Lotus's wrapper.
func editPhase1(t *testing.T, c1 []byte, from, to string) []byte {
	t.Helper()
	var wrapper map[string]any
	require.NoError(t, json.Unmarshal(c1, &wrapper))
	inner, err := base64.StdEncoding.DecodeString(wrapper["Phase1Out"].(string))
	require.NoError(t, err)
	require.Contains(t, string(inner), from)
	wrapper["Phase1Out"] = base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(inner), from, to, 1)))
	b, err := json.Marshal(wrapper)
	require.NoError(t, err)
	return b
}

func TestSingleRefusesForeignParameters(t *testing.T) {
	cache, dir, p := t.TempDir(), t.TempDir(), params2KiB(t)
	args := []string{"single", "--type", "porep", "--c1", c1File, "--cache", cache, "--params", dir, "--json"}
	requireError(t, exitFailed, args, "no parameters for porep-2KiB", p.CacheName()+".params", "test-porep-2KiB.params")

	// The parameters of another circuit under the reference's name.
	_, key := smallKey(t)
	reference := filepath.Join(dir, p.CacheName())
	require.NoError(t, os.Rename(key.Params, reference+".params"))
	requireError(t, exitFailed, args, "do not belong together", p.CacheName())

	// Another verifying key beside them.
	require.NoError(t, os.WriteFile(reference+".vk", readFile(t, vkFile), 0o600))
	requireError(t, exitFailed, args, "is not the verifying key in")
	require.NoError(t, os.WriteFile(reference+".vk", []byte("short"), 0o600))
	requireError(t, exitFailed, args, "file is too short", p.CacheName()+".vk")

	require.NoError(t, os.Truncate(reference+".params", 1000))
	requireError(t, exitFailed, args, "file is too short", p.CacheName()+".params")
}

// A damaged constraint system in the cache is made anew.
func TestDamagedCacheIsRepaired(t *testing.T) {
	cache := t.TempDir()
	path := filepath.Join(cache, fmt.Sprintf("porep-2KiB.%d.pce", circuits.Revision))
	require.NoError(t, os.WriteFile(path, []byte(systemMagic+"nothing else"), 0o600))
	var stderr bytes.Buffer
	system, err := openSystem(t.Context(), &env{io.Discard, &stderr}, cache, porep.Blank(params2KiB(t)))
	require.NoError(t, err)
	require.Contains(t, stderr.String(), "recorded anew\" circuit=porep-2KiB")
	stderr.Reset()
	again, err := openSystem(t.Context(), &env{io.Discard, &stderr}, cache, porep.Blank(params2KiB(t)))
	require.NoError(t, err)
	require.Empty(t, stderr.String())
	require.Equal(t, system.Digest(), again.Digest())
}

func TestSecrets(t *testing.T) {
	s, err := readSecrets(secretsPath)
	require.NoError(t, err)
	text := string(readFile(t, secretsPath))
	nested, err := readSecrets(tempFile(t, []byte(`{"params": {"setup": `+text+`}}`)))
	require.NoError(t, err)
	require.Equal(t, s, nested)
	for _, x := range []struct{ from, to, text string }{
		{"standard generator", "another", "generators"},
		{"tau_le", "tau", "tau_le is missing"},
		{"280b70b5", "280b70", "not a canonical field element"},
		{"280b70b52c129c7f097b47d44838623d1c652d761ce29fa3f80c9c2c6690bd2f", strings.Repeat("f", 64), "not a canonical field element"},
		{"280b", "xyzw", "invalid byte"},
		{"{", "x", "invalid character"},
	} {
		require.Contains(t, text, x.from)
		_, err := readSecrets(tempFile(t, []byte(strings.Replace(text, x.from, x.to, 1))))
		require.ErrorContains(t, err, x.text)
	}
}

// The whole way: the reference's parameters from its secrets, then proofs with and without a recorded system, verified.
func TestSingle(t *testing.T) {
	if !*slow {
		t.Skip("takes minutes; runs with -slow")
	}
	cache, dir := t.TempDir(), t.TempDir()
	code, _, stderr := bench(t, "setup", "--type", "porep", "--size", "2KiB", "--out", dir, "--secrets", secretsPath, "--cache", cache)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "test parameters: 100 %")
	key := groth16.TestKeyFiles(dir, "porep-2KiB")
	require.Equal(t, readFile(t, vkFile), readFile(t, key.VK))
	requireSHA256(t, "1104105e9629ffddc3094467d27a3a82ae735b09f22b96c2ced3f9516fb7701d", key.Params)

	args := []string{"single", "--type", "porep", "--c1", c1File, "--cache", cache, "--params", dir, "--miner", "1000", "--json"}
	for _, more := range [][]string{nil, {"--disable-pce", "--backend", "cpu"}} {
		code, stdout, stderr := bench(t, append(args, more...)...)
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "INSECURE")
		var got singleReport
		require.NoError(t, json.Unmarshal([]byte(stdout), &got))
		require.True(t, got.Completed && got.Verified && got.TestParameters)
		require.Equal(t, more == nil, got.PCE)
		require.Equal(t, "cpu", got.Backend)
		require.Positive(t, got.PeakRSSBytes)
		proof, err := hex.DecodeString(got.Proof)
		require.NoError(t, err)
		require.Len(t, proof, 192)
		requireVerdict(t, true, verifyArgs("statement", statementPath, vkFile, tempFile(t, proof)))
	}
	requireError(t, exitFailed, append(args, "--backend", "gpu"), "CUDA driver")

	// Under the reference's names the same files are taken for what they say they are.
	reference := filepath.Join(dir, params2KiB(t).CacheName())
	require.NoError(t, os.Rename(key.Params, reference+".params"))
	require.NoError(t, os.Rename(key.VK, reference+".vk"))
	code, stdout, stderr := bench(t, args[:len(args)-1]...)
	require.Zero(t, code, stderr)
	require.NotContains(t, stderr, "INSECURE")
	require.True(t, strings.HasSuffix(stdout, "verified             true\nCOMPLETED\n"), stdout)
}

func requireSHA256(t *testing.T, want, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	require.NoError(t, err)
	require.Equal(t, want, hex.EncodeToString(h.Sum(nil)))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// A flag that a command would not look at is refused, and every flag of single is either always looked at or among those of
// which this shows a case.
func TestUnusedFlagsAreRefused(t *testing.T) {
	shown := map[string]bool{}
	for _, name := range []string{"type", "params", "disable-pce", "backend", "repeat", "json", "synthetic"} {
		shown[name] = true // always looked at; synthetic beside a file is refused
	}
	porepFile, postFile := []string{"--type", "porep", "--c1", c1File}, []string{"--type", "window-post", "--input", windowPoSt}
	for _, c := range []struct {
		flag, value string
		with        string
		args        []string
	}{
		{"c1", c1File, "--type window-post", postFile},
		{"input", windowPoSt, "--type porep", porepFile},
		{"seed", "2", "--input", postFile},
		{"seed", "2", "--c1", porepFile},
		{"sectors", "2", "--input", postFile},
		{"sectors", "2", "--c1", porepFile},
		{"sectors", "2", "--type porep", []string{"--type", "porep", "--synthetic", "2KiB"}},
		{"sectors", "1", "--type winning-post", []string{"--type", "winning-post", "--synthetic", "2KiB"}},
		{"sectors", "1", "--type update", []string{"--type", "update", "--synthetic", "2KiB"}},
		{"miner", "1000", "--type window-post", postFile},
		{"sector", "7", "--type window-post", postFile},
		{"sector", "7", "--type update", []string{"--type", "update", "--synthetic", "2KiB"}},
		{"device", "0", "--backend cpu", append(porepFile, "--backend", "cpu")},
		{"memory-mib", "20000", "--backend cpu", append(porepFile, "--backend", "cpu")},
		{"cache", "folder", "--params and --disable-pce", append(porepFile, "--params", "folder", "--disable-pce")},
	} {
		shown[c.flag] = true
		args := append([]string{"single", "--" + c.flag, c.value}, c.args...)
		requireError(t, exitUsage, args, "single: --"+c.flag+" is not used with "+c.with)
	}
	f, _ := newSingle(&env{io.Discard, io.Discard})
	f.VisitAll(func(x *flag.Flag) { require.True(t, shown[x.Name], "--%s: no case of it", x.Name) })

	for _, c := range [][]string{
		{"eval", "--type", "window-post", "--input", windowPoSt, "--sectors", "2"},
		{"witness", "--type", "update", "--input", snapDeals, "--seed", "2"},
		{"synth", "--type", "update", "--size", "2KiB", "--sectors", "2"},
	} {
		requireError(t, exitUsage, c, c[0]+": --"+strings.TrimPrefix(c[5], "--")+" is not used with --")
	}
	for _, n := range []string{"0", "-1", "30001"} {
		requireError(t, exitUsage, []string{"single", "--type", "window-post", "--synthetic", "2KiB", "--sectors", n}, "--sectors is "+n)
	}
}
