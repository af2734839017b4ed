package kernels

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

// resource is what the compiler reports of a kernel for one architecture.
type resource struct{ registers, shared int }

// readResources has them by kernel and architecture.
func readResources(t *testing.T) map[string]map[int]resource {
	b, err := os.ReadFile("fatbin/resources.txt")
	require.NoError(t, err)
	line := regexp.MustCompile(`^(\w+) sm_(\d+): (\d+) registers,[^\n]*?(?:, shared (\d+))?$`)
	all := map[string]map[int]resource{}
	for _, text := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		m := line.FindStringSubmatch(text)
		require.NotNil(t, m, text)
		var n [3]int
		for i, s := range m[2:] {
			if s != "" {
				n[i], err = strconv.Atoi(s)
				require.NoError(t, err)
			}
		}
		if all[m[1]] == nil {
			all[m[1]] = map[int]resource{}
		}
		all[m[1]][n[0]] = resource{registers: n[1], shared: n[2]}
	}
	return all
}

// residentBlocks is how many blocks of a kernel a multiprocessor holds. It has 65,536 registers, which are given out to
// warps in units of 256 and for four warps at a time; a block takes 1 KiB of shared memory beside its own.
func (t tuning) residentBlocks(threads, registersOfThread, sharedBytes int) int {
	warps := blocks(threads, 32)
	perWarp := blocks(registersOfThread*32, 256) * 256
	byRegisters := 64 << 10 / perWarp / 4 * 4 / warps
	byShared := t.shared << 10 / (blocks(sharedBytes, 128)*128 + 1<<10)
	return min(t.blocks, t.threads/32/warps, byRegisters, byShared)
}

// TestOccupancy predicts which share of a multiprocessor's threads each kernel has in progress; -v prints the table. The
// sums that launches count on are what every architecture holds.
func TestOccupancy(t *testing.T) {
	m, err := ReadManifest()
	require.NoError(t, err)
	found := readResources(t)
	var names []string
	for name := range m.Kernels {
		names = append(names, name)
	}
	slices.Sort(names)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "registers, blocks a multiprocessor, share of its threads\t")
	for _, row := range tunings() {
		fmt.Fprintf(w, "sm_%d\t", row.arch)
	}
	for _, name := range names {
		threads := m.Kernels[name].Threads
		require.Positive(t, threads, name)
		fmt.Fprintf(w, "\n%s, %d threads\t", name, threads)
		for _, row := range tunings() {
			r, ok := found[name][row.arch]
			require.True(t, ok, "%s has no line for sm_%d", name, row.arch)
			n := row.residentBlocks(threads, r.registers, r.shared)
			require.Positive(t, n, "%s does not run on sm_%d", name, row.arch)
			fmt.Fprintf(w, "%d, %d, %d %%\t", r.registers, n, 100*n*threads/row.threads)
			for _, cv := range []curve{curveG1, curveG2} {
				if name == "msm_accumulate_"+cv.name {
					require.Equal(t, cv.resident, n*threads/cv.lanes, "%s on sm_%d", name, row.arch)
				}
			}
		}
	}
	require.NoError(t, w.Flush())
	t.Logf("\n%s", &table)
}

// TestTunings: each compiled architecture has a row, newer cards take the last one, and no launch takes more than 50 ms.
func TestTunings(t *testing.T) {
	m, err := ReadManifest()
	require.NoError(t, err)
	var archs []int
	for _, row := range tunings() {
		archs = append(archs, row.arch)
		require.Equal(t, row, tuningOf(row.arch/10, row.arch%10))
		require.LessOrEqual(t, row.counters, counterRoom)
		for _, cv := range []curve{curveG1, curveG2} {
			for _, multiprocessors := range []int{1, 20, 132} {
				for _, entries := range []int{1, 1000, 1 << 24, 1 << 30} {
					runLen := runLength(entries, multiprocessors*cv.resident)
					threads := blocks(entries, runLen)
					piece := cv.pieceThreads(threads, runLen, multiprocessors)
					require.Zero(t, piece%(multiprocessors*cv.resident))
					require.Less(t, row.micros(piece*runLen*cv.entrySlots, multiprocessors), 50_000, "%s sm_%d", cv.name, row.arch)
				}
			}
		}
	}
	require.Equal(t, m.Architectures, archs)
	require.Equal(t, 120, tuningOf(13, 0).arch)
	require.Equal(t, 100, tuningOf(10, 3).arch)
	require.Equal(t, 80, tuningOf(7, 5).arch)
}
