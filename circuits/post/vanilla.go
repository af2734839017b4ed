package post

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// MerklePath is an inclusion path from a leaf to the root.
type MerklePath = gadget.MerklePath

// Vanilla is the vanilla proof of one sector (the reference's FallbackPoStSectorProof, §8.3).
type Vanilla struct {
	SectorID  uint64
	CommR     fr.Element
	CommC     fr.Element   // root of tree C
	CommRLast fr.Element   // root of tree R
	Paths     []MerklePath // in tree R, one for each challenge
}

// Decode reads the vanilla proof of one sector as the reference writes it, [Params.VanillaSize] bytes
// of bincode. Every length must be the one that the parameters demand, so the memory it takes is
// bounded by them. Unlike the reference it refuses bytes after the end and values that are not
// canonical. It does not look at a hash; [Statement.Check] does.
//
// # Errors
//
// A [DecodeError] with the way to the field and its offset; an error that wraps [ErrParams].
func Decode(data []byte, p Params) (*Vanilla, error) {
	all, err := DecodeAll(p, [][]byte{data})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// DecodeAll is [Decode] for the vanilla proofs of several sectors, on all processors. The error is that of the first proof
// that has one. Cost: 0.1 ms of one core for a WindowPoSt sector of 32 GiB.
func DecodeAll(p Params, proofs [][]byte) ([]*Vanilla, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	levels := p.Levels()
	out := make([]*Vanilla, len(proofs))
	err := vanilla.FirstError(context.Background(), len(proofs), 0, func(i int) error {
		r := vanilla.NewReader(proofs[i])
		out[i] = read(r, p, levels)
		if err := r.Finish(); err != nil {
			return decodeError(i, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func read(r *vanilla.Reader, p Params, levels []int) *Vanilla {
	v := &Vanilla{SectorID: r.Uint64("sector_id"), CommR: r.Element("comm_r")}
	r.In("vanilla_proof", func() {
		r.List("sectors", 1, func(int) {
			r.List("inclusion_proofs", p.PathsPerProof(), func(int) {
				v.Paths = append(v.Paths, r.Merkle(p.Shape, levels))
			})
			v.CommC, v.CommRLast = r.Element("comm_c"), r.Element("comm_r_last")
		})
	})
	return v
}

func decodeError(proof int, err error) error {
	var e *vanilla.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("post: vanilla proof %d: %w", proof, err)
	}
	return &DecodeError{Proof: proof, Path: e.Path, Offset: e.Offset, Err: e.Err}
}

// Append appends the bytes that [Decode] reads for parameters with this tree shape; nothing if v is nil.
func (v *Vanilla) Append(dst []byte, shape Shape) []byte {
	if v == nil {
		return dst
	}
	dst = vanilla.AppendUint64(dst, v.SectorID)
	dst = vanilla.AppendElement(dst, v.CommR)
	dst = vanilla.AppendUint64(dst, 1)
	dst = vanilla.AppendUint64(dst, uint64(len(v.Paths)))
	for i := range v.Paths {
		dst = vanilla.AppendMerkle(dst, shape, &v.Paths[i])
	}
	return vanilla.AppendElement(vanilla.AppendElement(dst, v.CommC), v.CommRLast)
}

// validate makes sure that a Vanilla that was not decoded but built has the shape of its parameters.
func (v *Vanilla) validate(p Params, levels []int) error {
	if len(v.Paths) != p.PathsPerProof() {
		return fmt.Errorf("%d inclusion proofs, want %d", len(v.Paths), p.PathsPerProof())
	}
	for i := range v.Paths {
		if err := v.Paths[i].Validate(levels); err != nil {
			return fmt.Errorf("inclusion proof %d: %w", i, err)
		}
	}
	return nil
}

// StatementOf is the statement that vanilla proofs make by themselves: the sectors and commitments that
// they name, in their order. In the place of a nil there is a sector without commitment, which
// [Statement.Validate] refuses.
func StatementOf(proof RegisteredProof, randomness [32]byte, proofs []*Vanilla) *Statement {
	s := &Statement{Proof: proof, Randomness: randomness, Sectors: make([]Sector, len(proofs))}
	for i, v := range proofs {
		if v != nil {
			s.Sectors[i] = Sector{ID: v.SectorID, CommR: vanilla.Bytes(v.CommR)}
		}
	}
	return s
}
