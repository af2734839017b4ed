package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
)

// fakeCard is a small card that runs the twins of the kernels, but none called skip.
func fakeCard(skip string) *fakedrv.Driver {
	return fakeCardWith(skip, func(kernels.Twin) kernels.Twin {
		return func(kernels.Memory, gpu.Grid, []byte) {}
	})
}

// fakeCardWith is a small card that runs the twins of the kernels, one of them changed.
func fakeCardWith(kernel string, change func(kernels.Twin) kernels.Twin) *fakedrv.Driver {
	d := fakedrv.New(fakedrv.Config{Cards: []fakedrv.Card{{MemoryBytes: 128 << 20, SMs: 1}}})
	for name, twin := range kernels.Twins() {
		if name == kernel {
			twin = change(twin)
		}
		d.Register(name, func(m *fakedrv.Memory, l cudrv.Launch, params []byte) {
			twin(m, gpu.Grid{Blocks: int(l.Grid[0]), BlocksY: int(l.Grid[1]), Threads: int(l.Block[0])}, params)
		})
	}
	return d
}

// gpuLines measures on a card and decodes the lines. Nothing may be left behind.
func gpuLines(t *testing.T, d *fakedrv.Driver, args ...string) ([]gpuLine, error) {
	t.Helper()
	var out, errs bytes.Buffer
	err := gpuMeasureOn(t.Context(), &env{&out, &errs}, args, func() (*gpu.System, error) { return gpu.NewSystem(d), nil })
	require.Empty(t, errs.String())
	require.Empty(t, d.Violations())
	require.Equal(t, fakedrv.Usage{}, d.Usage())
	var lines []gpuLine
	for s := bufio.NewScanner(&out); s.Scan(); {
		l := gpuLine{proveRun: new(proveRun)}
		require.NoError(t, json.Unmarshal(s.Bytes(), &l))
		lines = append(lines, l)
	}
	return lines, err
}

// gpuCase is an operation at a small size, with a kernel without which the results are wrong.
type gpuCase struct {
	args   string
	kernel string
	lines  int
}

func gpuCases() []gpuCase {
	return []gpuCase{
		{"mul --rounds 2", "chain_fp_sqr", 6},
		{"msm --log 0,3..5", "msm_fold_g1", 4},
		{"msm --log 4 --group g2 --window 9", "msm_fold_g2", 1},
		{"msm --log 6 --scalars filecoin", "msm_merge_g1", 1},
		{"bits --log 5,8", "msm_merge_g1", 2},
		{"bits --log 6 --group g2", "msm_merge_g2", 1},
		{"ntt --log 0,1,10", "ntt_dif_10", 18},
		{"quotient --log 1,9", "fr_sub_scale", 4},
		{"spmv --type winning-post --synthetic 2KiB", "spmv_long", 1},
		{"decode --log 0,7", "points_decode_g1", 8},
		{"decode --log 6 --group g2", "points_decode_g2", 4},
		{"fixed --log 1,6 --window 8", "fixed_mul_g1", 8},
		{"fixed --log 5 --group g2 --window 8", "fixed_mul_g2", 3},
		{"key --log 10 --window 8", "fr_powers", 1},
		{"prove --log 10", "fr_sub_scale", 1},
	}
}

func TestGPUMeasures(t *testing.T) {
	for _, c := range gpuCases() {
		t.Run(c.args, func(t *testing.T) {
			args := append(strings.Fields(c.args), "--runs", "2", "--warm", "0", "--device", "0")
			lines, err := gpuLines(t, fakeCard(""), args...)
			require.NoError(t, err)
			require.Len(t, lines, c.lines)
			for _, l := range lines {
				require.Equal(t, args[0], l.Op)
				require.True(t, l.CheckOK, "%+v", l)
				require.Equal(t, 2, l.Runs)
				require.NotEmpty(t, l.GPU)
				require.NotEmpty(t, l.UUID)
			}
		})
	}
}

// TestGPUMeasureFindsFaults: without a kernel the results are wrong, and the command fails.
func TestGPUMeasureFindsFaults(t *testing.T) {
	skipIfShort(t)
	for _, c := range gpuCases() {
		t.Run(c.args, func(t *testing.T) {
			lines, err := gpuLines(t, fakeCard(c.kernel), append(strings.Fields(c.args), "--runs", "1", "--warm", "0")...)
			require.ErrorContains(t, err, "results are wrong")
			require.Len(t, lines, c.lines)
		})
	}
}

// The check values are those that peers prints.
func TestGPUMeasureAgreesWithPeers(t *testing.T) {
	for args, want := range map[string]string{
		"ntt --log 10": "8eb45394c1a026d87b46c2bd1f6ebf90729c3f7f600971fa8de8ac6c08e12192",
		"msm --log 10": "a9e157e3bf207514ba9e7e598e2c24cb23f94d60b483cf5a13de8be4c6b0b9600a5465dcaffe473fc44d125b97d1fb49",
	} {
		lines, err := gpuLines(t, fakeCard(""), append(strings.Fields(args), "--runs", "1", "--warm", "0")...)
		require.NoError(t, err)
		require.Equal(t, want, lines[0].Check)
	}
}

// The key's file is removed, also where the proof fails.
func TestGPUProveRemovesItsKey(t *testing.T) {
	skipIfShort(t)
	folder := t.TempDir()
	args := []string{"prove", "--log", "10", "--folder", folder, "--runs", "1", "--warm", "0"}
	lines, err := gpuLines(t, fakeCard(""), args...)
	require.NoError(t, err)
	require.Equal(t, 992, lines[0].Rows)
	_, err = gpuLines(t, fakeCard("points_decode_g1"), args...)
	require.Error(t, err)
	_, err = gpuLines(t, fakeCard(""), append(args, "--memory", "3000000")...)
	require.ErrorIs(t, err, gpu.ErrMemory)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Wherever key and rows are, the proof is the same.
func TestGPUProvePlaces(t *testing.T) {
	skipIfShort(t)
	var proofs []string
	for _, places := range [][2]string{
		{inMemory, inMemory}, {inMemory, inLocked}, {inLocked, inMemory}, {inLocked, inLocked}, {inFile, inMemory},
	} {
		key, rows := places[0], places[1]
		args := []string{"prove", "--log", "10", "--runs", "1", "--warm", "0", "--key", key, "--rows", rows}
		lines, err := gpuLines(t, fakeCard(""), args...)
		require.NoError(t, err)
		l := lines[0]
		require.True(t, l.CheckOK)
		require.Equal(t, []string{key, rows}, []string{l.Key, l.RowsIn})
		require.Equal(t, key != inMemory, l.Streamed)
		proofs = append(proofs, l.Check)
	}
	require.Len(t, slices.Compact(proofs), 1)
}

// The end of the context ends a command, here when the kernel of the case first runs, and leaves nothing behind.
func TestGPUMeasureCancelled(t *testing.T) {
	skipIfShort(t)
	for _, c := range gpuCases() {
		ctx, cancel := context.WithCancel(t.Context())
		d := fakeCardWith(c.kernel, func(twin kernels.Twin) kernels.Twin {
			return func(m kernels.Memory, g gpu.Grid, params []byte) {
				cancel()
				twin(m, g, params)
			}
		})
		open := func() (*gpu.System, error) { return gpu.NewSystem(d), nil }
		err := gpuMeasureOn(ctx, &env{io.Discard, io.Discard}, strings.Fields(c.args+" --runs 3"), open)
		cancel()
		require.ErrorIs(t, err, context.Canceled, c.args)
		require.Empty(t, d.Violations())
		require.Equal(t, fakedrv.Usage{}, d.Usage())
	}
}

func TestGPUUsageErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"", "what to measure is missing, one of mul, ntt, msm"},
		{"--runs 3", "what to measure is missing"},
		{"ffi", `nothing to measure is called "ffi", want mul, ntt`},
		{"msm", "--log is missing"},
		{"msm --log 3,", `"" is neither a number nor a range`},
		{"msm --log 28", `"28" is not from 0 to 27`},
		{"msm --log 5..4", `"5..4" is not from 0 to 27`},
		{"prove --log 9", `"9" is not from 10 to 27`},
		{"prove --log 10 --key resident", `--key is "resident", want ordinary, locked, streamed`},
		{"prove --log 10 --rows streamed", `--rows is "streamed", want ordinary, locked`},
		{"msm --log 3 --group g3", `--group is "g3", want g1, g2`},
		{"msm --log 3 --scalars ones", `--scalars is "ones", want uniform, filecoin`},
		{"msm --log 3 --window 23", "--window is 23, want at most 22"},
		{"msm --log 3 --runs 0", "--runs is 0"},
		{"mul --log 3", "flag provided but not defined: -log"},
		{"mul --rounds 0", "--rounds is 0, want 1 to"},
		{"spmv", "--type is missing"},
		{"spmv --type porep", "one of --c1 and --synthetic is needed"},
		{"mul more", `unexpected argument "more"`},
	} {
		requireError(t, exitUsage, append([]string{"gpu"}, strings.Fields(c[0])...), c[1])
	}
}

func TestGPUMeasureErrors(t *testing.T) {
	_, err := gpuLines(t, fakeCard(""), "mul", "--device", "1")
	require.ErrorIs(t, err, gpu.ErrNoDevice)
	_, err = gpuLines(t, fakeCard(""), "ntt", "--log", "21")
	require.ErrorIs(t, err, gpu.ErrMemory)
	_, err = gpuLines(t, fakeCard(""), "spmv", "--type", "update", "--synthetic", "3KiB")
	require.ErrorContains(t, err, "no update of size")
	if _, err := gpu.OpenSystem(); err != nil { // a machine without a GPU
		requireError(t, exitFailed, []string{"gpu", "mul"}, err.Error())
	}
}
