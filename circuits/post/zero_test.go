package post

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/pce"
)

// Nil pointers and zero values are errors everywhere, or what the documentation says of them.
func TestZeros(t *testing.T) {
	circuittest.RequireZerosRefused(t, map[string]any{
		"Blank": Blank, "Decode": Decode, "DecodeAll": DecodeAll, "Merge": Merge, "OneProofType": OneProofType,
		"ParamsFor":            ParamsFor,
		"ParseRegisteredProof": ParseRegisteredProof, "RegisteredProofFor": RegisteredProofFor,
		"RegisteredProofs": RegisteredProofs,
		"Sizes":            Sizes, "StatementOf": StatementOf, "WinningSector": WinningSector,
		"nil Statement": (*Statement)(nil), "zero Statement": &Statement{},
		"nil Circuit": (*Circuit)(nil), "zero Circuit": &Circuit{}, "hollow Circuit": &Circuit{Sectors: make([]SectorProof, 1)},
		"nil Vanilla": (*Vanilla)(nil), "zero Vanilla": &Vanilla{}, "hollow Vanilla": &Vanilla{Paths: make([]MerklePath, 1)},
		"Params": Params{}, "Kind": Kind(255), "APIVersion": APIVersion(255), "RegisteredProof": RegisteredProof(255),
		"FieldError": &FieldError{}, "DecodeError": &DecodeError{}, "CheckError": &CheckError{},
	})
	var none *Statement
	require.Nil(t, none.Normalized())
	require.ErrorIs(t, none.Validate(), ErrNil)
	require.ErrorIs(t, none.Check(t.Context(), nil, 0), ErrNil)
	_, err := none.Split(Proof{})
	require.ErrorIs(t, err, ErrNil)
	_, err = (*Circuit)(nil).Witness(t.Context(), nil)
	require.ErrorIs(t, err, ErrNil)
	require.Empty(t, (*Circuit)(nil).Name())
	require.Nil(t, Params{}.Levels())
}

// A nil among vanilla proofs becomes a sector that Validate refuses.
func TestStatementOfNil(t *testing.T) {
	s, proofs := decodeVector(t, "window-post")
	proofs[1] = nil
	s = StatementOf(s.Proof, s.Randomness, proofs)
	var field *FieldError
	require.ErrorAs(t, s.Validate(), &field)
	require.Equal(t, "sectors[1].comm_r", field.Field)
	require.ErrorIs(t, field, ErrZero)
	require.ErrorIs(t, s.Check(t.Context(), proofs, 0), ErrZero)
}

// A path without levels is written without a panic, whatever the shape.
func TestAppendHollow(t *testing.T) {
	for _, size := range Sizes() {
		p, err := ParamsFor(Window, size)
		require.NoError(t, err)
		_, err = Decode((&Vanilla{Paths: make([]MerklePath, p.PathsPerProof())}).Append(nil, p.Shape), p)
		require.ErrorIs(t, err, ErrCount)
	}
}

// Blank circuits of impossible parameters are refused like any others.
func TestBlankOfImpossible(t *testing.T) {
	for _, p := range []Params{{}, {Sectors: -1}, {Kind: Window, SectorSize: 2 << 10, Sectors: 1 << 40, Challenges: 10}} {
		_, err := pce.Record(t.Context(), "x", Blank(p).Synthesize, nil)
		require.ErrorIs(t, err, ErrParams)
	}
}
