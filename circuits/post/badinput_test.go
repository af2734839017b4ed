package post

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// What goes wrong with the inputs of a job: each is an error of its own kind, and found by what costs no hash of a tree,
// before a circuit is there.
func TestBadInputs(t *testing.T) {
	r := fr.Modulus().FillBytes(make([]byte, fr.Bytes))
	slices.Reverse(r)
	kinds := []error{
		ErrSkipped, ErrDuplicate, ErrOrder, ErrSector, ErrCommR, ErrChallenge, ErrOtherPartition, ErrPartition, ErrTooManySectors,
		ErrNonCanonical, ErrMixed, ErrProofType, ErrTrailing, io.ErrUnexpectedEOF, ErrShape, ErrZero, ErrNoSectors,
	}
	type job struct {
		*Statement
		proofs [][]byte
		types  []RegisteredProof // of its partitions
	}
	for name, c := range map[string]struct {
		change func(j *job)
		err    error
	}{
		"skipped sector":                 {func(j *job) { j.proofs = slices.Delete(j.proofs, 1, 2) }, ErrSkipped},
		"duplicated sector":              {func(j *job) { j.Sectors[2] = j.Sectors[1] }, ErrDuplicate},
		"duplicated vanilla proof":       {func(j *job) { j.proofs[2] = j.proofs[1] }, ErrDuplicate},
		"sectors exchanged":              {func(j *job) { j.Sectors[0], j.Sectors[1] = j.Sectors[1], j.Sectors[0] }, ErrOrder},
		"sector of nobody":               {func(j *job) { j.proofs[0][0] = 0xff }, ErrSector},
		"comm_r of another":              {func(j *job) { j.Sectors[0].CommR = j.Sectors[1].CommR }, ErrCommR},
		"no comm_r":                      {func(j *job) { j.Sectors[0].CommR = [32]byte{} }, ErrZero},
		"challenge of another sector":    {func(j *job) { copy(j.proofs[1][40:], j.proofs[0][40:]) }, ErrChallenge},
		"wrong partition index":          {func(j *job) { j.FirstPartition++ }, ErrOtherPartition},
		"impossible partition index":     {func(j *job) { j.FirstPartition = -1 }, ErrPartition},
		"partition without sectors":      {func(j *job) { j.Partitions = 4 }, ErrPartition},
		"vanilla proof cut short":        {func(j *job) { j.proofs[2] = j.proofs[2][:len(j.proofs[2])-1] }, io.ErrUnexpectedEOF},
		"no vanilla proof":               {func(j *job) { j.proofs[2] = nil }, io.ErrUnexpectedEOF},
		"vanilla proof with a byte more": {func(j *job) { j.proofs[2] = append(j.proofs[2], 0) }, ErrTrailing},
		"mixed proof types":              {func(j *job) { j.types[2] = Window2KiBV1_2 }, ErrMixed},
		"unknown proof type":             {func(j *job) { j.Proof, j.types = 15, []RegisteredProof{15} }, ErrProofType},
		"randomness no field element":    {func(j *job) { j.Randomness = [32]byte(r) }, ErrNonCanonical},
		"comm_r no field element":        {func(j *job) { j.Sectors[1].CommR = [32]byte(r) }, ErrNonCanonical},
		"too many sectors":               {func(j *job) { j.Partitions = 1 }, ErrTooManySectors},
		"no sectors":                     {func(j *job) { j.Sectors, j.proofs = nil, nil }, ErrNoSectors},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadVector(t, "window-post-v1").statement(t)
			p := params(t, s)
			j := &job{s, blobs(t, "window-post-v1"), []RegisteredProof{s.Proof, s.Proof, s.Proof}}
			c.change(j)
			err := func() error {
				if _, err := OneProofType(j.types...); err != nil {
					return err
				}
				proofs, err := DecodeAll(p, j.proofs)
				if err == nil {
					_, err = j.Circuits(proofs)
				}
				return err
			}()
			for _, kind := range kinds {
				require.Equal(t, kind == c.err, errors.Is(err, kind), "%v: %v", kind, err)
			}
		})
	}
}
