package groth16

import (
	"context"
	"encoding/hex"
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
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
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
	params, err := porep.ParamsFor(2 << 10)
	require.NoError(t, err)
	blank := porep.Blank(params)
	start := time.Now()
	s, err := pce.Record(t.Context(), blank.Name(), blank.Synthesize, nil)
	require.NoError(t, err)
	t.Logf("recorded in %v", time.Since(start))
	return s
}

// vectorKey makes the key of a vector from the reference's secrets and compares it with the reference's digests.
func vectorKey(t testing.TB, vector string, system *pce.System) TestKey {
	t.Helper()
	var want struct {
		Params struct {
			BLAKE2b512 string            `json:"blake2b512"`
			Size       int64             `json:"size"`
			Setup      map[string]string `json:"setup"`
		} `json:"params"`
		VK struct {
			BLAKE2b512 string `json:"blake2b512"`
			Size       int64  `json:"size"`
		} `json:"vk"`
	}
	readTestdata(t, vector+"/params.json", &want)
	dir := *keys
	if dir == "" {
		dir = t.TempDir()
	}
	key := TestKeyFiles(dir, system.Name())
	if _, err := os.Stat(key.Params); err != nil {
		s := want.Params.Setup
		secrets := &Secrets{
			Alpha: enginetest.Scalar(t, s["alpha_le"]), Beta: enginetest.Scalar(t, s["beta_le"]), Gamma: enginetest.Scalar(t, s["gamma_le"]),
			Delta: enginetest.Scalar(t, s["delta_le"]), Tau: enginetest.Scalar(t, s["tau_le"]),
		}
		start := time.Now()
		_, err := WriteTestKey(t.Context(), dir, system, &TestKeyOptions{Secrets: secrets})
		require.NoError(t, err)
		t.Logf("key made in %v", time.Since(start))
	}
	text, err := os.ReadFile(key.Setup)
	require.NoError(t, err)
	var note sidecar
	require.NoError(t, json.Unmarshal(text, &note))
	require.Equal(t, want.Params.BLAKE2b512, note.Params.BLAKE2b512)
	require.Equal(t, want.Params.Size, note.Params.Size)
	require.Equal(t, want.VK.BLAKE2b512, note.VK.BLAKE2b512)
	return key
}

// A real PoRep: the reference's key from the reference's secrets, and from the reference's phase-1 output, with its r and s, the
// reference's proof.
func TestPoRepEqualsReference(t *testing.T) {
	if !*slow {
		t.Skip("takes minutes; run with -slow")
	}
	system := porepSystem(t)
	files := vectorKey(t, "porep", system)
	key := openKey(t, files.Params)
	p := newProver(t, key, system, onCPU)

	f, err := os.Open("testdata/porep/c1.json.zst")
	require.NoError(t, err)
	defer f.Close()
	z, err := zstd.NewReader(f)
	require.NoError(t, err)
	defer z.Close()
	c1, err := porep.DecodeC1(z, nil)
	require.NoError(t, err)
	parts, err := c1.Circuits()
	require.NoError(t, err)
	require.Len(t, parts, 1)

	var v porepVector
	readTestdata(t, "porep/fixed.json", &v)
	ctx := blinding.Fix(t.Context(), blinding.Factors{R: enginetest.Scalar(t, v.R), S: enginetest.Scalar(t, v.S)})
	start := time.Now()
	r, err := p.Prove(ctx, list(parts[0]), nil)
	require.NoError(t, err)
	took := time.Since(start)
	t.Logf("proved in %v: %+v", took, r.Partitions[0].Stats)
	require.Equal(t, v.Proof, hex.EncodeToString(r.Bytes()))
	testCancellation(t, p, parts[0], took)

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
