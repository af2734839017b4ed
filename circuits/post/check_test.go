package post

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/circuittest"
)

func errorsIs(err, target error) bool { return errors.Is(err, target) }

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
	for _, name := range vectorNames() {
		s, proofs := decodeVector(t, name)
		require.NoError(t, checkAll(t, s, proofs))
		require.Equal(t, s.Sectors, StatementOf(s.Proof, s.Randomness, proofs).Sectors)
	}
}

// What can be wrong with the vanilla proofs as a whole or one of them, each told apart.
func TestCheckRelations(t *testing.T) {
	one := fr.One()
	bump := func(e *fr.Element) { e.Add(e, &one) }
	for name, c := range map[string]struct {
		change    func(s *Statement, p []*Vanilla) []*Vanilla
		sector    int
		challenge int
		field     string
		err       error
	}{
		"skipped":        {func(_ *Statement, p []*Vanilla) []*Vanilla { return append(p[:2:2], p[3:]...) }, 2, -1, "sector_id", ErrSkipped},
		"last skipped":   {func(_ *Statement, p []*Vanilla) []*Vanilla { return p[:4] }, 4, -1, "sector_id", ErrSkipped},
		"duplicated":     {func(_ *Statement, p []*Vanilla) []*Vanilla { p[3] = p[2]; return p }, 3, -1, "sector_id", ErrDuplicate},
		"one more":       {func(_ *Statement, p []*Vanilla) []*Vanilla { return append(p, p[0]) }, 5, -1, "sector_id", ErrDuplicate},
		"of nobody":      {func(_ *Statement, p []*Vanilla) []*Vanilla { p[1].SectorID = 5; return p }, 1, -1, "sector_id", ErrSector},
		"beyond all":     {func(_ *Statement, p []*Vanilla) []*Vanilla { p[4].SectorID = 500; return p }, 4, -1, "sector_id", ErrSector},
		"exchanged":      {func(_ *Statement, p []*Vanilla) []*Vanilla { p[1], p[2] = p[2], p[1]; return p }, 1, -1, "sector_id", ErrSkipped},
		"comm_r":         {func(_ *Statement, p []*Vanilla) []*Vanilla { bump(&p[3].CommR); return p }, 3, -1, "comm_r", ErrCommR},
		"chain's comm_r": {func(s *Statement, p []*Vanilla) []*Vanilla { s.Sectors[3].CommR[0] ^= 1; return p }, 3, -1, "comm_r", ErrCommR},
		"comm_c":         {func(_ *Statement, p []*Vanilla) []*Vanilla { bump(&p[3].CommC); return p }, 3, -1, "comm_r", ErrCommR},
		"another's answer": {func(_ *Statement, p []*Vanilla) []*Vanilla { p[2].Paths = p[1].Paths; return p },
			2, 0, "vanilla_proof.sectors[0].inclusion_proofs[0]", ErrChallenge},
		"one answer of another": {func(_ *Statement, p []*Vanilla) []*Vanilla { p[2].Paths[7] = p[1].Paths[7]; return p },
			2, 7, "vanilla_proof.sectors[0].inclusion_proofs[7]", ErrChallenge},
		"another's leaf": {func(_ *Statement, p []*Vanilla) []*Vanilla { p[2].Paths[3].Leaf = p[1].Paths[3].Leaf; return p },
			2, 3, "vanilla_proof.sectors[0].inclusion_proofs[3]", ErrPath},
		"sibling": {func(_ *Statement, p []*Vanilla) []*Vanilla { bump(&p[4].Paths[9].Levels[1].Siblings[6]); return p },
			4, 9, "vanilla_proof.sectors[0].inclusion_proofs[9]", ErrPath},
		"root": {func(_ *Statement, p []*Vanilla) []*Vanilla {
			m := &p[4].Paths[9]
			bump(&m.Leaf)
			m.Root = m.Climb(gadget.HashSealed)
			return p
		}, 4, 9, "vanilla_proof.sectors[0].inclusion_proofs[9].data.Single.root", ErrRoot},
		"comm_r_last": {func(_ *Statement, p []*Vanilla) []*Vanilla { bump(&p[0].CommRLast); return p },
			0, 0, "vanilla_proof.sectors[0].inclusion_proofs[0].data.Single.root", ErrRoot},
		"fewer paths": {func(_ *Statement, p []*Vanilla) []*Vanilla { p[1].Paths = p[1].Paths[1:]; return p }, 1, -1, "vanilla_proof.sectors[0]", ErrShape},
		"no levels":   {func(_ *Statement, p []*Vanilla) []*Vanilla { p[1].Paths[2].Levels = nil; return p }, 1, -1, "vanilla_proof.sectors[0]", ErrShape},
		"other randomness": {func(s *Statement, p []*Vanilla) []*Vanilla { s.Randomness[0] ^= 1; return p },
			0, 0, "vanilla_proof.sectors[0].inclusion_proofs[0]", ErrChallenge},
		"other rule for challenges": {func(s *Statement, p []*Vanilla) []*Vanilla { s.Proof = Window2KiBV1; return p },
			1, 0, "vanilla_proof.sectors[0].inclusion_proofs[0]", ErrChallenge},
	} {
		t.Run(name, func(t *testing.T) {
			s, proofs := decodeVector(t, "window-post")
			proofs = c.change(s, proofs)
			err := checkAll(t, s, proofs)
			var got *CheckError
			require.ErrorAs(t, err, &got)
			require.Equal(t, c.sector, got.Sector)
			require.Equal(t, c.challenge, got.Challenge)
			require.Equal(t, c.field, got.Field)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.field)
		})
	}
}

// The number of the partition is part of the challenges of API 1.0.0.
func TestWrongPartition(t *testing.T) {
	s, proofs := decodeVector(t, "window-post-v1")
	s.Sectors, s.FirstPartition, s.Partitions = s.Sectors[2:], 1, 1
	require.NoError(t, checkAll(t, s, proofs[2:]))
	s.FirstPartition = 0
	err := checkAll(t, s, proofs[2:])
	require.ErrorIs(t, err, ErrOtherPartition)
	require.ErrorContains(t, err, "partition 1")
	s.FirstPartition = maxSearched + 1
	require.ErrorIs(t, checkAll(t, s, proofs[2:]), ErrOtherPartition)

	proofs[2].Paths[3] = proofs[2].Paths[4] // of no partition
	require.ErrorIs(t, checkAll(t, s, proofs[2:]), ErrChallenge)
}

func TestWinningPaths(t *testing.T) {
	s, proofs := decodeVector(t, "winning-post")
	proofs[0].Paths[40], proofs[0].Paths[41] = proofs[0].Paths[41], proofs[0].Paths[40]
	var got *CheckError
	require.ErrorAs(t, checkAll(t, s, proofs), &got)
	require.Equal(t, 40, got.Challenge)
	require.ErrorIs(t, got, ErrChallenge)
}

// The answer is the first failure in order, whatever the number of workers.
func TestCheckOrder(t *testing.T) {
	s, proofs := decodeVector(t, "window-post-32KiB")
	for _, v := range proofs[2:] {
		v.Paths[5].Leaf.SetOne()
	}
	for _, workers := range []int{-1, 0, 1, 2, 64} {
		var got *CheckError
		require.ErrorAs(t, s.Check(t.Context(), proofs, workers), &got)
		require.Equal(t, 2, got.Sector)
		require.Equal(t, uint64(1507), got.SectorID)
	}
}

func TestCheckCancelled(t *testing.T) {
	s, proofs := decodeVector(t, "window-post")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	require.ErrorIs(t, s.Check(ctx, proofs, 2), cause)
}

func TestNilVanilla(t *testing.T) {
	s, proofs := decodeVector(t, "window-post")
	proofs[1] = nil
	require.ErrorIs(t, s.Check(t.Context(), proofs, 1), ErrShape)
}

// The damaged prover inputs of the reference. Here none of them gets as far as a proof: a trailing
// byte is refused and a comm_r_last that does not fit is found before anything is proved.
func TestInvalidWitnesses(t *testing.T) {
	cases := circuittest.LoadJSON[invalid](t, "invalid.json")["window-post"].Witnesses
	require.Len(t, cases, 10)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			s := loadVector(t, "window-post").statement(t)
			data := blobs(t, "window-post")
			data[0] = damage(t, data[0], c.Change)
			proofs, err := DecodeAll(params(t, s), data)
			if err == nil {
				err = checkAll(t, StatementOf(s.Proof, s.Randomness, proofs), proofs)
				var check *CheckError
				require.ErrorAs(t, err, &check)
				require.Zero(t, check.Sector)
				return
			}
			var d *DecodeError
			require.ErrorAs(t, err, &d)
			require.Zero(t, d.Proof)
			switch {
			case c.Change["append"] != nil:
				require.ErrorIs(t, err, ErrTrailing)
			case c.Change["truncate_to"] != nil:
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			default:
				require.ErrorIs(t, err, ErrCount)
			}
		})
	}
}

// damage applies a change of invalid.json to a vanilla proof.
func damage(t *testing.T, data []byte, change map[string]json.RawMessage) []byte {
	t.Helper()
	data = append([]byte(nil), data...)
	for kind, value := range change {
		var n int
		var span [2]int
		switch kind {
		case "truncate_to":
			require.NoError(t, json.Unmarshal(value, &n))
			return data[:n]
		case "append":
			return append(data, 0)
		case "xor_1_at":
			require.NoError(t, json.Unmarshal(value, &n))
			data[n] ^= 1
			return data
		case "fill_ff":
			require.NoError(t, json.Unmarshal(value, &span))
			for i := span[0]; i < span[1]; i++ {
				data[i] = 0xff
			}
			return data
		}
	}
	t.Fatalf("change %v not understood", change)
	return nil
}

func BenchmarkCheck(b *testing.B) {
	s, proofs := decodeVector(b, "window-post-32KiB")
	for b.Loop() {
		require.NoError(b, s.Check(b.Context(), proofs, 1))
	}
}
