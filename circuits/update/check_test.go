package update

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/circuittest"
)

// checkAll is the answer of Check, which Circuits and Witness must give as well.
func checkAll(t *testing.T, s *Statement, proofs []*Vanilla) error {
	t.Helper()
	err := s.Check(t.Context(), proofs, 0)
	circuits, other := s.Circuits(proofs)
	for _, c := range circuits {
		if _, e := c.Witness(t.Context(), nil); other == nil {
			other = e
		}
	}
	require.Equal(t, err, other)
	return err
}

func TestCheckVectors(t *testing.T) {
	names := vectorNames()
	if testing.Short() {
		names = names[:1]
	}
	for _, name := range names {
		s, proofs := decodeVector(t, name)
		require.NoError(t, s.Check(t.Context(), proofs, 0))
		for k, v := range proofs {
			require.NoError(t, s.CheckPartition(t.Context(), k, v, 1))
			c, err := s.Circuit(k, v)
			require.NoError(t, err)
			require.Equal(t, k, c.Partition)
		}
	}
}

// What can be wrong with a vanilla proof, each told apart.
func TestCheckRelations(t *testing.T) {
	one := fr.One()
	bump := func(e *fr.Element) { e.Add(e, &one) }
	for name, c := range map[string]struct {
		change    func(s *Statement, v *Vanilla, ch *Challenge)
		challenge int
		field     string
		err       error
	}{
		"old of another node":  {func(_ *Statement, v *Vanilla, ch *Challenge) { ch.ROld = v.Challenges[0].ROld }, 4, "challenge_proofs[4].proof_r_old", ErrChallenge},
		"data of another node": {func(_ *Statement, v *Vanilla, ch *Challenge) { ch.DNew = v.Challenges[0].DNew }, 4, "challenge_proofs[4].proof_d_new", ErrChallenge},
		"new of another node":  {func(_ *Statement, v *Vanilla, ch *Challenge) { ch.RNew = v.Challenges[0].RNew }, 4, "challenge_proofs[4].proof_r_new", ErrChallenge},
		"old sibling":          {func(_ *Statement, _ *Vanilla, ch *Challenge) { bump(&ch.ROld.Levels[1].Siblings[5]) }, 4, "challenge_proofs[4].proof_r_old", ErrPath},
		"new sibling":          {func(_ *Statement, _ *Vanilla, ch *Challenge) { bump(&ch.RNew.Levels[0].Siblings[0]) }, 4, "challenge_proofs[4].proof_r_new", ErrPath},
		"data sibling":         {func(_ *Statement, _ *Vanilla, ch *Challenge) { bump(&ch.DNew.Levels[5].Siblings[0]) }, 4, "challenge_proofs[4].proof_d_new", ErrPath},
		"old leaf": {func(_ *Statement, _ *Vanilla, ch *Challenge) { bump(&ch.ROld.Leaf) },
			4, "challenge_proofs[4].proof_r_new.data.Single.leaf", ErrLabel},
		"new leaf": {func(_ *Statement, _ *Vanilla, ch *Challenge) { bump(&ch.RNew.Leaf) },
			4, "challenge_proofs[4].proof_r_new.data.Single.leaf", ErrLabel},
		"old root": {func(_ *Statement, _ *Vanilla, ch *Challenge) { bump(&ch.ROld.Root) }, 4, "challenge_proofs[4].proof_r_old.data.Single.root", ErrRoot},
		"new root": {func(_ *Statement, _ *Vanilla, ch *Challenge) { bump(&ch.RNew.Root) }, 4, "challenge_proofs[4].proof_r_new.data.Single.root", ErrRoot},
		"data root": {func(_ *Statement, _ *Vanilla, ch *Challenge) {
			bump(&ch.DNew.Leaf)
			ch.DNew.Root = ch.DNew.Climb(gadget.HashData)
		}, 4, "challenge_proofs[4].proof_d_new.data.Single.root", ErrRoot},
		"comm_c":      {func(_ *Statement, v *Vanilla, _ *Challenge) { bump(&v.CommC) }, -1, "comm_r_old", ErrCommR},
		"comm_r_old":  {func(s *Statement, _ *Vanilla, _ *Challenge) { s.CommROld[0] ^= 1 }, -1, "comm_r_old", ErrCommR},
		"comm_d_new":  {func(s *Statement, _ *Vanilla, _ *Challenge) { s.CommDNew[0] ^= 1 }, 0, "challenge_proofs[0].proof_d_new.data.Single.root", ErrRoot},
		"comm_r_new":  {func(s *Statement, _ *Vanilla, _ *Challenge) { s.CommRNew[0] ^= 1 }, -1, "comm_r_new", ErrCommR},
		"challenges":  {func(_ *Statement, v *Vanilla, _ *Challenge) { v.Challenges = v.Challenges[1:] }, -1, "", ErrShape},
		"apex leaves": {func(_ *Statement, v *Vanilla, _ *Challenge) { v.ApexLeaves = nil }, -1, "", ErrShape},
		"no levels":   {func(_ *Statement, _ *Vanilla, ch *Challenge) { ch.RNew.Levels = nil }, -1, "", ErrShape},
	} {
		t.Run(name, func(t *testing.T) {
			s, proofs := decodeVector(t, "snap-deals")
			v := proofs[0]
			c.change(s, v, &v.Challenges[4])
			err := checkAll(t, s, proofs)
			var got *CheckError
			require.ErrorAs(t, err, &got)
			require.Equal(t, 0, got.Partition)
			require.Equal(t, c.challenge, got.Challenge)
			require.Equal(t, c.field, got.Field)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.field)
		})
	}
}

// A challenged apex leaf that is wrong is named, of others it is only known that there is one.
func TestApexLeaf(t *testing.T) {
	challenged := make(map[int]bool)
	for try := range 2 {
		s, proofs := decodeVector(t, "snap-deals-16KiB")
		v, wrong, field := proofs[1], 0, "apex_leafs"
		for i := range v.Challenges {
			challenged[int(v.Challenges[i].DNew.Index()>>1)&127] = true
		}
		for ; challenged[wrong] != (try == 0); wrong++ {
		}
		if try == 0 {
			field = fmt.Sprintf("apex_leafs[%d]", wrong)
		}
		v.ApexLeaves[wrong].SetOne()
		var got *CheckError
		require.ErrorAs(t, checkAll(t, s, proofs), &got)
		require.Equal(t, 1, got.Partition)
		require.Equal(t, field, got.Field)
		require.ErrorIs(t, got, ErrApex)
	}
}

// Proofs of the wrong partition, too few and too many.
func TestPartitions(t *testing.T) {
	s, proofs := decodeVector(t, "snap-deals-16KiB")
	var got *CheckError
	require.ErrorAs(t, checkAll(t, s, []*Vanilla{proofs[1], proofs[0]}), &got)
	require.ErrorIs(t, got, ErrPartition)
	require.Equal(t, "challenge_proofs[0].proof_r_old", got.Field)
	require.ErrorIs(t, s.CheckPartition(t.Context(), 0, proofs[1], 1), ErrPartition)
	require.ErrorIs(t, checkAll(t, s, proofs[:1]), ErrMissing)
	require.ErrorIs(t, checkAll(t, s, append(proofs, proofs[0])), ErrMissing)
	require.ErrorIs(t, checkAll(t, s, nil), ErrMissing)
	none := checkAll(t, s, []*Vanilla{proofs[0], nil})
	require.ErrorIs(t, none, ErrShape)
	require.EqualError(t, none, "update: check: partition 1: vanilla proof of another shape: nil")
	for _, k := range []int{-1, 2} {
		require.ErrorIs(t, s.CheckPartition(t.Context(), k, proofs[0], 1), ErrNoPartition)
		_, err := s.Circuit(k, proofs[0])
		require.ErrorIs(t, err, ErrNoPartition)
	}
}

// The path from a partition to the root is taken from the first challenge; others must agree. A data
// tree that really has two such paths can't be made, so the hash is left out here.
func TestPartitionPath(t *testing.T) {
	s, proofs := decodeVector(t, "snap-deals-16KiB")
	c, err := s.claim()
	require.NoError(t, err)
	ch := &proofs[0].Challenges[3]
	ch.DNew.Levels[8].Siblings[0].SetOne()
	p := c.partition(0, proofs[0])
	p.commDNew = ch.DNew.Climb(gadget.HashData)
	require.ErrorIs(t, p.data(3, ch), ErrPartitionPath)
}

// The answer is the first failure in order, whatever the number of workers.
func TestCheckOrder(t *testing.T) {
	s, proofs := decodeVector(t, "snap-deals-32KiB")
	for i := 5; i < 10; i++ {
		proofs[1].Challenges[i].ROld.Levels[0].Siblings[0].SetOne()
	}
	for _, workers := range []int{-1, 0, 1, 2, 64} {
		var got *CheckError
		require.ErrorAs(t, s.Check(t.Context(), proofs, workers), &got)
		require.Equal(t, [2]int{1, 5}, [2]int{got.Partition, got.Challenge})
	}
}

func TestCheckCancelled(t *testing.T) {
	s, proofs := decodeVector(t, "snap-deals")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	require.ErrorIs(t, s.Check(ctx, proofs, 2), cause)
}

// The damaged prover inputs of the reference are refused before anything is proved.
func TestInvalidWitnesses(t *testing.T) {
	cases := circuittest.LoadJSON[invalid](t, "invalid.json").Witnesses
	require.Len(t, cases, 3)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			require.Equal(t, "error", c.Verdict)
			s := loadVector(t, "snap-deals").statement(t)
			data := blobs(t, "snap-deals")
			var n int
			if c.Change["drop"] != nil {
				_, err := s.Circuits(nil)
				require.ErrorIs(t, err, ErrMissing)
				return
			}
			require.NoError(t, json.Unmarshal(c.Change["truncate_to"], &n))
			_, err := Decode(data[0][:n], params(t, s))
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	s, proofs := decodeVector(b, "snap-deals-32KiB")
	for b.Loop() {
		require.NoError(b, s.Check(b.Context(), proofs, 1))
	}
}
