package kernels_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/vectortest"
	"github.com/gocuzk/cuzk/pce"
)

// vectorKey makes a vector's key on a card from the reference's secrets and compares it with the reference's digests.
func vectorKey(t *testing.T, d device.Device, v *vectortest.Vector, system *pce.System) *groth16.ProvingKey {
	t.Helper()
	want := v.Setup(t)
	start := time.Now()
	secrets := groth16.Secrets(want.Secrets)
	files, err := groth16.WriteTestKey(t.Context(), t.TempDir(), system, &groth16.TestKeyOptions{
		Secrets: &secrets, Backend: groth16.BackendGPU, Device: d,
	})
	require.NoError(t, err)
	t.Logf("key of %d bytes made in %v", want.Params.Size, time.Since(start))
	text, err := os.ReadFile(files.Setup)
	require.NoError(t, err)
	var got struct{ Params, VK vectortest.Digest }
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want.Params, got.Params)
	require.Equal(t, want.VK, got.VK)
	key, err := groth16.OpenProvingKey(files.Params)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, key.Close()) })
	return key
}

// openDevice is the first card as users open it.
func openDevice(t *testing.T) device.Device {
	t.Helper()
	realSystem(t)
	d, err := device.Open("0", nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// TestCardProofs: with the reference's secrets, r and s the card gives the reference's key and proofs.
func TestCardProofs(t *testing.T) {
	for _, name := range vectortest.Names() {
		t.Run(name, func(t *testing.T) {
			d := openDevice(t)
			v := vectortest.Open(t, filepath.Join("..", ".."), name)
			system := v.System(t)
			key := vectorKey(t, d, v, system)
			p, err := groth16.NewProver(t.Context(), key, system, &groth16.ProverOptions{Device: d})
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			for k, c := range v.Partitions {
				want := v.Fixed(t, k)
				ctx := blinding.Fix(t.Context(), blinding.Factors{R: want.R, S: want.S})
				start := time.Now()
				r, err := p.Prove(ctx, []circuits.Circuit{c}, nil)
				require.NoError(t, err)
				t.Logf("partition %d in %v: %+v", k, time.Since(start), r.Partitions[0].Stats)
				require.Equal(t, groth16.BackendGPU, r.Partitions[0].Backend)
				require.Equal(t, want.Proof, r.Bytes())
			}
		})
	}
}

// TestCardSoak makes 100 proofs with one prover: memory of card and host does not grow.
func TestCardSoak(t *testing.T) {
	const warm, proofs, slack = 10, 100, 32 << 20
	d := openDevice(t)
	v := vectortest.Open(t, filepath.Join("..", ".."), "porep")
	system := v.System(t)
	p, err := groth16.NewProver(t.Context(), vectorKey(t, d, v, system), system, &groth16.ProverOptions{Device: d})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	var before device.Stats
	var host int64
	for i := range proofs {
		_, err := p.Prove(t.Context(), v.Partitions, nil)
		require.NoError(t, err)
		if i+1 == warm {
			before, host = d.Stats(), anonymousBytes(t)
		}
	}
	after, hostAfter := d.Stats(), anonymousBytes(t)
	t.Logf("after %d proofs %d bytes of the host, %d of the card; after %d %d and %d", warm, host, before.ProcessBytes,
		proofs, hostAfter, after.ProcessBytes)
	require.Equal(t, before.ProcessBytes, after.ProcessBytes)
	require.Equal(t, before.BytesInUse, after.BytesInUse)
	require.Equal(t, before.PinnedBytes, after.PinnedBytes)
	require.LessOrEqual(t, hostAfter, host+slack)
}

// anonymousBytes is the memory of this process that no file stands behind.
func anonymousBytes(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			var kib int64
			require.NoError(t, json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(text), " kB")), &kib))
			return kib << 10
		}
	}
	t.Skip("the system does not say how much memory a process has")
	return 0
}
