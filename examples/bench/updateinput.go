package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/pce"
)

// updateFile is the input of an empty sector update as JSON. Byte strings are hex in the order of the APIs, vanilla
// proofs base64 of what the reference's API returns, one for each partition. Both variants have the same registered proofs
// here.
type updateFile struct {
	RegisteredProof string   `json:"registered_proof"`
	CommROld        bytes32  `json:"comm_r_old"`
	CommRNew        bytes32  `json:"comm_r_new"`
	CommDNew        bytes32  `json:"comm_d_new"`
	Vanilla         [][]byte `json:"vanilla"` // not needed to verify
}

// updateInput is the statement of an update and the vanilla proof of each partition.
type updateInput struct {
	params    update.Params
	statement *update.Statement
	vanilla   []*update.Vanilla
}

// updateDocument is what an updateFile has: the statement, and the vanilla proofs if there are any.
type updateDocument struct {
	statement update.Statement // its Params are set
	vanilla   [][]byte
}

func readUpdateFile(ctx context.Context, path, kind string, u use) (*updateDocument, error) {
	d := &updateDocument{}
	if err := readJSON(ctx, path, maxInputFile, u, d.read); err != nil {
		return nil, err
	}
	p, err := update.ParamsFor(updateVariant(kind), d.statement.Proof.SectorSize())
	d.statement.Params = &p
	return d, err
}

func (d *updateDocument) read(r *jsonReader) error {
	s := &d.statement
	partition := func(int) error {
		vanilla, err := r.base64()
		d.vanilla = append(d.vanilla, vanilla)
		return err
	}
	return r.object(
		jsonField{"registered_proof", false, proofName(r, &s.Proof, update.ParseRegisteredProof)},
		jsonField{"comm_r_old", false, into(&s.CommROld, r.bytes32)},
		jsonField{"comm_r_new", false, into(&s.CommRNew, r.bytes32)},
		jsonField{"comm_d_new", false, into(&s.CommDNew, r.bytes32)},
		jsonField{"vanilla", r.use == toVerify, func() error { return r.array(maxPartitions, partition) }},
	)
}

func readUpdate(ctx context.Context, path, kind string) (*updateInput, error) {
	d, err := readUpdateFile(ctx, path, kind, toProve)
	if err != nil {
		return nil, err
	}
	p := *d.statement.Params
	vanilla, err := update.DecodeAll(p, d.vanilla)
	var at *update.DecodeError
	if errors.As(err, &at) {
		err = &jsonError{fmt.Sprintf("vanilla[%d]", at.Partition), err}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &updateInput{params: p, statement: &d.statement, vanilla: vanilla}, nil
}

// write writes the file that readUpdate reads.
func (u *updateInput) write(w io.Writer) error {
	s := u.statement
	f := updateFile{RegisteredProof: s.Proof.String(), CommROld: s.CommROld, CommRNew: s.CommRNew, CommDNew: s.CommDNew}
	for _, v := range u.vanilla {
		f.Vanilla = append(f.Vanilla, v.Append(nil, u.params))
	}
	return json.NewEncoder(w).Encode(f)
}

func (u *updateInput) circuit() circuitParams                { return u.params }
func (u *updateInput) proofName() string                     { return u.statement.Proof.String() }
func (u *updateInput) partitions() int                       { return u.params.Partitions }
func (u *updateInput) publicInputs() ([][]fr.Element, error) { return u.statement.PublicInputs() }

func (u *updateInput) check(ctx context.Context) error { return u.statement.Check(ctx, u.vanilla, 0) }

func (u *updateInput) circuits() ([]circuits.Circuit, error) {
	list, err := u.statement.Circuits(u.vanilla)
	return listOf(list), err
}

func (u *updateInput) witness(ctx context.Context, k int, o *pce.WitnessOptions) (*pce.Witness, error) {
	if n := len(u.vanilla); k < 0 || k >= n {
		return nil, fmt.Errorf("%w: partition %d of %d", update.ErrNoPartition, k, n)
	}
	c, err := u.statement.Circuit(k, u.vanilla[k])
	if err != nil {
		return nil, err
	}
	return c.Witness(ctx, o)
}
