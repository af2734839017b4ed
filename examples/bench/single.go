package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

// singleReport is what single prints with --json. Times are in milliseconds; those within prove are summed over partitions.
type singleReport struct {
	Circuit         string             `json:"circuit"`
	RegisteredProof string             `json:"registered_proof"`
	Partitions      int                `json:"partitions"`
	Backend         string             `json:"backend"`
	Device          string             `json:"device,omitempty"`
	PCE             bool               `json:"pce"`
	TestParameters  bool               `json:"test_parameters"`
	Phases          map[string]float64 `json:"phases_ms"`
	Prove           map[string]float64 `json:"prove_ms"`
	RunsMS          []float64          `json:"runs_ms"`
	RunsMemory      []memoryAfter      `json:"runs_memory"`
	TotalMS         float64            `json:"total_ms"`
	PeakRSSBytes    int64              `json:"peak_rss_bytes"`
	ProofBytes      int                `json:"proof_bytes"`
	Proof           string             `json:"proof"`
	Completed       bool               `json:"completed"`
	Verified        bool               `json:"verified"`
}

// memoryAfter is what the process holds after a proof, in bytes; what is not known is 0.
type memoryAfter struct {
	RSSAnonymous int64 `json:"rss_anonymous"`
	Device       int64 `json:"device"` // of the GPU, context and kernels included
	Pinned       int64 `json:"pinned"` // page-locked
}

// maxMemoryMiB is the most that can be said in bytes.
const maxMemoryMiB = math.MaxInt64 >> 20

// singleJob is one run of single.
type singleJob struct {
	e               *env
	source          source
	paramsDir       string
	cache           string
	json            bool
	backendName     string
	deviceName      string
	memoryMiB       int64
	repeat          int
	prover          groth16.ProverOptions
	phases          *phases
	input           input
	system          *pce.System // nil without PCE
	key             *groth16.ProvingKey
	report          singleReport
	statementInputs [][]fr.Element
}

func single(ctx context.Context, e *env, args []string) error {
	f, j := newSingle(e)
	if err := f.parse(args, 0); err != nil {
		return err
	}
	if err := j.check(f); err != nil {
		return err
	}
	if j.deviceName != "" {
		d, err := device.Open(j.deviceName, &device.Options{MemoryLimit: j.memoryMiB << 20})
		if err != nil {
			return err
		}
		defer d.Close()
		j.prover.Device = d
	}
	j.phases = newPhases(e, j.json)
	return j.run(ctx)
}

// newSingle declares the flags of single.
func newSingle(e *env) (*flags, *singleJob) {
	f := newFlags(e, "single")
	j := &singleJob{e: e, source: f.addSource(f.addSector())}
	f.StringVar(&j.paramsDir, "params", "", "folder with the parameters, under the reference's names or as setup writes them; by default test parameters in the cache folder, made if missing")
	f.StringVar(&j.cache, "cache", "", "folder for constraint systems and test parameters; by default cuzk in the user's cache folder")
	f.BoolVar(&j.prover.DisablePCE, "disable-pce", false, "evaluate rows during synthesis, without a recorded constraint system")
	f.StringVar(&j.backendName, "backend", "auto", "where to prove: auto, cpu, gpu")
	f.addDevice(&j.deviceName, oneDevice)
	f.Int64Var(&j.memoryMiB, "memory-mib", 0, "the most memory of the GPU to take, context and kernels included, in MiB; needs --device")
	f.IntVar(&j.repeat, "repeat", 1, "prove so many times with the same prover; the figures are those of the last")
	f.BoolVar(&j.json, "json", false, "print one line of JSON")
	return f, j
}

// check refuses flags that make no sense, alone or together, and sets what follows from them.
func (j *singleJob) check(f *flags) (err error) {
	if err := j.source.check(); err != nil {
		return err
	}
	if j.prover.Backend, err = parseBackend(f, j.backendName); err != nil {
		return err
	}
	onCPU := j.prover.Backend == groth16.BackendCPU
	noCache := j.prover.DisablePCE && j.paramsDir != "" // neither constraint system nor parameters are kept
	err = f.refuseUnused(
		rule{"device", !onCPU, "--backend cpu"}, rule{"memory-mib", !onCPU, "--backend cpu"},
		rule{"cache", !noCache, "--params and --disable-pce"},
	)
	if err != nil {
		return err
	}
	if j.cache, err = cacheFolder(j.cache); err != nil {
		return err
	}
	if j.repeat < 1 {
		return usagef("%s: --repeat is %d, want 1 or more", f.Name(), j.repeat)
	}
	if f.given("memory-mib") && j.deviceName == "" {
		return usagef("%s: --memory-mib needs --device", f.Name())
	}
	if f.given("memory-mib") && (j.memoryMiB < 1 || j.memoryMiB > maxMemoryMiB) {
		return usagef("%s: --memory-mib is %d, want 1 to %d", f.Name(), j.memoryMiB, maxMemoryMiB)
	}
	return nil
}

func parseBackend(f *flags, name string) (groth16.Backend, error) {
	for _, b := range []groth16.Backend{groth16.BackendAuto, groth16.BackendCPU, groth16.BackendGPU} {
		if b.String() == name {
			return b, nil
		}
	}
	return 0, usagef("%s: --backend is %q, want auto, cpu, gpu", f.Name(), name)
}

func (j *singleJob) run(ctx context.Context) error {
	if err := j.readInput(ctx); err != nil {
		return err
	}
	if err := j.openKey(ctx); err != nil {
		return err
	}
	defer j.key.Close()
	proof, err := j.prove(ctx)
	if err != nil {
		return err
	}
	if err := j.phases.run("verify again", func() error { return j.verify(ctx, proof) }); err != nil {
		return err
	}
	return j.finish(proof)
}

// readInput decodes the input and checks what it says without a circuit.
func (j *singleJob) readInput(ctx context.Context) error {
	err := j.phases.run("decode", func() (err error) {
		j.input, err = j.source.read(ctx)
		return err
	})
	if err != nil {
		return err
	}
	j.report = singleReport{
		Circuit: j.input.circuit().Name(), RegisteredProof: j.input.proofName(),
		PCE: !j.prover.DisablePCE, Phases: j.phases.ms, Prove: map[string]float64{},
	}
	return j.phases.run("check", func() (err error) {
		if j.statementInputs, err = j.input.publicInputs(); err != nil {
			return fmt.Errorf("%s: %w", j.source.name(), err)
		}
		j.report.Partitions = len(j.statementInputs)
		if err := j.input.check(ctx); err != nil {
			return fmt.Errorf("%s: %w", j.source.name(), err)
		}
		return nil
	})
}

// openKey opens the parameters, and the constraint system where it is needed.
func (j *singleJob) openKey(ctx context.Context) error {
	dir := j.paramsDir
	if dir == "" {
		dir = j.cache
	}
	files, err := findKey(dir, j.input.circuit())
	missing := errors.Is(err, fs.ErrNotExist) && j.paramsDir == ""
	if err != nil && !missing {
		return err
	}
	if missing || !j.prover.DisablePCE {
		err := j.phases.run("system", func() (err error) {
			j.system, err = openSystem(ctx, j.e, j.cache, blankOf(j.input.circuit()))
			return err
		})
		if err != nil {
			return err
		}
	}
	if missing {
		if rows := j.system.Counts().Rows; rows > maxTestRows {
			return fmt.Errorf("no parameters for %s: %d rows are too many to make test parameters on the way; give --params", j.system.Name(), rows)
		}
		err := j.phases.run("make test parameters", func() (err error) {
			o := groth16.TestKeyOptions{Backend: j.prover.Backend, Device: j.prover.Device}
			files, err = makeKey(ctx, j.e, dir, j.system, o)
			return err
		})
		if err != nil {
			return err
		}
	}
	if j.prover.DisablePCE {
		j.system = nil
	}
	j.report.TestParameters = files.test
	if files.test {
		j.e.notef("using INSECURE test parameters %s", files.params)
	}
	return j.phases.run("open parameters", func() (err error) {
		j.key, err = files.open(ctx)
		return err
	})
}

// prove makes the proofs of all partitions, verified by the prover against the statement of the circuits.
func (j *singleJob) prove(ctx context.Context) (proof []byte, err error) {
	list, err := j.input.circuits()
	if err != nil {
		return nil, err
	}
	var prover groth16.Prover
	err = j.phases.run("open prover", func() (err error) {
		prover, err = groth16.NewProver(ctx, j.key, j.system, &j.prover)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer prover.Close()

	var result *groth16.Result
	for range j.repeat {
		if result, err = j.proveOnce(ctx, prover, list); err != nil {
			return nil, err
		}
	}
	j.report.Backend, j.report.Device = result.Partitions[0].Backend.String(), prover.Device().Info().UUID
	for _, p := range result.Partitions {
		j.addStats(&p.Stats)
	}
	j.report.Prove["verify"] = milliseconds(result.Partitions[0].Stats.Verify) // of all partitions at once
	return result.Bytes(), nil
}

func (j *singleJob) proveOnce(ctx context.Context, prover groth16.Prover, list []circuits.Circuit) (result *groth16.Result, err error) {
	bar := newProgress(j.e.stderr, "proof")
	start := time.Now()
	err = j.phases.run("prove", func() (err error) {
		result, err = prover.Prove(ctx, list, &groth16.ProveOptions{Hooks: &groth16.Hooks{
			Progress: func(done, total uint64) { bar.set(int64(done), int64(total)) },
		}})
		bar.end()
		return err
	})
	j.report.RunsMS = append(j.report.RunsMS, milliseconds(time.Since(start)))
	stats := prover.Device().Stats()
	j.report.RunsMemory = append(j.report.RunsMemory, memoryAfter{anonymousRSS(), stats.ProcessBytes, stats.PinnedBytes})
	return result, err
}

func (j *singleJob) addStats(s *groth16.Stats) {
	for _, x := range []struct {
		name string
		took time.Duration
	}{{"witness", s.Witness}, {"assign", s.Assign}, {"quotient", s.Quotient}, {"sums", s.Sums}, {"assemble", s.Assemble},
		{"gpu assign", s.Device.Assign}, {"gpu quotient", s.Device.Quotient}, {"gpu sums", s.Device.Sums}} {
		j.report.Prove[x.name] += milliseconds(x.took)
	}
}

// verify reads the proof back and checks it against the public inputs of the statement.
func (j *singleJob) verify(ctx context.Context, proof []byte) error {
	proofs, err := groth16.ParseProofs(proof)
	if err != nil {
		return err
	}
	return groth16.VerifyBatch(ctx, j.key.VerifyingKey(), proofs, j.statementInputs, nil)
}

// finish prints what is known only at the end. It is reached with a verified proof only.
func (j *singleJob) finish(proof []byte) error {
	r := &j.report
	r.TotalMS = milliseconds(time.Since(j.phases.start))
	r.PeakRSSBytes = peakRSS()
	r.ProofBytes, r.Proof = len(proof), hex.EncodeToString(proof)
	r.Completed, r.Verified = true, true
	if j.json {
		return j.e.jsonLine(r)
	}
	for _, name := range []string{"witness", "assign", "quotient", "sums", "assemble", "verify"} {
		j.e.printf("  prove: %-11s %10s\n", name, seconds(time.Duration(r.Prove[name]*1e6)))
	}
	j.e.printf("%-20s %10s\n", "total", seconds(time.Duration(r.TotalMS*1e6)))
	j.e.printf("peak memory          %s\n", mebibytes(r.PeakRSSBytes))
	j.e.printf("circuit              %s, %s, partitions: %d, backend: %s\n", r.Circuit, r.RegisteredProof, r.Partitions, r.Backend)
	j.e.printf("proof                %d bytes\n%s\n", r.ProofBytes, r.Proof)
	j.e.printf("verified             true\nCOMPLETED\n")
	return nil
}
