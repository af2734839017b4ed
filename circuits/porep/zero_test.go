package porep

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/gocuzk/cuzk/pce"
)

// Nil pointers and zero values are errors everywhere, or what the documentation says of them.
func TestZeros(t *testing.T) {
	circuittest.RequireZerosRefused(t, map[string]any{
		"Blank": Blank, "DecodeC1": DecodeC1, "ParamsFor": ParamsFor, "ParseRegisteredProof": ParseRegisteredProof,
		"ProverID": ProverID, "RegisteredProofFor": RegisteredProofFor, "RegisteredProofs": RegisteredProofs, "Sizes": Sizes,
		"nil Statement": (*Statement)(nil), "zero Statement": &Statement{},
		"nil C1": (*C1)(nil), "zero C1": &C1{}, "hollow C1": &C1{Seed: [32]byte{1}, Partitions: [][]Challenge{{{}}}},
		"nil Circuit": (*Circuit)(nil), "zero Circuit": &Circuit{}, "hollow Circuit": &Circuit{Challenges: make([]Challenge, 1)},
		"Params": Params{}, "APIVersion": APIVersion(255), "Feature": Feature(255), "RegisteredProof": RegisteredProof(255),
		"FieldError": &FieldError{}, "DecodeError": &DecodeError{}, "CheckError": &CheckError{},
		"UnsupportedError": &UnsupportedError{},
	})
	var none *Statement
	require.ErrorIs(t, none.Validate(), ErrNil)
	require.Zero(t, none.ReplicaID())
	var c1 *C1
	require.ErrorIs(t, c1.Check(t.Context(), 0), ErrNil)
	require.ErrorIs(t, c1.CheckPartition(t.Context(), 0, 0), ErrNil)
	require.ErrorIs(t, c1.EncodeJSON(io.Discard), ErrNil)
	_, err := c1.Witness(t.Context(), 0, nil)
	require.ErrorIs(t, err, ErrNil)
	_, err = c1.Statement(0, 0)
	require.ErrorIs(t, err, ErrNil)
	_, err = DecodeC1(nil, nil)
	require.ErrorIs(t, err, ErrNil)
	require.Empty(t, (*Circuit)(nil).Name())
	require.Nil(t, Params{}.Levels())
}

// There is no document of a phase-1 output without the shape of its parameters.
func TestEncodeHollow(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*C1)
		err    error
	}{
		"zero":          {func(c *C1) { *c = C1{} }, ErrParams},
		"no partitions": {func(c *C1) { c.Partitions = nil }, ErrCount},
		"no challenges": {func(c *C1) { c.Partitions[0] = nil }, ErrCount},
		"zero proof":    {func(c *C1) { c.Partitions[0][1] = Challenge{} }, ErrCount},
		"no labels":     {func(c *C1) { c.Partitions[0][1].Labels = nil }, ErrCount},
		"no column":     {func(c *C1) { c.Partitions[0][0].Exp[3] = Column{} }, ErrCount},
	} {
		c1, _, _ := decodeVector(t, "porep")
		require.NoError(t, c1.EncodeJSON(io.Discard), name)
		require.ErrorIs(t, c1.EncodeJSON(nil), ErrNil, name)
		c.change(c1)
		require.ErrorIs(t, c1.EncodeJSON(io.Discard), c.err, name)
		require.ErrorIs(t, c1.EncodeLotus(io.Discard, 1), c.err, name)
	}
}

// Blank circuits of impossible parameters are refused like any others.
func TestBlankOfImpossible(t *testing.T) {
	noShape := Params{SectorSize: 2 << 10, Layers: 2, Partitions: 1, Challenges: 1}
	for _, p := range []Params{{}, {Challenges: 1}, {Challenges: -1}, noShape} {
		_, err := pce.Record(t.Context(), "x", Blank(p).Synthesize, nil)
		require.ErrorIs(t, err, ErrParams)
	}
}
