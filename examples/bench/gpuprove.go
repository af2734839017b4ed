package main

import (
	"context"
	"errors"
	"math/big"
	"time"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/engine"
	enginegpu "github.com/gocuzk/cuzk/internal/engine/gpu"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
)

// proveRun is what only lines of prove have. A proof's time on the GPU is the sum of its three steps.
type proveRun struct {
	Rows        int     `json:"rows"`
	KeyBytes    int64   `json:"key_bytes"`
	Key         string  `json:"key"`      // where it is: ordinary, locked or streamed
	RowsIn      string  `json:"rows_in"`  // where the rows are: ordinary or locked
	Streamed    bool    `json:"streamed"` // some of the key is brought to the GPU in each proof
	MemoryLimit uint64  `json:"memory_limit,omitempty"`
	FirstMS     float64 `json:"key_loaded_and_first_proof_ms"`
	AssignMS    float64 `json:"assign_ms"` // of the last proof, as the two below
	QuotientMS  float64 `json:"quotient_ms"`
	SumsMS      float64 `json:"sums_ms"`
}

// prove measures whole proofs by the engine, from evaluated rows and a packed witness in memory to the proof.
func (b *gpuBench) prove(ctx context.Context) error {
	for _, log := range b.flags.logs.logs {
		if err := b.measureProve(ctx, log); err != nil {
			return err
		}
	}
	return nil
}

func (b *gpuBench) measureProve(ctx context.Context, log int) (err error) {
	c, err := newProveCase(ctx, log)
	if err != nil {
		return err
	}
	path, err := c.writeKey(ctx, *b.flags.folder)
	if path != "" {
		defer func() { err = errors.Join(err, removeFile(path)) }()
	}
	if err != nil {
		return err
	}
	want, hOK, err := b.expectProof(ctx, c)
	if err != nil {
		return err
	}
	if err := b.release(); err != nil {
		return err
	}
	if err := b.withKey(ctx, path, func(key *srs.Key) error {
		return b.withRows(c, func() error { return b.proveWith(ctx, c, key, want, hOK) })
	}); err != nil {
		return err
	}
	return b.reserve()
}

// withKey opens the key where the flags want it.
func (b *gpuBench) withKey(ctx context.Context, path string, use func(*srs.Key) error) (err error) {
	key, err := srs.Open(path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	if *b.flags.key != inLocked {
		return use(key)
	}
	memory, err := gpu.AllocPinned[byte](b.device, int(key.Bytes()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	held, err := key.CopyTo(ctx, memory.Slice(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	return use(held)
}

// withRows puts the rows where the flags want them, for as long as use runs.
func (b *gpuBench) withRows(c *proveCase, use func() error) (err error) {
	if *b.flags.rows != inLocked {
		return use()
	}
	n := len(c.rows.a)
	memory, err := gpu.AllocPinned[fr.Element](b.device, 3*n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	ordinary := c.rows
	defer func() { c.rows = ordinary }()
	all := memory.Slice()
	c.rows = &proveRows{a: all[:n:n], b: all[n : 2*n : 2*n], c: all[2*n:]}
	copy(c.rows.a, ordinary.a)
	copy(c.rows.b, ordinary.b)
	copy(c.rows.c, ordinary.c)
	return use()
}

// newEngine is an engine that keeps the key where the flags want it.
func (b *gpuBench) newEngine(c *proveCase) (engine.Engine, error) {
	if *b.flags.key == inMemory {
		return enginegpu.New(b.device)
	}
	return enginegpu.NewStreaming(b.device, int(unsafe.Sizeof(bls12381.G1Affine{}))<<c.log) // a section, if that is little
}

// expectProof is the proof in closed form, with the quotient of the GPU, and whether that is right.
func (b *gpuBench) expectProof(ctx context.Context, c *proveCase) (want proofPoints, ok bool, err error) {
	err = b.scoped(func() error {
		tables, err := kernels.NewNTT(b.lib, b.stream, b.arena)
		if err != nil {
			return err
		}
		v, err := b.uploadRows(c.rows, c.log)
		if err != nil {
			return err
		}
		h, right, err := b.quotientOf(ctx, tables, c.rows, c.log, v)
		if err != nil {
			return err
		}
		ok = right
		want, err = c.closedForm(ctx, h)
		return err
	})
	return want, ok, err
}

// proveWith makes proofs and prints the line.
func (b *gpuBench) proveWith(ctx context.Context, c *proveCase, key *srs.Key, want proofPoints, ok bool) (err error) {
	e, err := b.newEngine(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	loaded, err := e.Load(ctx, nil, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loaded.Close()) }()

	run := proveRun{
		Rows: len(c.rows.a), KeyBytes: key.Bytes(), MemoryLimit: *b.flags.memory, Key: *b.flags.key, RowsIn: *b.flags.rows,
	}
	line := gpuLine{Log: &c.log, Check: want.hex(), CheckOK: ok, proveRun: &run}
	var samples []sample
	for i := range 1 + *b.flags.warm + *b.flags.runs {
		proof, s, times, err := c.prove(ctx, loaded, key.VerifyingKey())
		if err != nil {
			return err
		}
		if i == 0 {
			run.FirstMS = milliseconds(s.wall)
			line.Check = proof.hex()
		} else if i > *b.flags.warm {
			samples = append(samples, s)
		}
		line.CheckOK = line.CheckOK && proof == want
		run.AssignMS, run.QuotientMS = milliseconds(times.Assign), milliseconds(times.Quotient)
		run.SumsMS, run.Streamed = milliseconds(times.Sums), loaded.Memory().Streamed
	}
	return b.print(line, 0, samples)
}

// prove makes one proof.
func (c *proveCase) prove(ctx context.Context, loaded engine.Loaded, vk *srs.VerifyingKey) (p proofPoints, s sample,
	t engine.Times, err error) {
	begin := time.Now()
	a, err := loaded.AssignRows(ctx, c.witness, c.assigned())
	if err != nil {
		return p, s, t, err
	}
	defer a.Release()
	h, err := loaded.Quotient(ctx, a, nil)
	if err != nil {
		return p, s, t, err
	}
	defer h.Release()
	sums, err := loaded.Sums(ctx, a, h, nil)
	if err != nil {
		return p, s, t, err
	}
	p = c.assemble(vk, sums)
	s.wall = time.Since(begin)
	t = a.Times()
	s.card = t.Assign + t.Quotient + t.Sums
	return p, s, t, nil
}

// assemble makes the proof from the sums:
//
//	A = α + ΣA + r·δ
//	B = β + ΣB + s·δ
//	C = ΣL + ΣH + s·A + r·B − r·s·δ
func (c *proveCase) assemble(vk *srs.VerifyingKey, sums *engine.PartialSums) proofPoints {
	r, s := c.r.BigInt(new(big.Int)), c.s.BigInt(new(big.Int))
	var a, b1, out, delta, t bls12381.G1Jac
	delta.FromAffine(&vk.DeltaG1)
	a.ScalarMultiplication(&delta, r).AddMixed(&vk.AlphaG1).AddMixed(&sums.A)
	b1.FromAffine(&vk.BetaG1).AddMixed(&sums.B1) // B in G1 without s·δ, so that r·s·δ need not be taken away
	out.FromAffine(&sums.L).AddMixed(&sums.H)
	out.AddAssign(t.ScalarMultiplication(&a, s)).AddAssign(t.ScalarMultiplication(&b1, r))

	var b2 bls12381.G2Jac
	b2.FromAffine(&vk.DeltaG2)
	b2.ScalarMultiplication(&b2, s).AddMixed(&vk.BetaG2).AddMixed(&sums.B2)
	var p proofPoints
	p.a.FromJacobian(&a)
	p.b.FromJacobian(&b2)
	p.c.FromJacobian(&out)
	return p
}
