package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

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
	f.String("type", "", "kind of proof: porep")
	sector := f.addSector()
	c1Path := f.String("c1", "", "phase-1 output that the proof was made from")
	statementPath := f.String("statement", "", "JSON file with the statement: registered_proof, miner_actor, sector_id, ticket, seed, comm_r, comm_d")
	vkPath := f.String("vk", "", "verifying key")
	proofPath := f.String("proof", "", "proof: 192 bytes a partition, raw or as hex")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	if err := f.checkKind(); err != nil {
		return err
	}
	if err := f.require("vk", "proof"); err != nil {
		return err
	}
	if (*c1Path == "") == (*statementPath == "") {
		return usagef("verify: give either --c1 or --statement")
	}
	if err := sector.check(); err != nil {
		return err
	}
	inputs, err := statementInputs(ctx, sector, *c1Path, *statementPath)
	if err != nil {
		return err
	}
	vk, err := groth16.OpenVerifyingKey(*vkPath)
	if err != nil {
		return err
	}
	proofs, err := readProofs(*proofPath)
	if err != nil {
		return err
	}
	if len(proofs) != len(inputs) {
		return fmt.Errorf("%s: %d proofs, want %d, one a partition", *proofPath, len(proofs), len(inputs))
	}
	start := time.Now()
	err = groth16.VerifyBatch(ctx, vk, proofs, inputs, nil)
	took := seconds(time.Since(start))
	switch {
	case err == nil:
		e.printf("true\n")
	case errors.Is(err, groth16.ErrInvalidProof):
		e.printf("false\n")
		err = &exitError{exitFailed, nil}
	default:
		return err
	}
	e.notef("verified in %s", took)
	return err
}

// statementInputs are the public inputs of each partition.
func statementInputs(ctx context.Context, sector sectorFlags, c1Path, statementPath string) ([][]fr.Element, error) {
	if c1Path != "" {
		c1, err := readC1(ctx, c1Path)
		if err != nil {
			return nil, err
		}
		inputs, err := sector.publicInputs(c1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c1Path, err)
		}
		return inputs, nil
	}
	if sector.given("miner") {
		return nil, usagef("verify: --miner is for --c1; a statement names its miner")
	}
	statement, err := readStatement(statementPath)
	if err != nil {
		return nil, err
	}
	inputs, err := statement.PublicInputs()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", statementPath, err)
	}
	return inputs, nil
}

// readProofs reads a file of proofs, raw or as hex digits with white space around them.
func readProofs(path string) ([]groth16.Proof, error) {
	b, err := readSmall(path)
	if err != nil {
		return nil, err
	}
	if text := bytes.TrimSpace(b); isHex(text) {
		if b, err = hex.DecodeString(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	proofs, err := groth16.ParseProofs(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return proofs, nil
}

func isHex(text []byte) bool {
	return len(text) > 0 && len(bytes.Trim(text, "0123456789abcdefABCDEF")) == 0
}
