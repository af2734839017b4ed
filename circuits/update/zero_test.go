package update

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/pce"
)

// Nil pointers and zero values are errors everywhere, or what the documentation says of them.
func TestZeros(t *testing.T) {
	circuittest.RequireZerosRefused(t, map[string]any{
		"Blank": Blank, "Decode": Decode, "DecodeAll": DecodeAll, "ParamsFor": ParamsFor,
		"ParseRegisteredProof": ParseRegisteredProof,
		"RegisteredProofFor":   RegisteredProofFor, "RegisteredProofs": RegisteredProofs, "Sizes": Sizes,
		"nil Statement": (*Statement)(nil), "zero Statement": &Statement{},
		"nil Circuit": (*Circuit)(nil), "zero Circuit": &Circuit{},
		"nil Vanilla": (*Vanilla)(nil), "zero Vanilla": &Vanilla{}, "hollow Vanilla": &Vanilla{Challenges: make([]Challenge, 1)},
		"Params": Params{}, "Variant": Variant(255), "RegisteredProof": RegisteredProof(255),
		"FieldError": &FieldError{}, "DecodeError": &DecodeError{}, "CheckError": &CheckError{},
	},
		// Zero is a commitment like any other, as in the reference.
		"zero Statement.Validate", "zero Statement.PartitionCount", "zero Statement.Challenges", "zero Statement.PublicInputs",
	)
	var none *Statement
	require.ErrorIs(t, none.Validate(), ErrNil)
	require.ErrorIs(t, none.Check(t.Context(), nil, 0), ErrNil)
	require.ErrorIs(t, none.CheckPartition(t.Context(), 0, nil, 0), ErrNil)
	_, err := none.Join(nil)
	require.ErrorIs(t, err, ErrNil)
	_, err = (*Circuit)(nil).Witness(t.Context(), nil)
	require.ErrorIs(t, err, ErrNil)
	require.Empty(t, (*Circuit)(nil).Name())
	require.Nil(t, Params{}.Levels())
	require.Nil(t, Params{}.DataLevels())
}

// A proof whose paths have no levels is written without a panic, whatever the shape, and not read.
func TestAppendHollow(t *testing.T) {
	for _, size := range Sizes() {
		p, err := ParamsFor(Poseidon, size)
		require.NoError(t, err)
		_, err = Decode((&Vanilla{Challenges: make([]Challenge, p.Challenges)}).Append(nil, p), p)
		require.ErrorIs(t, err, ErrCount)
	}
}

// Blank circuits of impossible parameters are refused like any others.
func TestBlankOfImpossible(t *testing.T) {
	for _, p := range []Params{{}, {ApexLeaves: -1}, {Challenges: -1}, {SectorSize: 2 << 10, Challenges: 1 << 40}} {
		_, err := pce.Record(t.Context(), "x", Blank(p).Synthesize, nil)
		require.ErrorIs(t, err, ErrParams)
	}
}
