package update

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/vanilla"
)

// MerklePath is an inclusion path from a leaf to the root.
type MerklePath = gadget.MerklePath

// Vanilla is the vanilla proof of one partition (the reference's PartitionProof, §8.4).
type Vanilla struct {
	CommC      fr.Element   // root of tree C, which an update does not change
	ApexLeaves []fr.Element // nodes of the new data tree; none in the Poseidon variant
	Challenges []Challenge
}

// Challenge is what the vanilla proof says of one challenged node.
type Challenge struct {
	ROld MerklePath // node of the old replica
	DNew MerklePath // node of the new data
	RNew MerklePath // node of the new replica
}

// Decode reads the vanilla proof of one partition as the reference writes it, [Params.VanillaSize]
// bytes of bincode. Every length must be the one that the parameters demand, so the memory it takes
// is bounded by them. Unlike the reference it refuses bytes after the end and values that are not
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

// DecodeAll is [Decode] for the vanilla proofs of several partitions.
func DecodeAll(p Params, proofs [][]byte) ([]*Vanilla, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	sealed, data := p.Levels(), p.DataLevels()
	out := make([]*Vanilla, len(proofs))
	for k, b := range proofs {
		r := vanilla.NewReader(b)
		out[k] = read(r, p, sealed, data)
		if err := r.Finish(); err != nil {
			return nil, decodeError(k, err)
		}
	}
	return out, nil
}

func read(r *vanilla.Reader, p Params, sealed, data []int) *Vanilla {
	v := &Vanilla{CommC: r.Element("comm_c")}
	if p.Variant == Sha256 {
		v.ApexLeaves = make([]fr.Element, p.ApexLeaves)
		r.Elements("apex_leafs", v.ApexLeaves)
	}
	r.List("challenge_proofs", p.Challenges, func(int) {
		var c Challenge
		r.In("proof_r_old", func() { c.ROld = r.Merkle(p.Shape, sealed) })
		r.In("proof_d_new", func() { c.DNew = r.Merkle(p.DataShape(), data) })
		r.In("proof_r_new", func() { c.RNew = r.Merkle(p.Shape, sealed) })
		v.Challenges = append(v.Challenges, c)
	})
	return v
}

func decodeError(partition int, err error) error {
	var e *vanilla.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("update: vanilla proof of partition %d: %w", partition, err)
	}
	return &DecodeError{Partition: partition, Path: e.Path, Offset: e.Offset, Err: e.Err}
}

// Append appends the bytes that [Decode] reads for parameters p; nothing if v is nil.
func (v *Vanilla) Append(dst []byte, p Params) []byte {
	if v == nil {
		return dst
	}
	dst = vanilla.AppendElement(dst, v.CommC)
	if p.Variant == Sha256 {
		dst = vanilla.AppendElements(dst, v.ApexLeaves)
	}
	dst = vanilla.AppendUint64(dst, uint64(len(v.Challenges)))
	for i := range v.Challenges {
		c := &v.Challenges[i]
		dst = vanilla.AppendMerkle(dst, p.Shape, &c.ROld)
		dst = vanilla.AppendMerkle(dst, p.DataShape(), &c.DNew)
		dst = vanilla.AppendMerkle(dst, p.Shape, &c.RNew)
	}
	return dst
}

// validate makes sure that what was not decoded but built has the shape of its parameters.
func (v *Vanilla) validate(p Params) error {
	if len(v.ApexLeaves) != p.ApexLeaves {
		return fmt.Errorf("%d apex leaves, want %d", len(v.ApexLeaves), p.ApexLeaves)
	}
	return validateChallenges(v.Challenges, p)
}

func validateChallenges(challenges []Challenge, p Params) error {
	if len(challenges) != p.Challenges {
		return fmt.Errorf("%d challenges, want %d", len(challenges), p.Challenges)
	}
	sealed, data := p.Levels(), p.DataLevels()
	for i := range challenges {
		c := &challenges[i]
		for _, f := range []struct {
			name   string
			path   *MerklePath
			levels []int
		}{{"proof_r_old", &c.ROld, sealed}, {"proof_d_new", &c.DNew, data}, {"proof_r_new", &c.RNew, sealed}} {
			if err := f.path.Validate(f.levels); err != nil {
				return fmt.Errorf("challenge_proofs[%d].%s: %w", i, f.name, err)
			}
		}
	}
	return nil
}
