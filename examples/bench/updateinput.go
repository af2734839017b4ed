package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/pce"
)

// updateFile is the input of an empty sector update as JSON. Byte strings are hex in the order of the APIs, vanilla
// proofs base64 of what the reference's API returns, one for each partition. Other fields are ignored, so that the
// project's test vectors can be used as statements. Both variants have the same registered proofs here.
type updateFile struct {
	RegisteredProof string   `json:"registered_proof"`
	CommROld        *bytes32 `json:"comm_r_old"`
	CommRNew        *bytes32 `json:"comm_r_new"`
	CommDNew        *bytes32 `json:"comm_d_new"`
	Vanilla         [][]byte `json:"vanilla,omitempty"` // not needed to verify
}

// updateInput is the statement of an update and the vanilla proof of each partition.
type updateInput struct {
	params    update.Params
	statement *update.Statement
	vanilla   []*update.Vanilla
}

// readUpdateFile reads the file and the statement in it, whose Params are set.
func readUpdateFile(ctx context.Context, path, kind string) (*updateFile, *update.Statement, error) {
	b, err := readAtMost(ctx, path, maxInputFile)
	if err != nil {
		return nil, nil, err
	}
	var f updateFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	proof, err := update.ParseRegisteredProof(f.RegisteredProof)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: registered_proof: %w", path, err)
	}
	for _, x := range []struct {
		name  string
		value *bytes32
	}{{"comm_r_old", f.CommROld}, {"comm_r_new", f.CommRNew}, {"comm_d_new", f.CommDNew}} {
		if x.value == nil {
			return nil, nil, fmt.Errorf("%s: %s is missing", path, x.name)
		}
	}
	p, err := update.ParamsFor(updateVariant(kind), proof.SectorSize())
	if err != nil {
		return nil, nil, err
	}
	return &f, &update.Statement{
		Proof: proof, CommROld: *f.CommROld, CommRNew: *f.CommRNew, CommDNew: *f.CommDNew, Params: &p,
	}, nil
}

func readUpdate(ctx context.Context, path, kind string) (*updateInput, error) {
	f, s, err := readUpdateFile(ctx, path, kind)
	if err != nil {
		return nil, err
	}
	vanilla, err := update.DecodeAll(*s.Params, f.Vanilla)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &updateInput{params: *s.Params, statement: s, vanilla: vanilla}, nil
}

// write writes the file that readUpdate reads.
func (u *updateInput) write(w io.Writer) error {
	s := u.statement
	commROld, commRNew, commDNew := bytes32(s.CommROld), bytes32(s.CommRNew), bytes32(s.CommDNew)
	f := updateFile{RegisteredProof: s.Proof.String(), CommROld: &commROld, CommRNew: &commRNew, CommDNew: &commDNew}
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
