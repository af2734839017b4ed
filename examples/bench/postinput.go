package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/pce"
)

// postFile is a proof of spacetime's input as JSON. Byte strings are hex in the order of the APIs, vanilla proofs
// base64 of what the reference's API returns. Other fields are ignored, so that the project's test vectors can be used
// as statements.
type postFile struct {
	RegisteredProof string       `json:"registered_proof"`
	Randomness      *bytes32     `json:"randomness"`
	FirstPartition  int          `json:"first_partition,omitempty"`
	Partitions      int          `json:"partitions,omitempty"` // 0: as many as the sectors fill
	Sectors         []postSector `json:"sectors"`
}

type postSector struct {
	ID      *uint64  `json:"sector_id"`
	CommR   *bytes32 `json:"comm_r"`
	Vanilla []byte   `json:"vanilla,omitempty"` // not needed to verify
}

// postInput is the statement of a PoSt and a vanilla proof for each of its sectors.
type postInput struct {
	params    post.Params
	statement *post.Statement
	vanilla   []*post.Vanilla
}

// readPoStFile reads the file and the statement in it.
func readPoStFile(ctx context.Context, path, kind string) (*postFile, *post.Statement, error) {
	b, err := readAtMost(ctx, path, maxInputFile)
	if err != nil {
		return nil, nil, err
	}
	var f postFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	proof, err := post.ParseRegisteredProof(f.RegisteredProof)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: registered_proof: %w", path, err)
	}
	if proof.Kind() != postKind(kind) {
		return nil, nil, fmt.Errorf("%s: registered_proof: %v is no %s", path, proof, kind)
	}
	if f.Randomness == nil {
		return nil, nil, fmt.Errorf("%s: randomness is missing", path)
	}
	s := &post.Statement{Proof: proof, Randomness: *f.Randomness, FirstPartition: f.FirstPartition, Partitions: f.Partitions}
	for i, sector := range f.Sectors {
		switch {
		case sector.ID == nil:
			return nil, nil, fmt.Errorf("%s: sectors[%d].sector_id is missing", path, i)
		case sector.CommR == nil:
			return nil, nil, fmt.Errorf("%s: sectors[%d].comm_r is missing", path, i)
		}
		s.Sectors = append(s.Sectors, post.Sector{ID: *sector.ID, CommR: *sector.CommR})
	}
	return &f, s, nil
}

func readPoSt(ctx context.Context, path, kind string) (*postInput, error) {
	f, s, err := readPoStFile(ctx, path, kind)
	if err != nil {
		return nil, err
	}
	p, err := s.Proof.Params()
	if err != nil {
		return nil, err
	}
	var data [][]byte
	for _, sector := range f.Sectors {
		data = append(data, sector.Vanilla)
	}
	vanilla, err := post.DecodeAll(p, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &postInput{params: p, statement: s, vanilla: vanilla}, nil
}

// write writes the file that readPoSt reads.
func (p *postInput) write(w io.Writer) error {
	s := p.statement
	randomness := bytes32(s.Randomness)
	f := postFile{
		RegisteredProof: s.Proof.String(), Randomness: &randomness, FirstPartition: s.FirstPartition, Partitions: s.Partitions,
		Sectors: make([]postSector, len(s.Sectors)),
	}
	for i, sector := range s.Sectors {
		commR := bytes32(sector.CommR)
		f.Sectors[i] = postSector{ID: &sector.ID, CommR: &commR, Vanilla: p.vanilla[i].Append(nil, p.params.Shape)}
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
