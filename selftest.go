package cuzk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

// SelfTestReport says what an Engine's devices can do.
type SelfTestReport struct {
	Devices []DeviceReport // in the order of the options
}

// DeviceReport is the self-test of one device.
type DeviceReport struct {
	Info       device.Info
	Backend    groth16.Backend // what was tested: BackendGPU or BackendCPU
	Took       time.Duration   // for the proof, with all that is loaded for it
	Capability string          // what the device is and how much it can hold, in words
	Err        error           // nil if the device made a proof that holds
}

// errSelfTest reports a device that did something else than it was asked for.
var errSelfTest = errors.New("wrong result")

// selfTest makes a key for a small circuit, proves on the device and verifies: the proof must hold, must not hold for
// another statement, and must have been made where it was asked for. It takes some 0.2 s of processor time, and on a GPU
// the time to load the kernels. The key is made by the processor, in a temporary file.
func selfTest(ctx context.Context, d device.Device, backend groth16.Backend, log *slog.Logger) DeviceReport {
	r := DeviceReport{Info: d.Info(), Backend: backend}
	if err := r.run(ctx, d, log); err != nil {
		r.Err = fmt.Errorf("cuzk: self-test of %s %s: %w", r.Info.Name, r.Info.UUID, err)
	}
	r.Capability = capability(d)
	return r
}

// run makes the key and the proof.
func (r *DeviceReport) run(ctx context.Context, d device.Device, log *slog.Logger) (err error) {
	c := newTestCircuit()
	system, err := pce.Record(ctx, c.Name(), c.Synthesize, nil)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cuzk-self-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	key, err := writeKey(ctx, filepath.Join(dir, "key"), system)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, key.Close()) }()

	launches := d.Stats().Launches
	start := time.Now()
	result, err := proveOnce(ctx, key, system, c, &groth16.ProverOptions{Backend: r.Backend, Device: d, Logger: log})
	r.Took = time.Since(start)
	if err != nil {
		return err
	}
	if p := &result.Partitions[0]; p.Backend != r.Backend || p.Device != r.Info {
		return fmt.Errorf("%w: the proof was made by %v on %s %s", errSelfTest, p.Backend, p.Device.Name, p.Device.UUID)
	}
	if r.Backend == groth16.BackendGPU && d.Stats().Launches == launches {
		return fmt.Errorf("%w: there is a proof, but nothing ran on the GPU", errSelfTest)
	}
	return verifyBoth(key.VerifyingKey(), result.Proofs[0], c)
}

// writeKey makes a key for tests and opens it.
func writeKey(ctx context.Context, path string, system *pce.System) (*groth16.ProvingKey, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	_, err = groth16.WriteTestParams(ctx, f, system, &groth16.TestKeyOptions{Backend: groth16.BackendCPU})
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return groth16.OpenProvingKey(path)
}

// proveOnce makes one proof with a prover of its own.
func proveOnce(
	ctx context.Context, key *groth16.ProvingKey, system *pce.System, c circuits.Circuit, o *groth16.ProverOptions,
) (*groth16.Result, error) {
	p, err := groth16.NewProver(ctx, key, system, o)
	if err != nil {
		return nil, err
	}
	result, err := p.Prove(ctx, []circuits.Circuit{c}, nil)
	return result, errors.Join(err, p.Close())
}

// verifyBoth requires the proof to hold for the statement and not to hold for another.
func verifyBoth(vk *groth16.VerifyingKey, proof groth16.Proof, c circuits.Circuit) error {
	inputs, err := c.PublicInputs()
	if err != nil {
		return err
	}
	if err := groth16.Verify(vk, proof, inputs); err != nil {
		return err
	}
	inputs[0].Double(&inputs[0])
	if err := groth16.Verify(vk, proof, inputs); !errors.Is(err, groth16.ErrInvalidProof) {
		return fmt.Errorf("%w: the proof of another statement verifies as %v", errSelfTest, err)
	}
	return nil
}

// capability says what a device is and how much it can hold.
func capability(d device.Device) string {
	i := d.Info()
	if i.IsCPU() {
		return fmt.Sprintf("processor, %s/%s, %d threads", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	}
	gib := func(n int64) float64 { return float64(n) / (1 << 30) }
	s := fmt.Sprintf("%s, compute capability %d.%d, %d multiprocessors, CUDA %s, driver %s, %.1f GiB of memory",
		i.Name, i.Capability[0], i.Capability[1], i.Multiprocessors, i.CUDA, i.Driver, gib(i.MemoryBytes))
	if limit := d.Stats().LimitBytes; limit > 0 { // known after the first promise
		s += fmt.Sprintf(", %.1f GiB of it for keys and proofs", gib(limit))
	}
	return s
}

// testCircuit is the statement "I know a number and two words such that four rounds of x ← x⁵ + 7 and an exclusive or
// lead to these values". It has bits and other variables in A, B and C, and rows in blocks, so every part of a prover
// has work.
type testCircuit struct {
	x    fr.Element
	u, v uint32
}

const testRounds = 4

func newTestCircuit() *testCircuit {
	return &testCircuit{x: fr.NewElement(3), u: 0x9e3779b9, v: 0x7f4a7c15}
}

// Name implements circuits.Circuit.
func (c *testCircuit) Name() string { return "self-test" }

// PublicInputs implements circuits.Circuit.
func (c *testCircuit) PublicInputs() ([]fr.Element, error) {
	x, seven := c.x, fr.NewElement(7)
	for range testRounds {
		var y fr.Element
		y.Square(&x)
		y.Square(&y)
		x.Mul(&x, &y)
		x.Add(&x, &seven)
	}
	return []fr.Element{x, fr.NewElement(uint64(c.u ^ c.v))}, nil
}

// Synthesize implements circuits.Circuit.
func (c *testCircuit) Synthesize(b pce.Builder) error {
	seven := fr.NewElement(7)
	x := b.Alloc(c.x)
	for range testRounds {
		x = b.Block("round", []pce.Arg{x}, func(b pce.Builder, in []pce.Arg) []pce.Arg {
			return []pce.Arg{b.SBox(in[0].(pce.Num), nil, &seven)}
		})[0].(pce.Num)
	}
	b.Inputize(x)
	w := b.Xor(b.AllocWord(c.u), b.AllocWord(c.v))
	bits := make([]pce.Bit, 32)
	for i := range bits {
		bits[i] = w.Bit(i)
	}
	b.PackInput(bits)
	return nil
}
