package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/groth16"
)

// verify prints true or false. Whatever keeps it from a verdict ends with a code of its own.
func verify(ctx context.Context, e *env, args []string) error {
	err := verdict(ctx, e, args)
	var exit *exitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	return &exitError{exitNoVerdict, err}
}

func verdict(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "verify")
	v := verification{
		sector:    f.addSector(),
		kind:      f.addType(),
		c1:        f.String("c1", "", "of a porep: phase-1 output that the proof was made from"),
		statement: f.String("statement", "", "JSON file with the statement: of a porep registered_proof, miner_actor, sector_id, ticket, seed, comm_r, comm_d; of other types the file that the proof was made from"),
	}
	vkPath := f.String("vk", "", "verifying key")
	proofPath := f.String("proof", "", "proof: 192 bytes a partition, raw or as hex")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	if err := v.check(f); err != nil {
		return err
	}
	read, err := v.reader(ctx)
	if err != nil {
		return err
	}
	vk, err := groth16.OpenVerifyingKey(*vkPath)
	if err != nil {
		return err
	}
	proof, err := readProof(*proofPath)
	if err != nil {
		return err
	}
	start := time.Now()
	ok, err := read(vk, proof)
	if err != nil {
		return fmt.Errorf("%s: %w", *proofPath, err)
	}
	took := seconds(time.Since(start))
	e.printf("%t\n", ok)
	e.notef("verified in %s", took)
	if !ok {
		return &exitError{exitFailed, nil}
	}
	return nil
}

// verification says which statement a proof is verified against.
type verification struct {
	sector              *sectorFlags
	kind, c1, statement *string
}

func (v verification) check(f *flags) error {
	if err := f.checkKind(); err != nil {
		return err
	}
	if err := f.require("vk", "proof"); err != nil {
		return err
	}
	if *v.kind != kindPoRep && (f.given("c1") || f.given("miner")) {
		return usagef("verify: --c1 and --miner are for --type %s", kindPoRep)
	}
	if (*v.c1 == "") == (*v.statement == "") {
		return usagef("verify: give either --c1 or --statement")
	}
	if *v.statement != "" && v.sector.given("miner") {
		return usagef("verify: --miner is for --c1; a statement names its miner")
	}
	return v.sector.check()
}

// verifier gives the verdict on a proof of one statement.
type verifier func(vk *groth16.VerifyingKey, proof []byte) (bool, error)

// reader reads the statement and refuses one that no proof can have.
func (v verification) reader(ctx context.Context) (verifier, error) {
	if *v.c1 != "" {
		return v.phase1(ctx)
	}
	switch *v.kind {
	case kindPoRep:
		return v.seal(ctx)
	case kindWinningPoSt:
		return v.post(ctx, cuzk.VerifyWinningPoSt)
	case kindWindowPoSt:
		return v.post(ctx, cuzk.VerifyWindowPoSt)
	}
	return v.update(ctx)
}

func (v verification) seal(ctx context.Context) (verifier, error) {
	s, err := readStatement(ctx, *v.statement)
	if err != nil {
		return nil, err
	}
	return func(vk *groth16.VerifyingKey, proof []byte) (bool, error) {
		return cuzk.VerifySeal(ctx, vk, s, proof)
	}, v.located(s.Validate())
}

func (v verification) post(ctx context.Context,
	verify func(context.Context, *groth16.VerifyingKey, *post.Statement, []byte) (bool, error)) (verifier, error) {
	d, err := readPoStFile(ctx, *v.statement, *v.kind, toVerify)
	if err != nil {
		return nil, err
	}
	s := &d.statement
	return func(vk *groth16.VerifyingKey, proof []byte) (bool, error) {
		return verify(ctx, vk, s, proof)
	}, v.located(s.Normalized().Validate())
}

func (v verification) update(ctx context.Context) (verifier, error) {
	d, err := readUpdateFile(ctx, *v.statement, *v.kind, toVerify)
	if err != nil {
		return nil, err
	}
	s := &d.statement
	return func(vk *groth16.VerifyingKey, proof []byte) (bool, error) {
		return cuzk.VerifyUpdate(ctx, vk, s, proof)
	}, v.located(s.Validate())
}

// located names the file of an error about a statement.
func (v verification) located(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", *v.statement, err)
	}
	return err
}

// phase1 takes the statement from a phase-1 output, which has no sector unless the flags name it.
func (v verification) phase1(ctx context.Context) (verifier, error) {
	c1, err := readC1(ctx, *v.c1)
	if err != nil {
		return nil, err
	}
	inputs, err := v.sector.publicInputs(c1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", *v.c1, err)
	}
	return func(vk *groth16.VerifyingKey, proof []byte) (bool, error) {
		proofs, err := groth16.ParseProofs(proof)
		if err != nil {
			return false, err
		}
		if len(proofs) != len(inputs) {
			return false, fmt.Errorf("%d proofs, want %d, one a partition", len(proofs), len(inputs))
		}
		err = groth16.VerifyBatch(ctx, vk, proofs, inputs, nil)
		if errors.Is(err, groth16.ErrInvalidProof) {
			return false, nil
		}
		return err == nil, err
	}, nil
}

// readProof reads a file of proofs, raw or as hex digits with white space around them.
func readProof(path string) ([]byte, error) {
	b, err := readSmall(path)
	if err != nil {
		return nil, err
	}
	if text := bytes.TrimSpace(b); isHex(text) {
		if b, err = hex.DecodeString(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return b, nil
}

func isHex(text []byte) bool {
	return len(text) > 0 && len(bytes.Trim(text, "0123456789abcdefABCDEF")) == 0
}
