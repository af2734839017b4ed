package groth16

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/pce"
)

func secretsOf(v *enginetest.Vector) *Secrets {
	s := Secrets(v.Secrets)
	return &s
}

// fakeDriver is a driver whose card runs the twins of the kernels.
func fakeDriver() *fakedrv.Driver {
	drv := fakedrv.New(fakedrv.Config{})
	for name, twin := range kernels.Twins() {
		drv.Register(name, func(m *fakedrv.Memory, l cudrv.Launch, params []byte) {
			twin(m, gpu.Grid{Blocks: int(l.Grid[0]), BlocksY: int(l.Grid[1]), Threads: int(l.Block[0])}, params)
		})
	}
	return drv
}

// fakeCard is the card of a fakeDriver. What is left behind on it fails the test.
func fakeCard(t testing.TB) (device.Device, *fakedrv.Driver) {
	t.Helper()
	drv := fakeDriver()
	card, err := gpu.NewSystem(drv).Open(0)
	require.NoError(t, err)
	d := device.Wrap(card)
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		require.Empty(t, drv.Violations())
		require.Equal(t, fakedrv.Usage{}, drv.Usage())
	})
	return d, drv
}

// The reference's bytes come from the reference's secrets, wherever they are made.
func TestSetupMatchesReference(t *testing.T) {
	card, drv := fakeCard(t)
	for _, o := range []TestKeyOptions{{Backend: BackendCPU}, {Backend: BackendGPU, Device: card}, {Device: card}} {
		for _, name := range enginetest.SmallNames() {
			t.Run(o.Backend.String()+"/"+name, func(t *testing.T) { setupMatches(t, name, o) })
		}
	}
	require.NotZero(t, drv.Calls()["LaunchKernel"])
}

func setupMatches(t *testing.T, name string, o TestKeyOptions) {
	v := enginetest.Small(t, name)
	var params, vk bytes.Buffer
	var last, total int64
	o.Secrets = secretsOf(v)
	o.Progress = func(d, n int64) {
		require.GreaterOrEqual(t, d, last)
		last, total = d, n
	}
	key, err := WriteTestParams(t.Context(), &params, v.System(t), &o)
	require.NoError(t, err)
	require.Equal(t, total, last, "progress ends at the total")
	require.True(t, bytes.Equal(v.Params, params.Bytes()), "params differ")
	n, err := key.WriteTo(&vk)
	require.NoError(t, err)
	require.EqualValues(t, len(v.VK), n)
	require.True(t, bytes.Equal(v.VK, vk.Bytes()), "vk differs")
}

func TestWriteTestKey(t *testing.T) {
	dir := t.TempDir()
	v := enginetest.Small(t, "cubic")
	key, err := WriteTestKey(t.Context(), dir, v.System(t), &TestKeyOptions{Secrets: secretsOf(v), Backend: BackendCPU})
	require.NoError(t, err)
	want := TestKeyFiles(dir, "cubic")
	want.Backend = BackendCPU
	require.Equal(t, want, *key)
	require.Equal(t, []string{"test-cubic.params", "test-cubic.setup.json", "test-cubic.vk"}, names(t, dir))
	params, err := os.ReadFile(key.Params)
	require.NoError(t, err)
	require.True(t, bytes.Equal(v.Params, params))
	vk, err := os.ReadFile(key.VK)
	require.NoError(t, err)
	require.True(t, bytes.Equal(v.VK, vk))

	text, err := os.ReadFile(key.Setup)
	require.NoError(t, err)
	var note sidecar
	require.NoError(t, json.Unmarshal(text, &note))
	require.True(t, note.Insecure)
	require.Equal(t, "given", note.Secrets)
	require.Equal(t, "cubic", note.Circuit)
	require.EqualValues(t, len(params), note.Params.Size)
	require.Len(t, note.VK.BLAKE2b512, 128)
}

func TestRandomKeysDiffer(t *testing.T) {
	system := enginetest.Small(t, "cubic").System(t)
	var keys [2][]byte
	for i := range keys {
		key, err := WriteTestKey(t.Context(), t.TempDir(), system, nil)
		require.NoError(t, err)
		keys[i], err = os.ReadFile(key.VK)
		require.NoError(t, err)
	}
	require.NotEqual(t, keys[0], keys[1])
}

func TestCancelledSetupLeavesNothing(t *testing.T) {
	card, _ := fakeCard(t)
	for _, d := range []device.Device{device.CPU(), card} {
		dir := t.TempDir()
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := WriteTestKey(ctx, dir, enginetest.Small(t, "feistel").System(t), &TestKeyOptions{
			Device:   d,
			Progress: func(done, total int64) { cancel(cause) },
		})
		require.ErrorIs(t, err, cause)
		require.Empty(t, names(t, dir))
	}
}

// A GPU that fails, at whatever call, is an error of package device and never a key from the CPU.
func TestFailingCardLeavesNothing(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	failures := 0
	for n := 0; ; n += 43 {
		drv := fakeDriver()
		card, err := gpu.NewSystem(drv).Open(0)
		require.NoError(t, err)
		drv.Inject(fakedrv.Rule{Card: 0, After: n, Result: cudrv.LaunchFailed, Sticky: true})
		dir := t.TempDir()
		_, err = WriteTestKey(t.Context(), dir, v.System(t), &TestKeyOptions{Device: device.Wrap(card)})
		if err == nil {
			break // there are no more calls
		}
		failures++
		var typed *device.Error
		require.ErrorAs(t, err, &typed, "call %d", n)
		require.ErrorIs(t, err, device.ErrLost, "call %d", n)
		require.Empty(t, names(t, dir), "call %d", n)
	}
	require.Greater(t, failures, 5)
}

func TestSetupRefusesOptions(t *testing.T) {
	card, _ := fakeCard(t)
	system := enginetest.Small(t, "cubic").System(t)
	for text, o := range map[string]TestKeyOptions{
		"option Backend: 7":    {Backend: 7},
		"does not fit backend": {Backend: BackendCPU, Device: card},
		"backend gpu":          {Backend: BackendGPU, Device: device.CPU()},
	} {
		dir := t.TempDir()
		_, err := WriteTestKey(t.Context(), dir, system, &o)
		require.ErrorContains(t, err, text)
		require.Empty(t, names(t, dir))
	}
}

func TestSetupKeepsOldFilesOnFailure(t *testing.T) {
	dir := t.TempDir()
	v := enginetest.Small(t, "cubic")
	old := TestKeyFiles(dir, "cubic")
	require.NoError(t, os.WriteFile(old.Params, []byte("old"), 0o600))
	s := secretsOf(v)
	s.Delta = fr.Element{}
	_, err := WriteTestKey(t.Context(), dir, v.System(t), &TestKeyOptions{Secrets: s})
	require.ErrorContains(t, err, "secret delta is zero")
	got, err := os.ReadFile(old.Params)
	require.NoError(t, err)
	require.Equal(t, "old", string(got))
	require.Equal(t, []string{"test-cubic.params"}, names(t, dir))

	_, err = WriteTestKey(t.Context(), filepath.Join(dir, "none"), v.System(t), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSetupRefusesTauInDomain(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	s := secretsOf(v)
	var err error
	s.Tau, err = fft.Generator(8)
	require.NoError(t, err)
	_, err = WriteTestParams(t.Context(), &bytes.Buffer{}, v.System(t), &TestKeyOptions{Secrets: s})
	require.ErrorContains(t, err, "root of unity")
}

func TestSetupRefusesUnusedVariable(t *testing.T) {
	system, err := pce.Record(t.Context(), "unused", func(b pce.Builder) error {
		x := b.Alloc(fr.NewElement(1))
		b.Alloc(fr.NewElement(2))
		b.Mul(x, x)
		return nil
	}, nil)
	require.NoError(t, err)
	_, err = WriteTestParams(t.Context(), &bytes.Buffer{}, system, nil)
	require.ErrorContains(t, err, "private variable 1 is in no row")
}

func TestSetupWithoutSystem(t *testing.T) {
	for _, system := range []*pce.System{nil, {}} {
		dir := t.TempDir()
		_, err := WriteTestParams(t.Context(), &bytes.Buffer{}, system, nil)
		require.ErrorContains(t, err, "groth16: make params: ")
		require.ErrorContains(t, err, "constraint system")
		_, keyErr := WriteTestKey(t.Context(), dir, system, nil)
		require.Equal(t, err, keyErr)
		require.Empty(t, names(t, dir))
	}
}

func names(t *testing.T, dir string) []string {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
