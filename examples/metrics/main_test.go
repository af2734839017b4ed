package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
)

// metric is a family as Prometheus reads it: the values of its series, by name and labels in order.
type metric struct {
	kind   string
	series map[string]float64
}

// parse reads a page and holds it to the rules of the text format: each family is described, then follow its samples,
// each series once, with names, labels and values that are well-formed.
func parse(t *testing.T, text string) map[string]*metric {
	t.Helper()
	require.True(t, strings.HasSuffix(text, "\n"))
	header := regexp.MustCompile(`^# (HELP|TYPE) ([a-z_]+) (.+)$`)
	sample := regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	labels := regexp.MustCompile(`^[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"(?:,[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*")*$`)
	all, help, name := map[string]*metric{}, "", ""
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if m := header.FindStringSubmatch(line); m != nil && m[1] == "HELP" {
			help = m[2]
			require.NotContains(t, all, help)
			continue
		} else if m != nil {
			require.Equal(t, help, m[2])
			require.Contains(t, []string{counter, gauge, summary}, m[3])
			require.Equal(t, m[3] == counter, strings.HasSuffix(m[2], "_total"), line)
			name = m[2]
			all[name] = &metric{kind: m[3], series: map[string]float64{}}
			continue
		}
		m := sample.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		suffixes := []string{""}
		if all[name].kind == summary {
			suffixes = []string{"_sum", "_count"}
		}
		require.Contains(t, suffixes, strings.TrimPrefix(m[1], name), line)
		if m[2] != "" {
			require.Regexp(t, labels, m[2])
		}
		series := m[1] + "{" + m[2] + "}"
		require.NotContains(t, all[name].series, series)
		value, err := strconv.ParseFloat(m[3], 64)
		require.NoError(t, err)
		all[name].series[series] = value
	}
	return all
}

// requireSeries requires a family to have these series and no others.
func requireSeries(t *testing.T, all map[string]*metric, name string, series map[string]float64) {
	t.Helper()
	require.Contains(t, all, name)
	require.Equal(t, series, all[name].series)
}

// madeUp is a snapshot with a different number everywhere.
func madeUp() *cuzk.Stats {
	at := time.Unix(1_700_000_000, 250_000_000)
	return &cuzk.Stats{
		Time: at.Add(time.Hour), Opened: at,
		Jobs: []cuzk.JobStats{{Kind: "porep", Queued: 1, Running: 2, Done: 3, Failed: 4, Cancelled: 5, Refused: 6}},
		Queues: []cuzk.QueueStats{
			{Class: "winning"}, {Class: "sealing", Jobs: 7, Partitions: 8, OldestWait: 1500 * time.Millisecond},
		},
		Partitions: []cuzk.PartitionStats{{Circuit: "porep-32GiB", Done: 9, Failed: 10, Retried: 11}},
		Phases: []cuzk.PhaseStats{
			{Circuit: "porep-32GiB", Phase: groth16.PhaseSums, Count: 12, Sum: 13 * time.Second, DeviceSum: 250 * time.Millisecond},
		},
		Devices: []cuzk.DeviceStats{
			{
				Info: device.Info{
					Ordinal: 1, UUID: "GPU-\"1\"\n\\\xff", Name: "NVIDIA H200", PCI: "0000:1b:00.0", MemoryBytes: 1 << 40,
					Capability: [2]int{9, 0}, Driver: "580.1",
				},
				Stats: device.Stats{
					LeasedBytes: 14, PeakLeasedBytes: 15, LimitBytes: 16, BytesInUse: 17, ProcessBytes: 18, PinnedBytes: 19,
					PinnedRefused: 20, Launches: 21, Yields: 32, Leaks: 22, Lost: true, Cause: errors.New("gone"),
				},
				OnlyWinning: true, Workers: 23, Busy: 24, Done: 25, Failed: 26,
				Keys: []cuzk.KeyStats{{Circuit: "porep-32GiB", Bytes: 27, Users: 28, LastUse: at}, {Circuit: "new"}},
			},
			{Info: device.CPU().Info(), Workers: 1},
		},
		HostPromisedBytes: 29, HostPeakBytes: 30, HostLimitBytes: 31,
	}
}

func TestRender(t *testing.T) {
	all := parse(t, string(render(madeUp())))
	const gpu, porep = `uuid="GPU-\"1\"\n\\` + "\ufffd" + `"`, `circuit="porep-32GiB"`
	requireSeries(t, all, "cuzk_start_time_seconds", map[string]float64{"cuzk_start_time_seconds{}": 1_700_000_000.25})
	requireSeries(t, all, "cuzk_jobs_open", map[string]float64{
		`cuzk_jobs_open{kind="porep",state="queued"}`: 1, `cuzk_jobs_open{kind="porep",state="running"}`: 2,
	})
	requireSeries(t, all, "cuzk_jobs_total", map[string]float64{
		`cuzk_jobs_total{kind="porep",result="done"}`: 3, `cuzk_jobs_total{kind="porep",result="failed"}`: 4,
		`cuzk_jobs_total{kind="porep",result="cancelled"}`: 5, `cuzk_jobs_total{kind="porep",result="refused"}`: 6,
	})
	for name, value := range map[string]float64{
		"cuzk_queue_jobs": 7, "cuzk_queue_partitions": 8, "cuzk_queue_oldest_seconds": 1.5,
	} {
		requireSeries(t, all, name, map[string]float64{name + `{class="winning"}`: 0, name + `{class="sealing"}`: value})
	}
	requireSeries(t, all, "cuzk_partitions_total", map[string]float64{
		`cuzk_partitions_total{` + porep + `,result="done"}`: 9, `cuzk_partitions_total{` + porep + `,result="failed"}`: 10,
	})
	requireSeries(t, all, "cuzk_partition_retries_total", map[string]float64{`cuzk_partition_retries_total{` + porep + `}`: 11})
	requireSeries(t, all, "cuzk_phase_seconds", map[string]float64{
		`cuzk_phase_seconds_count{` + porep + `,phase="sums"}`: 12, `cuzk_phase_seconds_sum{` + porep + `,phase="sums"}`: 13,
	})
	requireSeries(t, all, "cuzk_phase_device_seconds_total", map[string]float64{
		`cuzk_phase_device_seconds_total{` + porep + `,phase="sums"}`: 0.25,
	})
	for name, value := range map[string]float64{
		"cuzk_device_memory_bytes": 1 << 40, "cuzk_device_leased_bytes": 14, "cuzk_device_leased_peak_bytes": 15,
		"cuzk_device_limit_bytes": 16, "cuzk_device_allocated_bytes": 17, "cuzk_device_process_bytes": 18,
		"cuzk_device_pinned_bytes": 19, "cuzk_device_pinned_refused_total": 20, "cuzk_device_launches_total": 21, "cuzk_device_yields_total": 32,
		"cuzk_device_leaks_total": 22, "cuzk_device_lost": 1, "cuzk_device_only_winning": 1, "cuzk_device_workers_busy": 24,
	} {
		requireSeries(t, all, name, map[string]float64{name + "{" + gpu + "}": value, name + `{uuid="cpu"}`: 0})
	}
	requireSeries(t, all, "cuzk_device_workers", map[string]float64{
		`cuzk_device_workers{` + gpu + `}`: 23, `cuzk_device_workers{uuid="cpu"}`: 1,
	})
	requireSeries(t, all, "cuzk_device_partitions_total", map[string]float64{
		`cuzk_device_partitions_total{` + gpu + `,result="done"}`:   25,
		`cuzk_device_partitions_total{` + gpu + `,result="failed"}`: 26,
		`cuzk_device_partitions_total{uuid="cpu",result="done"}`:    0, `cuzk_device_partitions_total{uuid="cpu",result="failed"}`: 0,
	})
	requireSeries(t, all, "cuzk_device_info", map[string]float64{
		`cuzk_device_info{` + gpu + `,ordinal="1",name="NVIDIA H200",pci="0000:1b:00.0",capability="9.0",driver="580.1"}`: 1,
		`cuzk_device_info{uuid="cpu",ordinal="-1",name="cpu",pci="",capability="0.0",driver=""}`:                          1,
	})
	for name, value := range map[string]float64{
		"cuzk_key_bytes": 27, "cuzk_key_users": 28, "cuzk_key_last_use_time_seconds": 1_700_000_000.25,
	} {
		requireSeries(t, all, name, map[string]float64{
			name + "{" + gpu + "," + porep + "}": value, name + "{" + gpu + `,circuit="new"}`: 0,
		})
	}
	for name, value := range map[string]float64{
		"cuzk_host_promised_bytes": 29, "cuzk_host_promised_peak_bytes": 30, "cuzk_host_limit_bytes": 31,
	} {
		requireSeries(t, all, name, map[string]float64{name + "{}": value})
	}
	require.Len(t, all, 33, "every family is tested")
}

// Names are stable: an empty snapshot describes the same families.
func TestRenderEmpty(t *testing.T) {
	empty, full := parse(t, string(render(&cuzk.Stats{}))), parse(t, string(render(madeUp())))
	for name, m := range full {
		require.Contains(t, empty, name)
		require.Equal(t, m.kind, empty[name].kind)
	}
	require.Len(t, empty, len(full))
	requireSeries(t, empty, "cuzk_start_time_seconds", map[string]float64{"cuzk_start_time_seconds{}": 0})
}

// What an Engine does is seen at the handler.
func TestHandler(t *testing.T) {
	v, dir := enginetest.Small(t, "cubic"), t.TempDir()
	require.NoError(t, os.WriteFile(groth16.TestKeyFiles(dir, "cubic").Params, v.Params, 0o600))
	engine, err := cuzk.Open(t.Context(), &cuzk.Options{
		Params: cuzk.TestParamsFolder(dir), Cache: dir, Backend: groth16.BackendCPU,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close(context.Background())) }()
	server := httptest.NewServer(handler(engine.Stats))
	defer server.Close()
	get := func() map[string]*metric {
		r, err := http.Get(server.URL)
		require.NoError(t, err)
		defer r.Body.Close()
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Equal(t, contentType, r.Header.Get("Content-Type"))
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return parse(t, string(text))
	}
	require.Empty(t, get()["cuzk_partitions_total"].series)
	const jobs, partitions = 2, 3
	for range jobs {
		j, err := engine.Submit(t.Context(), cuzk.Statements(slices.Repeat([]circuits.Circuit{v.Circuit}, partitions)...), nil)
		require.NoError(t, err)
		_, err = j.Wait(t.Context())
		require.NoError(t, err)
	}
	all := get()
	require.Equal(t, 6.0, all["cuzk_partitions_total"].series[`cuzk_partitions_total{circuit="cubic",result="done"}`])
	require.Equal(t, 6.0, all["cuzk_device_partitions_total"].series[`cuzk_device_partitions_total{uuid="cpu",result="done"}`])
	require.Equal(t, 2.0, all["cuzk_jobs_total"].series[`cuzk_jobs_total{kind="statements",result="done"}`])
	require.Equal(t, 6.0, all["cuzk_phase_seconds"].series[`cuzk_phase_seconds_count{circuit="cubic",phase="sums"}`])
	require.Positive(t, all["cuzk_phase_seconds"].series[`cuzk_phase_seconds_sum{circuit="cubic",phase="sums"}`])
	require.Contains(t, all["cuzk_key_bytes"].series, `cuzk_key_bytes{uuid="cpu",circuit="cubic"}`)

	r, err := http.Post(server.URL, "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
}

// The program serves until it is interrupted.
func TestRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"--listen", "127.0.0.1:0", "--backend", "cpu"}, w) }()
	line := make([]byte, 1000)
	n, err := r.Read(line)
	require.NoError(t, err)
	go io.Copy(io.Discard, r)
	url := regexp.MustCompile(`http://\S+`).FindString(string(line[:n]))
	response, err := http.Get(url)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	require.Contains(t, parse(t, string(text))["cuzk_device_info"].series,
		`cuzk_device_info{uuid="cpu",ordinal="-1",name="cpu",pci="",capability="0.0",driver=""}`)
	cancel()
	require.Equal(t, exitOK, <-code)

	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"more"}, exitUsage, `unexpected argument "more"`},
		{[]string{"--backend", "tpu"}, exitUsage, "want auto, cpu or gpu"},
		{[]string{"-h"}, exitOK, "-listen"},
		{[]string{"--listen", "nowhere:99999999"}, exitFailed, "metrics: "},
	} {
		var stderr bytes.Buffer
		require.Equal(t, c.code, run(t.Context(), c.args, &stderr))
		require.Contains(t, stderr.String(), c.text)
	}
}
