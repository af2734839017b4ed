package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// One partition by itself is what it is among the others, whose memory it shares.
func TestWitnessOfOnePartition(t *testing.T) {
	skipIfShort(t)
	source := []string{"--type", "window-post", "--synthetic", "2KiB", "--sectors", "5"}
	all := witnessLine(t, source...)
	require.Len(t, all.Partitions, 3)
	for k, want := range all.Partitions {
		require.Equal(t, k, want.Partition)
		got := witnessLine(t, append(source, "--partition", []string{"0", "1", "2"}[k])...)
		require.Equal(t, []partitionWitness{want}, got.Partitions)
	}
	for _, k := range []string{"-1", "3"} {
		requireError(t, exitFailed, append([]string{"witness", "--partition", k}, source...), "no partition "+k+" of 3")
	}
}

// Hashes need the constraint system, everything else does without it.
func TestWitnessWithoutHash(t *testing.T) {
	args := []string{"witness", "--type", "porep", "--c1", c1File}
	code, stdout, stderr := bench(t, args...)
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^circuit +porep-2KiB\ninput +[0-9.]+ ms, peak memory `, stdout)
	code, stdout, stderr = bench(t, append(args, "--json")...)
	require.Zero(t, code, stderr)
	var r witnessReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, "porep-2KiB", r.Circuit)
	require.Equal(t, 2685673, r.Partitions[0].Aux)
	require.Empty(t, r.Partitions[0].SHA256Aux)
}
