package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/pce"
)

// postFile is a proof of spacetime's input as JSON. Byte strings are hex in the order of the APIs, vanilla proofs
// base64 of what the reference's API returns.
type postFile struct {
	RegisteredProof string       `json:"registered_proof"`
	Randomness      bytes32      `json:"randomness"`
	FirstPartition  int          `json:"first_partition,omitempty"`
	Partitions      int          `json:"partitions,omitempty"` // 0: as many as the sectors fill
	Sectors         []postSector `json:"sectors"`
}

type postSector struct {
	ID      uint64  `json:"sector_id"`
	CommR   bytes32 `json:"comm_r"`
	Vanilla []byte  `json:"vanilla"` // not needed to verify
}

// postInput is the statement of a PoSt and a vanilla proof for each of its sectors.
type postInput struct {
	params    post.Params
	statement *post.Statement
	vanilla   []*post.Vanilla
}

// postDocument is what a postFile has: the statement, and the vanilla proof of each sector or nil.
type postDocument struct {
	statement post.Statement
	vanilla   [][]byte
}

func readPoStFile(ctx context.Context, path, kind string, u use) (*postDocument, error) {
	d := &postDocument{}
	return d, readJSON(ctx, path, maxInputFile, u, func(r *jsonReader) error { return d.read(r, kind) })
}

// read reads the document of a PoSt of some kind.
func (d *postDocument) read(r *jsonReader, kind string) error {
	s := &d.statement
	parse := func(name string) (post.RegisteredProof, error) {
		proof, err := post.ParseRegisteredProof(name)
		if err == nil && proof.Kind() != postKind(kind) {
			err = fmt.Errorf("%v is no %s", proof, kind)
		}
		return proof, err
	}
	return r.object(
		jsonField{"registered_proof", false, proofName(r, &s.Proof, parse)},
		jsonField{"randomness", false, into(&s.Randomness, r.bytes32)},
		jsonField{"first_partition", true, into(&s.FirstPartition, r.count)},
		jsonField{"partitions", true, into(&s.Partitions, r.count)},
		jsonField{"sectors", false, func() error { return r.array(maxMadeUp, func(int) error { return d.readSector(r) }) }},
	)
}

func (d *postDocument) readSector(r *jsonReader) error {
	var sector post.Sector
	var vanilla []byte
	err := r.object(
		jsonField{"sector_id", false, into(&sector.ID, r.uint64)},
		jsonField{"comm_r", false, into(&sector.CommR, r.bytes32)},
		jsonField{"vanilla", r.use == toVerify, into(&vanilla, r.base64)},
	)
	d.statement.Sectors, d.vanilla = append(d.statement.Sectors, sector), append(d.vanilla, vanilla)
	return err
}

func readPoSt(ctx context.Context, path, kind string) (*postInput, error) {
	d, err := readPoStFile(ctx, path, kind, toProve)
	if err != nil {
		return nil, err
	}
	p, err := d.statement.Proof.Params()
	if err != nil {
		return nil, err
	}
	vanilla, err := post.DecodeAll(p, d.vanilla)
	var at *post.DecodeError
	if errors.As(err, &at) {
		err = &jsonError{fmt.Sprintf("sectors[%d].vanilla", at.Proof), err}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &postInput{params: p, statement: &d.statement, vanilla: vanilla}, nil
}

// write writes the file that readPoSt reads.
func (p *postInput) write(w io.Writer) error {
	s := p.statement
	f := postFile{
		RegisteredProof: s.Proof.String(), Randomness: s.Randomness, FirstPartition: s.FirstPartition, Partitions: s.Partitions,
		Sectors: make([]postSector, len(s.Sectors)),
	}
	for i, sector := range s.Sectors {
		f.Sectors[i] = postSector{ID: sector.ID, CommR: sector.CommR, Vanilla: p.vanilla[i].Append(nil, p.params.Shape)}
	}
	return json.NewEncoder(w).Encode(f)
}

func (p *postInput) circuit() circuitParams { return p.params }
func (p *postInput) proofName() string      { return p.statement.Proof.String() }

// partitions is only asked once the statement has been checked.
func (p *postInput) partitions() int {
	n, _ := p.statement.PartitionCount()
	return n
}

func (p *postInput) publicInputs() ([][]fr.Element, error) { return p.statement.PublicInputs() }

func (p *postInput) check(ctx context.Context) error { return p.statement.Check(ctx, p.vanilla, 0) }

func (p *postInput) circuits() ([]circuits.Circuit, error) {
	list, err := p.statement.Circuits(p.vanilla)
	return listOf(list), err
}

func (p *postInput) witness(ctx context.Context, k int, o *pce.WitnessOptions) (*pce.Witness, error) {
	list, err := p.statement.Circuits(p.vanilla)
	if err != nil {
		return nil, err
	}
	if k < 0 || k >= len(list) {
		return nil, fmt.Errorf("%w: partition %d of %d", post.ErrPartition, k, len(list))
	}
	return list[k].Witness(ctx, o)
}
