package groth16

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/blinding"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/pce"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

var onCPU = &ProverOptions{Backend: BackendCPU}

func openKey(t testing.TB, path string) *ProvingKey {
	t.Helper()
	key, err := OpenProvingKey(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, key.Close()) })
	return key
}

func newProver(t testing.TB, key *ProvingKey, system *pce.System, o *ProverOptions) Prover {
	t.Helper()
	p, err := NewProver(t.Context(), key, system, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// smallProver is a vector with a prover for it.
func smallProver(t testing.TB, name string, o *ProverOptions) (*enginetest.Vector, Prover) {
	t.Helper()
	v := enginetest.Small(t, name)
	return v, newProver(t, openKey(t, v.ParamsFile(t)), v.System(t), o)
}

// altered is a circuit with some methods replaced.
type altered struct {
	circuits.Circuit
	inputs     func() ([]fr.Element, error)
	synthesize func(pce.Builder) error
}

func (a *altered) PublicInputs() ([]fr.Element, error) {
	if a.inputs != nil {
		return a.inputs()
	}
	return a.Circuit.PublicInputs()
}

func (a *altered) Synthesize(b pce.Builder) error {
	if a.synthesize != nil {
		return a.synthesize(b)
	}
	return a.Circuit.Synthesize(b)
}

func list(c ...circuits.Circuit) []circuits.Circuit { return c }

// With the reference's r and s the reference's bytes come out, with and without a recorded system.
func TestProofBytesMatchReference(t *testing.T) {
	for _, name := range enginetest.SmallNames() {
		for _, direct := range []bool{false, true} {
			v, p := smallProver(t, name, &ProverOptions{Backend: BackendCPU, DisablePCE: direct})
			ctx := blinding.Fix(t.Context(), blinding.Factors{R: v.R, S: v.S})
			r, err := p.Prove(ctx, list(v.Circuit), nil)
			require.NoError(t, err)
			require.Equal(t, v.Proof, r.Bytes())
			require.Equal(t, 1, r.Partitions[0].Attempts)
			require.Equal(t, BackendCPU, r.Partitions[0].Backend)
			require.Positive(t, r.Partitions[0].Stats.Sums)
			require.True(t, p.Device().Info().IsCPU())
		}
	}
}

func TestProofsOfOneWitnessDiffer(t *testing.T) {
	v, p := smallProver(t, "cubic", onCPU)
	r, err := p.Prove(t.Context(), list(v.Circuit, v.Circuit, v.Circuit), nil)
	require.NoError(t, err)
	require.Len(t, r.Bytes(), 3*ProofSize)
	require.NotEqual(t, r.Proofs[0], r.Proofs[1])
	require.NotEqual(t, r.Proofs[1], r.Proofs[2])
	proofs, err := ParseProofs(r.Bytes())
	require.NoError(t, err)
	require.Equal(t, r.Proofs, proofs)
	for _, none := range [][]circuits.Circuit{nil, {}} {
		r, err = p.Prove(t.Context(), none, nil)
		require.Equal(t, ErrEmpty, err)
		require.Nil(t, r)
	}
}

func TestProveWithoutSystem(t *testing.T) {
	v := enginetest.Small(t, "feistel")
	key := openKey(t, v.ParamsFile(t))
	_, err := NewProver(t.Context(), key, nil, onCPU)
	require.ErrorContains(t, err, "DisablePCE")
	for _, disable := range []bool{false, true} {
		_, err = NewProver(t.Context(), key, new(pce.System), &ProverOptions{Backend: BackendCPU, DisablePCE: disable})
		require.ErrorContains(t, err, "neither recorded nor opened")
	}
	p := newProver(t, key, nil, &ProverOptions{Backend: BackendCPU, DisablePCE: true})
	_, err = p.Prove(t.Context(), list(v.Circuit), nil)
	require.NoError(t, err)
	_, err = p.Prove(t.Context(), list(enginetest.Small(t, "cubic").Circuit), nil)
	require.ErrorIs(t, err, ErrKeyMismatch)
}

// A witness of another statement is refused before any work, whatever it satisfies.
func TestWrongStatement(t *testing.T) {
	v, p := smallProver(t, "feistel", onCPU)
	right := v.Circuit.Inputs
	wrong := append([]fr.Element{}, right...)
	wrong[1].SetUint64(5)
	for name, c := range map[string]struct {
		inputs []fr.Element
		index  int
	}{"value": {wrong, 1}, "short": {right[:1], 1}, "long": {append(wrong[:1:1], right[1], wrong[1]), 2}} {
		t.Run(name, func(t *testing.T) {
			bad := &altered{Circuit: v.Circuit, inputs: func() ([]fr.Element, error) { return c.inputs, nil }}
			r, err := p.Prove(t.Context(), list(bad), nil)
			require.ErrorIs(t, err, ErrStatement)
			var s *StatementError
			require.ErrorAs(t, err, &s)
			require.Equal(t, c.index, s.Index)
			require.Nil(t, r.Bytes())
			require.Equal(t, []Proof{{}}, r.Proofs)
		})
	}
}

// damaged is the circuit with one private variable changed.
func damaged(v *enginetest.Vector, variable int) *enginetest.Explicit {
	c := *v.Circuit
	c.Aux = append([]fr.Element{}, c.Aux...)
	one := fr.One()
	c.Aux[variable].Add(&c.Aux[variable], &one)
	return &c
}

func TestUnsatisfiedWitness(t *testing.T) {
	for _, direct := range []bool{false, true} {
		v, p := smallProver(t, "sparse", &ProverOptions{Backend: BackendCPU, DisablePCE: direct})
		for _, k := range []int{0, 100, len(v.Circuit.Aux) - 1} {
			_, err := p.Prove(t.Context(), list(damaged(v, k)), nil)
			require.ErrorIs(t, err, ErrUnsatisfied)
			require.ErrorContains(t, err, "row ")
		}
		_, err := p.Prove(t.Context(), list(damaged(v, 100)), &ProveOptions{Check: true})
		var row *pce.RowError
		require.ErrorAs(t, err, &row)
		_, err = p.Prove(t.Context(), list(v.Circuit), &ProveOptions{Check: true})
		require.NoError(t, err)
	}
}

func TestPartialFailure(t *testing.T) {
	v, p := smallProver(t, "cubic", onCPU)
	r, err := p.Prove(t.Context(), list(v.Circuit, damaged(v, 1), v.Circuit), nil)
	var part *PartitionError
	require.ErrorAs(t, err, &part)
	require.Equal(t, 1, part.Partition)
	require.ErrorIs(t, err, ErrUnsatisfied)
	require.NotNil(t, r)
	require.Nil(t, r.Bytes())
	for i, report := range r.Partitions {
		if i == 1 {
			require.ErrorIs(t, report.Err, ErrUnsatisfied)
			continue
		}
		require.NoError(t, report.Err)
		require.NoError(t, Verify(openKey(t, v.ParamsFile(t)).VerifyingKey(), r.Proofs[i], v.Circuit.Inputs))
	}
}

func TestWitnessOfAnotherCircuit(t *testing.T) {
	v, p := smallProver(t, "cubic", onCPU)
	_, err := p.Prove(t.Context(), list(enginetest.Small(t, "feistel").Circuit), nil)
	require.ErrorIs(t, err, ErrLayout)
	// The right name does not help.
	other := *enginetest.Small(t, "feistel").Circuit
	other.Label = v.Circuit.Label
	_, err = p.Prove(t.Context(), list(&other), nil)
	require.ErrorIs(t, err, ErrLayout)
}

func TestKeyOfAnotherCircuit(t *testing.T) {
	v, other := enginetest.Small(t, "cubic"), enginetest.Small(t, "feistel")
	_, err := NewProver(t.Context(), openKey(t, v.ParamsFile(t)), other.System(t), onCPU)
	require.ErrorIs(t, err, ErrKeyMismatch)
	var m *MismatchError
	require.ErrorAs(t, err, &m)
	require.Equal(t, "feistel", m.System)
	require.Contains(t, m.Key, "cubic.params")
	require.NotEqual(t, m.InKey, m.InSystem)
}

// A key that is well-formed but of other secrets makes proofs that do not hold; none gets out.
func TestKeyWithForeignPart(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	var other bytes.Buffer
	s, err := RandomSecrets()
	require.NoError(t, err)
	_, err = WriteTestParams(t.Context(), &other, v.System(t), &TestKeyOptions{Secrets: s})
	require.NoError(t, err)
	mixed := append(append([]byte{}, v.VK...), other.Bytes()[len(v.VK):]...)
	path := filepath.Join(t.TempDir(), "mixed.params")
	require.NoError(t, os.WriteFile(path, mixed, 0o600))
	p := newProver(t, openKey(t, path), v.System(t), onCPU)
	r, err := p.Prove(t.Context(), list(v.Circuit, v.Circuit), nil)
	require.ErrorIs(t, err, ErrInvalidProof)
	require.Nil(t, r.Bytes())
	require.Equal(t, make([]Proof, 2), r.Proofs)
}

func TestCircuitThatFailsOrPanics(t *testing.T) {
	v, p := smallProver(t, "cubic", onCPU)
	boom := errors.New("boom")
	for name, c := range map[string]*altered{
		"inputs fail":     {inputs: func() ([]fr.Element, error) { return nil, boom }},
		"synthesis fails": {synthesize: func(pce.Builder) error { return boom }},
	} {
		c.Circuit = v.Circuit
		_, err := p.Prove(t.Context(), list(c), nil)
		require.ErrorIs(t, err, boom, name)
	}
	c := &altered{Circuit: v.Circuit, inputs: func() ([]fr.Element, error) { panic(boom) }}
	_, err := p.Prove(t.Context(), list(c), nil)
	var panicked *parallel.PanicError
	require.ErrorAs(t, err, &panicked)
	c = &altered{Circuit: v.Circuit, synthesize: func(pce.Builder) error { panic(boom) }}
	_, err = p.Prove(t.Context(), list(c), nil)
	require.ErrorContains(t, err, "boom")
	_, err = p.Prove(t.Context(), list(v.Circuit, (*altered)(nil)), nil)
	require.ErrorContains(t, err, "circuit 1 is nil")
	_, err = p.Prove(t.Context(), list(v.Circuit, nil), nil)
	require.ErrorContains(t, err, "circuit 1 is nil")
}

func TestBackends(t *testing.T) {
	v := enginetest.Small(t, "cubic")
	key, system := openKey(t, v.ParamsFile(t)), v.System(t)
	_, err := NewProver(t.Context(), key, system, &ProverOptions{Backend: BackendGPU})
	require.ErrorIs(t, err, device.ErrNoDriver)
	_, err = NewProver(t.Context(), key, system, &ProverOptions{Backend: BackendGPU, Device: device.CPU()})
	require.ErrorContains(t, err, "option Device")
	_, err = NewProver(t.Context(), key, system, &ProverOptions{Backend: 9})
	require.ErrorContains(t, err, "option Backend")

	var log bytes.Buffer
	p := newProver(t, key, system, &ProverOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.True(t, p.Device().Info().IsCPU())
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("level=WARN")))
	require.Equal(t, "auto gpu cpu backend 7", BackendAuto.String()+" "+BackendGPU.String()+" "+BackendCPU.String()+" "+Backend(7).String())
}

func TestHooks(t *testing.T) {
	v, p := smallProver(t, "feistel", onCPU)
	var starts, ends []PhaseInfo
	var last, total uint64
	hooks := &Hooks{
		PhaseStart: func(i PhaseInfo) { starts = append(starts, i) },
		PhaseEnd:   func(i PhaseInfo, err error) { require.NoError(t, err); ends = append(ends, i) },
		Progress: func(done, n uint64) {
			require.Greater(t, done, last)
			last, total = done, n
		},
	}
	_, err := p.Prove(t.Context(), list(v.Circuit, v.Circuit), &ProveOptions{Hooks: hooks})
	require.NoError(t, err)
	require.Len(t, starts, 11)
	require.ElementsMatch(t, starts, ends)
	require.Equal(t, PhaseInfo{PhaseVerify, "feistel", -1, 2}, ends[10])
	require.Equal(t, total, last)
	require.Positive(t, total)
	// Each partition goes through the phases in order.
	var phases []Phase
	for _, i := range starts {
		if i.Partition == 1 {
			phases = append(phases, i.Phase)
		}
	}
	require.Equal(t, []Phase{PhaseWitness, PhaseAssign, PhaseQuotient, PhaseSums, PhaseAssemble}, phases)
}

func TestHookThatPanics(t *testing.T) {
	v, p := smallProver(t, "cubic", onCPU)
	before := runtime.NumGoroutine()
	require.PanicsWithValue(t, "mine", func() {
		_, _ = p.Prove(t.Context(), list(v.Circuit), &ProveOptions{Hooks: &Hooks{PhaseEnd: func(PhaseInfo, error) { panic("mine") }}})
	})
	requireGoroutines(t, before)
	_, err := p.Prove(t.Context(), list(v.Circuit), nil)
	require.NoError(t, err)
}

func requireGoroutines(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > n && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), n, "goroutines left")
}

// Ending the context at the edge of any phase ends the call with its cause; the prover works afterwards.
func TestCancelAtEveryPhase(t *testing.T) {
	v, p := smallProver(t, "cubic", onCPU)
	before := runtime.NumGoroutine()
	for n := range 22 {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := 0
		count := func() {
			if seen == n {
				cancel(cause)
			}
			seen++
		}
		hooks := &Hooks{PhaseStart: func(PhaseInfo) { count() }, PhaseEnd: func(PhaseInfo, error) { count() }}
		r, err := p.Prove(ctx, list(v.Circuit, v.Circuit), &ProveOptions{Hooks: hooks})
		if n < 20 {
			require.ErrorIs(t, err, cause, "event %d", n)
			require.Nil(t, r.Bytes())
		}
		cancel(nil)
	}
	requireGoroutines(t, before)
	_, err := p.Prove(t.Context(), list(v.Circuit), nil)
	require.NoError(t, err)
}

func TestCloseDuringProve(t *testing.T) {
	v := enginetest.Small(t, "sparse")
	p, err := NewProver(t.Context(), openKey(t, v.ParamsFile(t)), v.System(t), onCPU)
	require.NoError(t, err)
	many := make([]circuits.Circuit, 200)
	for i := range many {
		many[i] = v.Circuit
	}
	started := make(chan struct{})
	var once sync.Once
	done := make(chan error)
	go func() {
		_, err := p.Prove(context.Background(), many, &ProveOptions{Hooks: &Hooks{PhaseEnd: func(PhaseInfo, error) { once.Do(func() { close(started) }) }}})
		done <- err
	}()
	<-started
	require.NoError(t, p.Close())
	require.ErrorIs(t, <-done, device.ErrClosed)
	require.NoError(t, p.Close())
	_, err = p.Prove(t.Context(), list(v.Circuit), nil)
	require.ErrorIs(t, err, device.ErrClosed)
}

func TestConcurrentProve(t *testing.T) {
	v, p := smallProver(t, "cubic", onCPU)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			o := &ProveOptions{Check: i%2 == 0}
			if i%3 == 0 {
				o.Hooks = &Hooks{Progress: func(uint64, uint64) {}}
			}
			_, errs[i] = p.Prove(t.Context(), list(v.Circuit), o)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}
