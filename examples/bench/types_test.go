package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/groth16"
)

// The reference's vectors, which have everything but the vanilla proofs.
const (
	vectors    = "../../groth16/testdata/"
	windowPoSt = vectors + "window-post/inputs.json"
	snapDeals  = vectors + "snap-deals/inputs.json"
)

// synthFile writes an input that is made up.
func synthFile(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "input.json")
	code, _, stderr := bench(t, append([]string{"synth", "--out", file}, args...)...)
	require.Zero(t, code, stderr)
	return file
}

// An input that is made up is written, read again, and is what --synthetic makes; its rows are satisfied.
func TestSynthOfOtherTypes(t *testing.T) {
	skipIfShort(t)
	for _, kind := range kinds()[1:] {
		file := synthFile(t, "--type", kind, "--size", "2KiB", "--seed", "3")
		fromFile := witnessLine(t, "--type", kind, "--input", file)
		require.Equal(t, kind+"-2KiB", fromFile.Circuit)
		require.Equal(t, witnessLine(t, "--type", kind, "--synthetic", "2KiB", "--seed", "3"), fromFile)
		require.NotEqual(t, witnessLine(t, "--type", kind, "--synthetic", "2KiB"), fromFile)
		for _, args := range [][]string{{"--input", file}, {"--synthetic", "2KiB", "--keep"}} {
			code, stdout, stderr := bench(t, append([]string{"eval", "--type", kind, "--json"}, args...)...)
			require.Zero(t, code, stderr)
			var r evalReport
			require.NoError(t, json.Unmarshal([]byte(stdout), &r))
			require.True(t, r.Satisfied)
		}
		requireError(t, exitFailed, []string{"eval", "--type", kind, "--input", file, "--partition", "1"}, "no partition 1 of 1")
	}
	require.Len(t, witnessLine(t, "--type", "window-post", "--synthetic", "2KiB", "--sectors", "5").Partitions, 3)
}

// The whole way with test parameters that are made on the way: proofs of a file and of sectors that are made up, verified
// against the statement alone.
func TestSingleOfOtherTypes(t *testing.T) {
	for _, c := range []struct {
		kind, other string
		partitions  int
		args        []string
		slow        bool
	}{
		{"window-post", "winning-post", 2, []string{"--sectors", "3"}, false},
		{"winning-post", "window-post", 1, nil, false},
		{"update-poseidon", "", 1, nil, false},
		{"update", "", 1, nil, true},
	} {
		t.Run(c.kind, func(t *testing.T) {
			if c.slow && !*slow {
				t.Skip("takes minutes; runs with -slow")
			}
			skipIfShort(t)
			cache := t.TempDir()
			input := synthFile(t, append([]string{"--type", c.kind, "--size", "2KiB"}, c.args...)...)
			ways := [][]string{{"--input", input}}
			if c.kind != "winning-post" || *slow { // one proof of the slowest will do
				ways = append(ways, append([]string{"--synthetic", "2KiB", "--disable-pce"}, c.args...))
			}
			for _, args := range ways {
				got := singleLine(t, append([]string{"--type", c.kind, "--cache", cache, "--backend", "cpu"}, args...)...)
				require.Equal(t, c.partitions, got.Partitions)
				proof, err := hex.DecodeString(got.Proof)
				require.NoError(t, err)
				require.Len(t, proof, 192*c.partitions)
				vk := groth16.TestKeyFiles(cache, c.kind+"-2KiB").VK
				verify := []string{"verify", "--type", c.kind, "--statement", input, "--vk", vk, "--proof", tempFile(t, proof)}
				requireVerdict(t, true, verify)
				other := synthFile(t, append([]string{"--type", c.kind, "--size", "2KiB", "--seed", "2"}, c.args...)...)
				verify[4] = other
				requireVerdict(t, false, verify)
				if c.other != "" {
					requireError(t, exitNoVerdict, append([]string{"verify", "--type", c.other}, verify[3:]...), "is no "+c.other)
				}
			}
		})
	}
}

// singleLine runs single and requires a verified proof.
func singleLine(t *testing.T, args ...string) (got singleReport) {
	t.Helper()
	code, stdout, stderr := bench(t, append([]string{"single", "--json"}, args...)...)
	require.Zero(t, code, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.True(t, got.Completed && got.Verified && got.TestParameters)
	return got
}

// The reference's proofs are true of the reference's statements, as they are in its files.
func TestVerifyVectors(t *testing.T) {
	for kind, vector := range map[string]string{"window-post": "window-post", "winning-post": "winning-post", "update": "snap-deals"} {
		dir := vectors + vector + "/"
		args := []string{"verify", "--type", kind, "--statement", dir + "inputs.json", "--vk", dir + "vk", "--proof", dir + "proof.bin"}
		requireVerdict(t, true, args)
		fields := map[string]any{}
		require.NoError(t, json.Unmarshal(readFile(t, dir+"inputs.json"), &fields))
		name := map[bool]string{true: "comm_r_new", false: "randomness"}[kind == "update"]
		fields[name] = "00" + fields[name].(string)[2:]
		changed, err := json.Marshal(fields)
		require.NoError(t, err)
		args[4] = tempFile(t, changed)
		requireVerdict(t, false, args)
	}
	requireError(t, exitNoVerdict, []string{"verify", "--type", "update-poseidon", "--statement", snapDeals,
		"--vk", vectors + "window-post/vk", "--proof", vectors + "snap-deals/proof.bin"}, "number of public inputs")
}

// What can be wrong with an input file is said before parameters are looked for or made.
func TestSingleRefusesBadInputOfOtherTypes(t *testing.T) {
	files := map[string]string{
		"window-post": synthFile(t, "--type", "window-post", "--size", "2KiB", "--sectors", "3"),
		"update":      synthFile(t, "--type", "update", "--size", "2KiB"),
	}
	cache := t.TempDir()
	cut := func(v string) string { return v[:len(v)-8] }
	longer := func(v string) string {
		b, err := base64.StdEncoding.DecodeString(v)
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(append(b, 0))
	}
	sector := func(f map[string]any, i int) map[string]any { return f["sectors"].([]any)[i].(map[string]any) }
	vanilla := func(f map[string]any, change func(string) string) {
		if list, ok := f["vanilla"].([]any); ok {
			list[0] = change(list[0].(string))
			return
		}
		s := sector(f, 0)
		s["vanilla"] = change(s["vanilla"].(string))
	}
	for name, c := range map[string]struct {
		kind   string
		change func(f map[string]any)
		text   string
	}{
		"no type":           {"window-post", func(f map[string]any) { delete(f, "registered_proof") }, "registered_proof: missing"},
		"type of another":   {"window-post", func(f map[string]any) { f["registered_proof"] = "StackedDrgWinning2KiBV1" }, "is no window-post"},
		"no randomness":     {"window-post", func(f map[string]any) { delete(f, "randomness") }, "randomness: missing"},
		"other randomness":  {"window-post", func(f map[string]any) { f["randomness"] = strings.Repeat("00", 32) }, "not the leaf challenged"},
		"no field element":  {"window-post", func(f map[string]any) { f["randomness"] = strings.Repeat("ff", 32) }, "not a canonical field element"},
		"no number":         {"window-post", func(f map[string]any) { delete(sector(f, 1), "sector_id") }, "sectors[1].sector_id: missing"},
		"no comm_r":         {"window-post", func(f map[string]any) { delete(sector(f, 1), "comm_r") }, "sectors[1].comm_r: missing"},
		"comm_r of another": {"window-post", func(f map[string]any) { sector(f, 1)["comm_r"] = sector(f, 0)["comm_r"] }, "wrong comm_r"},
		"duplicate":         {"window-post", func(f map[string]any) { f["sectors"].([]any)[1] = sector(f, 0) }, "sector occurs twice"},
		"vanilla of another": {"window-post", func(f map[string]any) {
			sector(f, 1)["vanilla"] = sector(f, 0)["vanilla"]
		}, "sector occurs twice"},
		"no vanilla proof": {"window-post", func(f map[string]any) { delete(sector(f, 0), "vanilla") }, "sectors[0].vanilla: missing"},
		"too many sectors": {"window-post", func(f map[string]any) { f["partitions"] = 1 }, "more sectors than the partitions hold"},
		"cut short":        {"window-post", func(f map[string]any) { vanilla(f, cut) }, "unexpected EOF"},
		"a byte more":      {"window-post", func(f map[string]any) { vanilla(f, longer) }, "data after the end"},
		"update cut short": {"update", func(f map[string]any) { vanilla(f, cut) }, "unexpected EOF"},
		"update byte more": {"update", func(f map[string]any) { vanilla(f, longer) }, "data after the end"},
		"no comm_d_new":    {"update", func(f map[string]any) { delete(f, "comm_d_new") }, "comm_d_new: missing"},
		"a partition more": {"update", func(f map[string]any) {
			f["vanilla"] = append(f["vanilla"].([]any), f["vanilla"].([]any)[0])
		}, "2, want 1"},
		"no sectors":         {"window-post", func(f map[string]any) { f["sectors"] = []any{} }, "post: no sectors"},
		"no partition":       {"update", func(f map[string]any) { delete(f, "vanilla") }, "vanilla: missing"},
		"other comm_r_old":   {"update", func(f map[string]any) { f["comm_r_old"] = f["comm_r_new"] }, "comm_r_old: comm_r is not the hash"},
		"unknown proof type": {"update", func(f map[string]any) { f["registered_proof"] = "StackedDrg3KiBV1" }, "unknown registered proof"},
	} {
		t.Run(name, func(t *testing.T) {
			var f map[string]any
			require.NoError(t, json.Unmarshal(readFile(t, files[c.kind]), &f))
			c.change(f)
			changed, err := json.Marshal(f)
			require.NoError(t, err)
			path := tempFile(t, changed)
			requireError(t, exitFailed, []string{"single", "--type", c.kind, "--input", path, "--cache", cache}, path, c.text)
			requireError(t, exitFailed, []string{"witness", "--type", c.kind, "--input", path}, path)
		})
	}
	require.Empty(t, fileNames(t, cache), "nothing is written for bad input")
}
