package groth16

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/vectortest"
	"github.com/gocuzk/cuzk/pce"
)

var keys = flag.String("keys", "", "folder in which to keep the keys of 2 KiB (PoRep: 1.1 GB) between runs of -slow")

type porepVector struct {
	Proof  string   `json:"proof"`
	Inputs []string `json:"public_inputs_le"`
	R      string   `json:"r_le"`
	S      string   `json:"s_le"`
}

func readTestdata(t testing.TB, name string, to any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, to))
}

func porepSystem(t testing.TB) *pce.System {
	t.Helper()
	return vectorSystem(t, vectortest.Open(t, "..", "porep"))
}

// vectorSystem is the constraint system of a vector.
func vectorSystem(t testing.TB, v *vectortest.Vector) *pce.System {
	t.Helper()
	start := time.Now()
	s := v.System(t)
	t.Logf("recorded in %v", time.Since(start))
	return s
}

// vectorKey makes the key of a vector from the reference's secrets and compares it with the reference's digests.
func vectorKey(t testing.TB, v *vectortest.Vector, system *pce.System) TestKey {
	t.Helper()
	want := v.Setup(t)
	dir := *keys
	if dir == "" {
		dir = t.TempDir()
	}
	key := TestKeyFiles(dir, system.Name())
	if _, err := os.Stat(key.Params); err != nil {
		secrets := Secrets(want.Secrets)
		start := time.Now()
		_, err := WriteTestKey(t.Context(), dir, system, &TestKeyOptions{Secrets: &secrets})
		require.NoError(t, err)
		t.Logf("key made in %v", time.Since(start))
	}
	text, err := os.ReadFile(key.Setup)
	require.NoError(t, err)
	var note sidecar
	require.NoError(t, json.Unmarshal(text, &note))
	require.Equal(t, want.Params, vectortest.Digest{BLAKE2b512: note.Params.BLAKE2b512, Size: note.Params.Size})
	require.Equal(t, want.VK.BLAKE2b512, note.VK.BLAKE2b512)
	return key
}

// A real PoRep: the reference's key from the reference's secrets, and from the reference's phase-1 output, with its r and s, the
// reference's proof.
func TestPoRepEqualsReference(t *testing.T) {
	if !*slow {
		t.Skip("takes minutes; run with -slow")
	}
	v := vectortest.Open(t, "..", "porep")
	require.Len(t, v.Partitions, 1)
	system := vectorSystem(t, v)
	key := openKey(t, vectorKey(t, v, system).Params)
	p := newProver(t, key, system, onCPU)
	took := requireFixedProofs(t, v, p)
	testCancellation(t, p, v.Partitions[0], took)

	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "VmHWM") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
}

// testCancellation ends proofs of a long-running circuit at random moments: within a second the call is over.
func testCancellation(t *testing.T, p Prover, c circuits.Circuit, most time.Duration) {
	before := runtime.NumGoroutine()
	for range 8 {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		var ended time.Time
		after := rand.N(most)
		timer := time.AfterFunc(after, func() { ended = time.Now(); cancel(cause) })
		_, err := p.Prove(ctx, list(c), nil)
		if !timer.Stop() {
			require.ErrorIs(t, err, cause)
			late := time.Since(ended)
			t.Logf("ended after %v, returned %v later", after, late)
			require.Less(t, late, time.Second)
		}
		cancel(nil)
	}
	requireGoroutines(t, before)
}

func scalarList(t testing.TB, s []string) []fr.Element {
	t.Helper()
	out := make([]fr.Element, len(s))
	for i := range s {
		out[i] = enginetest.Scalar(t, s[i])
	}
	return out
}
