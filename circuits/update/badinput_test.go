package update

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// What goes wrong with the inputs of a job: each is an error of its own kind, and found by what costs no path in a sealed
// tree, before a circuit is there.
func TestBadInputs(t *testing.T) {
	r := fr.Modulus().FillBytes(make([]byte, fr.Bytes))
	slices.Reverse(r)
	kinds := []error{
		ErrMissing, ErrPartition, ErrChallenge, ErrCommR, ErrRoot, ErrHeight, ErrLabel, ErrApex, ErrNonCanonical,
		ErrProofType, ErrParams,
		ErrTrailing, io.ErrUnexpectedEOF, ErrShape,
	}
	type job struct {
		*Statement
		p      Params
		proofs [][]byte
	}
	for name, c := range map[string]struct {
		change func(j *job)
		err    error
	}{
		"partition skipped":              {func(j *job) { j.proofs = j.proofs[1:] }, ErrMissing},
		"partition more":                 {func(j *job) { j.proofs = append(j.proofs, j.proofs[0]) }, ErrMissing},
		"no partitions":                  {func(j *job) { j.proofs = nil }, ErrMissing},
		"partitions exchanged":           {func(j *job) { j.proofs[0], j.proofs[1] = j.proofs[1], j.proofs[0] }, ErrPartition},
		"partition twice":                {func(j *job) { j.proofs[2] = j.proofs[1] }, ErrPartition},
		"another h":                      {func(j *job) { j.p.H = 11 }, ErrHeight},
		"impossible h":                   {func(j *job) { j.p.H = 13 }, ErrParams},
		"comm_r_old of another":          {func(j *job) { j.CommROld = j.CommDNew }, ErrCommR},
		"comm_r_new of another":          {func(j *job) { j.CommRNew = j.CommROld }, ErrCommR},
		"comm_d_new of another":          {func(j *job) { j.CommDNew = j.CommROld }, ErrRoot},
		"another comm_c":                 {func(j *job) { j.proofs[3][0] ^= 1 }, ErrCommR},
		"another apex leaf":              {func(j *job) { j.proofs[3][32+8] ^= 1 }, ErrApex},
		"comm_r_new no field element":    {func(j *job) { j.CommRNew = [32]byte(r) }, ErrNonCanonical},
		"vanilla proof no field element": {func(j *job) { copy(j.proofs[1], r) }, ErrNonCanonical},
		"vanilla proof cut short":        {func(j *job) { j.proofs[1] = j.proofs[1][:len(j.proofs[1])-1] }, io.ErrUnexpectedEOF},
		"no vanilla proof":               {func(j *job) { j.proofs[1] = nil }, io.ErrUnexpectedEOF},
		"vanilla proof with a byte more": {func(j *job) { j.proofs[1] = append(j.proofs[1], 0) }, ErrTrailing},
		"unknown proof type":             {func(j *job) { j.Proof = 5 }, ErrProofType},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadVector(t, "snap-deals-8MiB").statement(t)
			j := &job{s, params(t, s), blobs(t, "snap-deals-8MiB")}
			j.Params = &j.p
			c.change(j)
			proofs, err := DecodeAll(params(t, loadVector(t, "snap-deals-8MiB").statement(t)), j.proofs)
			if err == nil {
				_, err = j.Circuits(proofs)
			}
			for _, kind := range kinds {
				require.Equal(t, kind == c.err, errors.Is(err, kind), "%v: %v", kind, err)
			}
		})
	}
}
