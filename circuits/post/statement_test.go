package post

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
)

// Challenges and public inputs of the vectors from chain values alone.
func TestStatementVectors(t *testing.T) {
	for _, name := range vectorNames() {
		t.Run(name, func(t *testing.T) {
			v := loadVector(t, name)
			s := v.statement(t)
			if v.SameShapeAs == "" {
				require.Equal(t, v.RegisteredProofNumber, int(s.Proof))
			}
			require.Equal(t, v.APIVersion, s.Proof.APIVersion().String())
			p := params(t, s)
			require.Equal(t, v.SectorsPerPartition, p.Sectors)
			require.Equal(t, v.ChallengesPerSector, p.Challenges)

			require.NoError(t, s.Validate())
			n, err := s.PartitionCount()
			require.NoError(t, err)
			require.Equal(t, v.Partitions, n)
			challenges, err := s.Challenges()
			require.NoError(t, err)
			for i, sector := range v.Sectors {
				require.Equal(t, sector.Challenges, challenges[i])
			}
			in, err := s.PublicInputs()
			require.NoError(t, err)
			require.Equal(t, v.PublicInputs, circuittest.HexesLE(in))
		})
	}
}

// A partition that is stated by itself has the public inputs that it has in the whole.
func TestSinglePartition(t *testing.T) {
	for _, name := range []string{"window-post", "window-post-v1", "window-post-32KiB"} {
		v := loadVector(t, name)
		for k := range v.Partitions {
			s := v.statement(t)
			s.Sectors = s.Sectors[k*v.SectorsPerPartition : min((k+1)*v.SectorsPerPartition, len(s.Sectors))]
			s.FirstPartition, s.Partitions = k, 1
			in, err := s.PublicInputs()
			require.NoError(t, err)
			require.Equal(t, v.PublicInputs[k:k+1], circuittest.HexesLE(in))
		}
	}
}

// The challenges of a real 32 GiB sector with randomness zero (spec §6.3).
func TestChallengesOf32GiB(t *testing.T) {
	s := &Statement{Proof: Window2KiBV1_2 + 3, Sectors: []Sector{{ID: 1, CommR: [32]byte{1}}}}
	got, err := s.Challenges()
	require.NoError(t, err)
	require.Equal(t, [][]uint64{{
		707914199, 439148358, 967788220, 548708700, 1061661429, 6202012, 1055504637, 389535735, 1000069704, 600088878,
	}}, got)
}

// The sector that the reference picked.
func TestWinningSector(t *testing.T) {
	for _, name := range []string{"winning-post", "winning-post-32KiB"} {
		v := loadVector(t, name)
		got, err := WinningSector(v.Randomness, v.ProverID, uint64(len(v.Eligible)))
		require.NoError(t, err)
		require.Equal(t, v.Picked, []uint64{got})
		require.Equal(t, v.Sectors[0].ID, v.Eligible[got].ID)
	}
	_, err := WinningSector([32]byte{}, [32]byte{}, 0)
	require.ErrorIs(t, err, ErrNoSectors)
	for field, c := range map[string][2][32]byte{"randomness": {{31: 0xff}, {}}, "prover_id": {{}, {31: 0xff}}} {
		_, err := WinningSector(c[0], c[1], 1)
		var f *FieldError
		require.ErrorAs(t, err, &f)
		require.Equal(t, field, f.Field)
		require.ErrorIs(t, err, ErrNonCanonical)
	}
}

// A full partition of the largest sectors, and one sector more.
func TestPartitionCount(t *testing.T) {
	for _, c := range []struct {
		proof       RegisteredProof
		sectors, ok int
	}{
		{Window2KiBV1, 1, 1}, {Window2KiBV1, 2, 1}, {Window2KiBV1, 3, 2},
		{Window2KiBV1_2 + 3, 2349, 1}, {Window2KiBV1_2 + 3, 2350, 2}, {Window2KiBV1_2 + 4, 2300, 1}, {Window2KiBV1_2 + 4, 4601, 3},
		{Winning2KiBV1, 1, 1},
	} {
		s := &Statement{Proof: c.proof}
		for i := range c.sectors {
			s.Sectors = append(s.Sectors, Sector{ID: uint64(i), CommR: [32]byte{1}})
		}
		n, err := s.PartitionCount()
		require.NoError(t, err)
		require.Equal(t, c.ok, n)
		s.Partitions = c.ok
		require.NoError(t, s.Validate())
		s.Partitions = c.ok - 1
		if s.Partitions > 0 {
			require.ErrorIs(t, s.Validate(), ErrTooManySectors)
		}
	}
}

func TestStatementRefusals(t *testing.T) {
	r := fr.Modulus().FillBytes(make([]byte, 32))
	slices.Reverse(r)
	modulus := [32]byte(r)
	for name, c := range map[string]struct {
		change func(*Statement)
		field  string
		err    error
	}{
		"randomness is the modulus": {func(s *Statement) { s.Randomness = modulus }, "randomness", ErrNonCanonical},
		"comm_r zero":               {func(s *Statement) { s.Sectors[4].CommR = [32]byte{} }, "sectors[4].comm_r", ErrZero},
		"comm_r is the modulus":     {func(s *Statement) { s.Sectors[0].CommR = modulus }, "sectors[0].comm_r", ErrNonCanonical},
		"unknown proof":             {func(s *Statement) { s.Proof = 15 }, "", ErrProofType},
		"impossible parameters":     {func(s *Statement) { s.Params = &Params{Kind: Window} }, "", ErrParams},
		"parameters of the other":   {func(s *Statement) { s.Params = &Params{} }, "", ErrParams},
		"no sectors":                {func(s *Statement) { s.Sectors = nil }, "", ErrNoSectors},
		"five winning sectors":      {func(s *Statement) { s.Proof = Winning2KiBV1 }, "", ErrTooManySectors},
		"winning partition 1":       {func(s *Statement) { s.Proof, s.FirstPartition = Winning2KiBV1, 1 }, "", ErrPartition},
		"too many sectors":          {func(s *Statement) { s.Partitions = 2 }, "", ErrTooManySectors},
		"partition without sectors": {func(s *Statement) { s.Partitions = 4 }, "", ErrPartition},
		"negative partition":        {func(s *Statement) { s.FirstPartition = -1 }, "", ErrPartition},
		"negative partitions":       {func(s *Statement) { s.Partitions = -1 }, "", ErrPartition},
		"absurd partition":          {func(s *Statement) { s.FirstPartition = 1 << 62 }, "", ErrPartition},
		"duplicate":                 {func(s *Statement) { s.Sectors[3] = s.Sectors[2] }, "", ErrDuplicate},
		"order":                     {func(s *Statement) { s.Sectors[3], s.Sectors[2] = s.Sectors[2], s.Sectors[3] }, "", ErrOrder},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadVector(t, "window-post").statement(t)
			c.change(s)
			require.ErrorIs(t, s.Validate(), c.err)
			for _, sentinel := range []error{
				ErrNonCanonical, ErrZero, ErrProofType, ErrParams, ErrNoSectors, ErrTooManySectors, ErrPartition, ErrDuplicate, ErrOrder,
			} {
				require.Equal(t, sentinel == c.err, errorsIs(s.Validate(), sentinel))
			}
			_, err := s.PublicInputs()
			require.ErrorIs(t, err, c.err)
			_, err = s.Challenges()
			require.ErrorIs(t, err, c.err)
			_, err = s.Circuits(nil)
			require.ErrorIs(t, err, c.err)
			var field *FieldError
			if c.field != "" {
				require.ErrorAs(t, err, &field)
				require.Equal(t, c.field, field.Field)
				require.ErrorContains(t, err, c.field)
			}
		})
	}
}

func TestNormalized(t *testing.T) {
	s := &Statement{Sectors: []Sector{{3, [32]byte{1}}, {1, [32]byte{2}}, {3, [32]byte{3}}, {2, [32]byte{4}}}}
	require.Equal(t, []Sector{{1, [32]byte{2}}, {2, [32]byte{4}}, {3, [32]byte{3}}}, s.Normalized().Sectors)
	require.Len(t, s.Sectors, 4)
	require.Equal(t, uint64(3), s.Sectors[0].ID)
}

// invalid are the changed inputs of invalid.json.
type invalid map[string]struct {
	Statements []struct {
		Name, Error string
		Verdict     any
		Change      map[string]json.RawMessage
	}
	Witnesses []struct {
		Name, Error string
		Verdict     any
		Change      map[string]json.RawMessage
	}
}

// The changed statements of the reference: where it answers an error, so does PublicInputs or Split;
// where it answers false, the public inputs differ from those of the good statement; where it answers
// true, they do not.
func TestInvalidStatements(t *testing.T) {
	cases := circuittest.LoadJSON[invalid](t, "invalid.json")
	require.Len(t, cases["window-post"].Statements, 8)
	require.Len(t, cases["winning-post"].Statements, 6)
	for name, list := range cases {
		good, err := loadVector(t, name).statement(t).PublicInputs()
		require.NoError(t, err)
		for _, c := range list.Statements {
			t.Run(name+" "+c.Name, func(t *testing.T) {
				s := loadVector(t, name).statement(t)
				changeStatement(t, s, c.Change)
				s = s.Normalized()
				in, err := s.PublicInputs()
				if err == nil {
					_, err = s.Split(Proof{Type: s.Proof, Bytes: make([]byte, len(good)*ProofSize)})
				}
				if c.Verdict == "error" {
					var field *FieldError
					switch {
					case strings.Contains(c.Error, "(randomness)"):
						require.ErrorAs(t, err, &field)
						require.Equal(t, "randomness", field.Field)
					case strings.Contains(c.Error, "(comm_r)"):
						require.ErrorAs(t, err, &field)
						require.Equal(t, "sectors[0].comm_r", field.Field)
					default:
						require.ErrorIs(t, err, ErrProofLength)
					}
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.Verdict, fmt.Sprint(circuittest.HexesLE(good)) == fmt.Sprint(circuittest.HexesLE(in)))
			})
		}
	}
}

func changeStatement(t *testing.T, s *Statement, change map[string]json.RawMessage) {
	t.Helper()
	for field, value := range change {
		var b circuittest.Hex32
		var n int
		switch field {
		case "randomness":
			require.NoError(t, json.Unmarshal(value, &b))
			s.Randomness = b
		case "comm_r[0]":
			require.NoError(t, json.Unmarshal(value, &b))
			s.Sectors[0].CommR = b
		case "sector_id[0]":
			require.NoError(t, json.Unmarshal(value, &s.Sectors[0].ID))
		case "drop":
			require.NoError(t, json.Unmarshal(value, &n))
			s.Sectors = slices.Delete(s.Sectors, n, n+1)
		case "exchange":
			s.Sectors[0].CommR, s.Sectors[1].CommR = s.Sectors[1].CommR, s.Sectors[0].CommR
		default:
			require.Equal(t, "prover_id", field) // not part of the statement
		}
	}
}

func TestMergeAndSplit(t *testing.T) {
	s := loadVector(t, "window-post").statement(t)
	var parts []Proof
	for k := range 3 {
		p := Proof{Type: s.Proof, Bytes: make([]byte, ProofSize)}
		p.Bytes[0] = byte(k)
		parts = append(parts, p)
	}
	whole, err := Merge(parts)
	require.NoError(t, err)
	require.Equal(t, s.Proof, whole.Type)
	again, err := s.Split(whole)
	require.NoError(t, err)
	for k := range again {
		require.Equal(t, parts[k].Bytes, again[k])
	}
	_, err = Merge(nil)
	require.ErrorIs(t, err, ErrNoSectors)
	_, err = Merge([]Proof{parts[0], {Type: Window2KiBV1, Bytes: parts[1].Bytes}})
	require.ErrorIs(t, err, ErrMixed)
	_, err = Merge([]Proof{parts[0], {Type: s.Proof, Bytes: parts[1].Bytes[1:]}})
	require.ErrorIs(t, err, ErrProofLength)
	_, err = Merge([]Proof{{Type: Winning2KiBV1, Bytes: parts[0].Bytes}, {Type: Winning2KiBV1, Bytes: parts[0].Bytes}})
	require.ErrorIs(t, err, ErrProofLength)
	_, err = s.Split(Proof{Type: s.Proof, Bytes: whole.Bytes[1:]})
	require.ErrorIs(t, err, ErrProofLength)
	_, err = s.Split(Proof{Type: Window2KiBV1, Bytes: whole.Bytes})
	require.ErrorIs(t, err, ErrMixed)
	_, err = s.Split(Proof{Type: s.Proof, Bytes: append(whole.Bytes, 0)})
	require.ErrorIs(t, err, ErrProofLength)
}
