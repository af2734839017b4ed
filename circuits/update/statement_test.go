package update

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
)

// Public inputs of the vectors from chain values alone.
func TestStatementVectors(t *testing.T) {
	for _, name := range vectorNames() {
		v := loadVector(t, name)
		s := v.statement(t)
		require.NoError(t, s.Validate())
		n, err := s.PartitionCount()
		require.NoError(t, err)
		require.Equal(t, v.Partitions, n)
		require.Equal(t, v.H, params(t, s).H)
		in, err := s.PublicInputs()
		require.NoError(t, err)
		require.Equal(t, v.PublicInputs, circuittest.HexesLE(in))
	}
}

// Challenges are those whose nodes the reference put into its vanilla proofs.
func TestChallenges(t *testing.T) {
	for _, name := range vectorNames() {
		s, proofs := decodeVector(t, name)
		challenges, err := s.Challenges()
		require.NoError(t, err)
		for k, v := range proofs {
			for i := range v.Challenges {
				require.Equal(t, v.Challenges[i].ROld.Index(), challenges[k][i])
			}
		}
	}
}

func TestBitsOf(t *testing.T) {
	words := [4]uint64{0x8000000000000001, 0x3, 0, 0xf << 60}
	require.Equal(t, uint64(1), bitsOf(words, 0, 26))
	require.Equal(t, uint64(7), bitsOf(words, 63, 26))
	require.Equal(t, uint64(3), bitsOf(words, 64, 2))
	require.Equal(t, uint64(0), bitsOf(words, 66, 62))
	require.Equal(t, uint64(0xf), bitsOf(words, 252, 4))
}

func TestStatementRefusals(t *testing.T) {
	r := fr.Modulus().FillBytes(make([]byte, 32))
	slices.Reverse(r)
	modulus := [32]byte(r)
	for name, c := range map[string]struct {
		change func(*Statement)
		err    error
	}{
		"comm_r_old": {func(s *Statement) { s.CommROld = modulus }, ErrNonCanonical},
		"comm_r_new": {func(s *Statement) { s.CommRNew = modulus }, ErrNonCanonical},
		"comm_d_new": {func(s *Statement) { s.CommDNew = modulus }, ErrNonCanonical},
		"proof":      {func(s *Statement) { s.Proof = 5 }, ErrProofType},
		"params":     {func(s *Statement) { s.Params = &Params{} }, ErrParams},
	} {
		t.Run(name, func(t *testing.T) {
			s := loadVector(t, "snap-deals").statement(t)
			c.change(s)
			require.ErrorIs(t, s.Validate(), c.err)
			_, err := s.PublicInputs()
			require.ErrorIs(t, err, c.err)
			_, err = s.Challenges()
			require.ErrorIs(t, err, c.err)
			_, err = s.Circuits(nil)
			require.ErrorIs(t, err, c.err)
			_, err = s.Circuit(0, nil)
			require.ErrorIs(t, err, c.err)
			_, err = s.Split(nil)
			require.ErrorIs(t, err, c.err)
			_, err = s.Join(nil)
			require.ErrorIs(t, err, c.err)
			var f *FieldError
			if c.err == ErrNonCanonical {
				require.ErrorAs(t, err, &f)
				require.Equal(t, name, f.Field)
				require.ErrorContains(t, err, name)
			}
		})
	}
}

// invalid are the changed inputs of invalid.json.
type invalid struct {
	Statements []struct {
		Name, Error string
		Verdict     any
		Change      struct {
			CommROld circuittest.Hex32 `json:"comm_r_old"`
			CommRNew circuittest.Hex32 `json:"comm_r_new"`
			CommDNew circuittest.Hex32 `json:"comm_d_new"`
		}
	}
	Witnesses []struct {
		Name    string
		Verdict any
		Change  map[string]json.RawMessage
	}
}

// The changed statements of the reference: where it panics, there is an error; where it answers false,
// the public inputs differ from those of the good statement.
func TestInvalidStatements(t *testing.T) {
	good, err := loadVector(t, "snap-deals").statement(t).PublicInputs()
	require.NoError(t, err)
	cases := circuittest.LoadJSON[invalid](t, "invalid.json").Statements
	require.Len(t, cases, 7)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			s := loadVector(t, "snap-deals").statement(t)
			s.CommROld, s.CommRNew, s.CommDNew = c.Change.CommROld, c.Change.CommRNew, c.Change.CommDNew
			in, err := s.PublicInputs()
			if c.Verdict == "panic" {
				require.ErrorIs(t, err, ErrNonCanonical)
				return
			}
			require.Equal(t, false, c.Verdict)
			require.NoError(t, err)
			require.NotEqual(t, fmt.Sprint(circuittest.HexesLE(good)), fmt.Sprint(circuittest.HexesLE(in)))
		})
	}
}

func TestJoinAndSplit(t *testing.T) {
	s := loadVector(t, "snap-deals-8MiB").statement(t)
	parts := make([][]byte, 4)
	for k := range parts {
		parts[k] = make([]byte, ProofSize)
		parts[k][0] = byte(k)
	}
	proof, err := s.Join(parts)
	require.NoError(t, err)
	require.Len(t, proof, 4*ProofSize)
	again, err := s.Split(proof)
	require.NoError(t, err)
	require.Equal(t, parts, again)
	_, err = s.Join(parts[1:])
	require.ErrorIs(t, err, ErrProofLength)
	_, err = s.Join([][]byte{parts[0], parts[1], parts[2], parts[3][1:]})
	require.ErrorIs(t, err, ErrProofLength)
	for _, bad := range [][]byte{nil, proof[1:], proof[ProofSize:], append(proof, 0)} {
		_, err = s.Split(bad)
		require.ErrorIs(t, err, ErrProofLength)
	}
}
