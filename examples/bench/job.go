package main

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/pce"
)

// input is what a proof is made from, a statement with its vanilla proofs.
type input interface {
	circuit() circuitParams
	// proofName is the name of the registered proof.
	proofName() string
	partitions() int
	// publicInputs are those of each partition, from chain values.
	publicInputs() ([][]fr.Element, error)
	// check checks natively all that the circuits will assert.
	check(ctx context.Context) error
	circuits() ([]circuits.Circuit, error)
	// witness makes the witness of a partition and checks on the way.
	witness(ctx context.Context, k int, o *pce.WitnessOptions) (*pce.Witness, error)
}

// porepInput is a phase-1 output.
type porepInput struct {
	c1     *porep.C1
	sector *sectorFlags // what it is bound to; may be nil
}

func (p *porepInput) circuit() circuitParams                { return p.c1.Params }
func (p *porepInput) proofName() string                     { return p.c1.Proof.String() }
func (p *porepInput) partitions() int                       { return p.c1.Params.Partitions }
func (p *porepInput) publicInputs() ([][]fr.Element, error) { return p.sector.publicInputs(p.c1) }
func (p *porepInput) check(ctx context.Context) error       { return p.c1.Check(ctx, 0) }

func (p *porepInput) circuits() ([]circuits.Circuit, error) {
	list, err := p.c1.Circuits()
	return listOf(list), err
}

func (p *porepInput) witness(ctx context.Context, k int, o *pce.WitnessOptions) (*pce.Witness, error) {
	return p.c1.Witness(ctx, k, o)
}

// listOf is a list of circuits of one kind.
func listOf[C circuits.Circuit](from []C) []circuits.Circuit {
	list := make([]circuits.Circuit, len(from))
	for i, c := range from {
		list[i] = c
	}
	return list
}

// checkStatement refuses, before anything takes time, what no proof can be about, and vanilla proofs that are too few or too many.
func checkStatement(in input) error {
	if _, err := in.publicInputs(); err != nil {
		return err
	}
	_, err := in.circuits()
	return err
}
