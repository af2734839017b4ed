package porep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
)

// Public inputs of the vectors from chain values alone.
func TestStatementVectors(t *testing.T) {
	for _, name := range c1Vectors() {
		t.Run(name, func(t *testing.T) {
			v := loadVector(t, name)
			s := v.statement(t)
			require.Equal(t, v.RegisteredProofNumber, int(s.Proof))
			require.Equal(t, v.APIVersion, s.Proof.APIVersion().String())
			require.Equal(t, [32]byte(v.PoRepID), s.Proof.PoRepID())
			require.Equal(t, [32]byte(v.ProverID), ProverID(v.MinerActor))
			require.Equal(t, [32]byte(v.ReplicaID), s.ReplicaID())

			require.NoError(t, s.Validate())
			in, err := s.PublicInputs()
			require.NoError(t, err)
			require.Equal(t, v.PublicInputs, circuittest.HexesLE(in))
			if len(v.Challenges) != 0 {
				var want [][]uint64
				require.NoError(t, json.Unmarshal(v.Challenges, &want))
				got, err := s.Challenges()
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			if len(v.SyntheticChallenges) != 0 {
				c, err := s.claim()
				require.NoError(t, err)
				set := c.challenger.(synthetic)
				require.EqualValues(t, len(v.SyntheticChallenges), set.number)
				for i, node := range v.SyntheticChallenges {
					require.Equal(t, node, set.member(uint64(i)))
				}
			}
		})
	}
}

// sealInputs is a statement of aggregate/seal-inputs.json.
type sealInputs struct {
	vector
	ChallengesPerPartition int      `json:"challenges_per_partition"`
	InputsPerPartition     int      `json:"inputs_per_partition"`
	FirstPartition         []string `json:"first_partition_le"`
	SHA256PerPartition     []string `json:"sha256_per_partition"`
}

// Statements of 15 registered proofs up to 64 GiB, non-interactive ones among them.
func TestStatementsOfAllSizes(t *testing.T) {
	for _, v := range circuittest.LoadJSON[[]sealInputs](t, "seal-inputs.json.zst") {
		t.Run(v.RegisteredProof, func(t *testing.T) {
			s := v.statement(t)
			require.Equal(t, v.RegisteredProofNumber, int(s.Proof))
			require.Equal(t, [32]byte(v.ReplicaID), s.ReplicaID())
			p, err := s.Proof.Params()
			require.NoError(t, err)
			require.Equal(t, v.Partitions, p.Partitions)
			require.Equal(t, v.ChallengesPerPartition, p.Challenges)
			require.Equal(t, v.InputsPerPartition, p.PublicInputCount())
			in, err := s.PublicInputs()
			if s.Proof.Feature() == NonInteractive {
				var u *UnsupportedError
				require.ErrorAs(t, err, &u)
				require.Equal(t, s.Proof, u.Proof)
				return
			}
			require.NoError(t, err)
			require.Equal(t, v.FirstPartition, circuittest.HexesLE(in)[0])
			for k := range in {
				require.Equal(t, v.SHA256PerPartition[k], sha256LE(in[k]))
			}
			var want, got []uint64
			require.NoError(t, json.Unmarshal(v.Challenges, &want))
			byPartition, err := s.Challenges()
			require.NoError(t, err)
			for _, c := range byPartition {
				got = append(got, c...)
			}
			require.Equal(t, want, got)
		})
	}
}

func sha256LE(in []fr.Element) string {
	h := sha256.New()
	for _, e := range in {
		var b [fr.Bytes]byte
		fr.LittleEndian.PutElement(&b, e)
		h.Write(b[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestStatementRefusals(t *testing.T) {
	r := fr.Modulus().FillBytes(make([]byte, 32))
	var modulusLE [32]byte
	for i := range r {
		modulusLE[31-i] = r[i]
	}
	for name, c := range map[string]struct {
		change func(*Statement)
		field  string
		err    error
	}{
		"comm_r zero":           {func(s *Statement) { s.CommR = [32]byte{} }, "comm_r", ErrZero},
		"comm_d zero":           {func(s *Statement) { s.CommD = [32]byte{} }, "comm_d", ErrZero},
		"comm_r is the modulus": {func(s *Statement) { s.CommR = modulusLE }, "comm_r", ErrNonCanonical},
		"comm_d is the modulus": {func(s *Statement) { s.CommD = modulusLE }, "comm_d", ErrNonCanonical},
		"unknown proof":         {func(s *Statement) { s.Proof = 20 }, "", ErrProofType},
		"non-interactive":       {func(s *Statement) { s.Proof = StackedDrg2KiBV1_2NonInteractive }, "", ErrUnsupported},
		"impossible parameters": {func(s *Statement) { s.Params = &Params{} }, "", ErrParams},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadVector(t, "porep").statement(t)
			c.change(s)
			require.ErrorIs(t, s.Validate(), c.err)
			_, err := s.PublicInputs()
			require.ErrorIs(t, err, c.err)
			_, err = s.Challenges()
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

// The changed statements of invalid/porep.json: where the reference answers an error, so does
// Validate; where it answers false, the public inputs differ from those of the good statement.
func TestInvalidStatements(t *testing.T) {
	good, err := loadVector(t, "porep").statement(t).PublicInputs()
	require.NoError(t, err)
	cases := circuittest.LoadJSON[struct {
		Statements []struct {
			Name, Error string
			Verdict     any
			Change      json.RawMessage
		}
	}](t, "invalid.json").Statements
	require.Len(t, cases, 12)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			v := loadVector(t, "porep")
			require.NoError(t, json.Unmarshal(c.Change, v))
			in, err := v.statement(t).PublicInputs()
			if c.Verdict == "error" {
				var field *FieldError
				require.ErrorAs(t, err, &field)
				require.Contains(t, c.Error, "("+field.Field+")")
				return
			}
			require.Equal(t, false, c.Verdict)
			require.NoError(t, err)
			require.NotEqual(t, circuittest.HexesLE(good), circuittest.HexesLE(in))
		})
	}
}

func TestProverID(t *testing.T) {
	require.Equal(t, [32]byte{0xe8, 0x07}, ProverID(1000))
	require.Equal(t, [32]byte{}, ProverID(0))
	require.Equal(t, byte(1), ProverID(1<<64 - 1)[9])
}
