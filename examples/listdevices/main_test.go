package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
)

func lists(err error, infos ...device.Info) func() ([]device.Info, error) {
	return func() ([]device.Info, error) { return infos, err }
}

func h200() device.Info {
	return device.Info{UUID: "GPU-1", PCI: "0000:1b:00.0", Name: "NVIDIA H200", MemoryBytes: 3 << 29, Capability: [2]int{9, 0},
		Multiprocessors: 132, CUDA: "13.0", Driver: "580.1.2"}
}

func TestRun(t *testing.T) {
	other := h200()
	other.Ordinal, other.Driver = 1, ""
	noDriver := fmt.Errorf("%w: libcuda.so.1", device.ErrNoDriver)
	for name, c := range map[string]struct {
		args           []string
		list           func() ([]device.Info, error)
		code           int
		stdout, stderr string
	}{
		"table": {list: lists(nil, h200(), other), stdout: "" +
			"ordinal  name         UUID   PCI           memory   capability  CUDA  driver\n" +
			"0        NVIDIA H200  GPU-1  0000:1b:00.0  1.5 GiB  9.0         13.0  580.1.2\n" +
			"1        NVIDIA H200  GPU-1  0000:1b:00.0  1.5 GiB  9.0         13.0  unknown\n"},
		"no driver": {list: lists(noDriver), stdout: "no GPU: device: CUDA driver not available: libcuda.so.1\n"},
		"no device": {list: lists(device.ErrNoDevice), stdout: "no GPU: device: no usable GPU\n"},
		"no driver JSON": {args: []string{"--json"}, list: lists(noDriver), stdout: "[]\n",
			stderr: "listdevices: " + noDriver.Error() + "\n"},
		"old driver": {list: lists(device.ErrDriverTooOld), code: exitFailed,
			stderr: "listdevices: device: CUDA driver too old\n"},
		"argument": {args: []string{"x"}, code: exitUsage, stderr: "listdevices: unexpected argument \"x\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, run(c.args, c.list, &stdout, &stderr))
			require.Equal(t, c.stdout, stdout.String())
			require.Equal(t, c.stderr, stderr.String())
		})
	}
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, exitUsage, run([]string{"--nothing"}, nil, &out, &out))
	require.Contains(t, out.String(), "-json")
	require.Equal(t, exitOK, run([]string{"-h"}, nil, &out, &out))
}

func TestJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run([]string{"--json"}, lists(nil, h200()), &stdout, &stderr))
	require.Empty(t, stderr.String())
	var got []gpu
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	require.Equal(t, []gpu{{UUID: "GPU-1", PCI: "0000:1b:00.0", Name: "NVIDIA H200", MemoryBytes: 3 << 29, Capability: "9.0",
		Multiprocessors: 132, CUDA: "13.0", Driver: "580.1.2"}}, got)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestBrokenOutput(t *testing.T) {
	for _, args := range [][]string{nil, {"--json"}} {
		var stderr bytes.Buffer
		require.Equal(t, exitFailed, run(args, lists(nil, h200()), brokenPipe{}, &stderr))
		require.Contains(t, stderr.String(), "broken pipe")
	}
}

// On any machine the program says what there is, and does not fail for want of a GPU.
func TestThisMachine(t *testing.T) {
	if _, err := device.List(); err != nil && !errors.Is(err, device.ErrNoDriver) && !errors.Is(err, device.ErrNoDevice) {
		t.Skip("a driver that can't be used: ", err)
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(nil, device.List, &stdout, &stderr))
	require.NotEmpty(t, stdout.String())
	require.Empty(t, stderr.String())
}
