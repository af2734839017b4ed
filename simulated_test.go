package cuzk_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
)

// trapdoor is a verifying key whose secrets are known, so that proofs of any statement can be made without a
// witness and without the 60 GB of its parameters. The verifier can't tell them from others.
type trapdoor struct {
	alpha, beta, gamma, delta fr.Element
	ic                        []fr.Element
	key                       *groth16.VerifyingKey
}

// newTrapdoor makes a key for a number of public inputs.
func newTrapdoor(t testing.TB, inputs int) *trapdoor {
	t.Helper()
	d := &trapdoor{
		alpha: fr.NewElement(2), beta: fr.NewElement(3), gamma: fr.NewElement(5), delta: fr.NewElement(7),
		ic: make([]fr.Element, inputs+1),
	}
	d.ic[0] = fr.NewElement(11)
	for i := range inputs {
		d.ic[i+1].Square(&d.ic[i])
		d.ic[i+1].Add(&d.ic[i+1], &d.alpha)
	}
	_, _, g1, _ := bls12381.Generators()
	secrets := []fr.Element{d.alpha, d.beta, d.delta}
	single := bls12381.BatchScalarMultiplicationG1(&g1, secrets)
	k := srs.VerifyingKey{
		AlphaG1: single[0], BetaG1: single[1], DeltaG1: single[2],
		BetaG2: inG2(d.beta), GammaG2: inG2(d.gamma), DeltaG2: inG2(d.delta),
		IC: bls12381.BatchScalarMultiplicationG1(&g1, d.ic),
	}
	var err error
	d.key, err = groth16.ReadVerifyingKey(bytes.NewReader(k.Append(nil)))
	require.NoError(t, err)
	return d
}

// inG2 is x times the generator.
func inG2(x fr.Element) bls12381.G2Affine {
	_, _, _, g2 := bls12381.Generators()
	return bls12381.BatchScalarMultiplicationG2(&g2, []fr.Element{x})[0]
}

// prove makes a proof of the statement with the given public inputs: A and B are chosen, C follows from the
// verifier's equation.
func (d *trapdoor) prove(inputs []fr.Element) []byte {
	a, b := fr.NewElement(1_000_003), fr.NewElement(999_983)
	var c, p fr.Element
	sum := d.ic[0]
	for i := range inputs {
		sum.Add(&sum, p.Mul(&inputs[i], &d.ic[i+1]))
	}
	c.Mul(&a, &b)
	c.Sub(&c, p.Mul(&d.alpha, &d.beta))
	c.Sub(&c, p.Mul(&d.gamma, &sum))
	c.Mul(&c, p.Inverse(&d.delta))
	_, _, g1, _ := bls12381.Generators()
	points := bls12381.BatchScalarMultiplicationG1(&g1, []fr.Element{a, c})
	inB := inG2(b)
	proof := wire.AppendG1Compressed(nil, &points[0])
	proof = wire.AppendG2Compressed(proof, &inB)
	return wire.AppendG1Compressed(proof, &points[1])
}

// proveAll makes the proofs of all partitions.
func (d *trapdoor) proveAll(inputs [][]fr.Element) (proof []byte) {
	for _, x := range inputs {
		proof = append(proof, d.prove(x)...)
	}
	return proof
}

// deadline is a WindowPoSt statement of production size about so many sectors.
func deadline(sectors int) *post.Statement {
	s := &post.Statement{Proof: post.Window2KiBV1_2 + 3, Randomness: [32]byte{1, 2, 3}}
	for i := range sectors {
		var commR [32]byte
		binary.LittleEndian.PutUint64(commR[:], 0x9e3779b97f4a7c15*uint64(i+1))
		binary.LittleEndian.PutUint64(commR[23:], 0xbf58476d1ce4e5b9*uint64(i+1))
		commR[31] = 0x3f
		s.Sectors = append(s.Sectors, post.Sector{ID: uint64(1000 + i), CommR: commR})
	}
	return s
}

// TestVerifyProductionSize: two partitions of production size, for which there are no parameters here.
func TestVerifyProductionSize(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	window := deadline(2349 + 3)
	inputs, err := window.PublicInputs()
	require.NoError(t, err)
	require.Len(t, inputs, 2)
	d := newTrapdoor(t, 25_839)
	proof := d.proveAll(inputs)
	verdict := func() bool {
		ok, err := cuzk.VerifyWindowPoSt(t.Context(), d.key, window, proof)
		require.NoError(t, err)
		return ok
	}
	require.True(t, verdict())
	window.Sectors[2350].CommR[0] ^= 1
	require.False(t, verdict())
}

func TestVerifyUpdateOfEverySize(t *testing.T) {
	d := newTrapdoor(t, 4)
	for _, variant := range []update.Variant{update.Sha256, update.Poseidon} {
		for _, proof := range update.RegisteredProofs() {
			p, err := update.ParamsFor(variant, proof.SectorSize())
			require.NoError(t, err)
			s := &update.Statement{Proof: proof, CommROld: [32]byte{1}, CommRNew: [32]byte{2}, CommDNew: [32]byte{3}}
			if variant == update.Poseidon {
				s.Params = &p
			}
			inputs, err := s.PublicInputs()
			require.NoError(t, err)
			require.Len(t, inputs, p.Partitions)
			good := d.proveAll(inputs)
			ok, err := cuzk.VerifyUpdate(t.Context(), d.key, s, good)
			require.NoError(t, err)
			require.True(t, ok, p.Name())
			last := slices.Clone(good)
			copy(last[len(last)-groth16.ProofSize:], d.prove([]fr.Element{{}, {}, {}, {}}))
			ok, err = cuzk.VerifyUpdate(t.Context(), d.key, s, last)
			require.NoError(t, err)
			require.False(t, ok, p.Name())
		}
	}
}

// BenchmarkVerifyWindowPoSt verifies partitions of 2,349 sectors of 32 GiB, public inputs included.
func BenchmarkVerifyWindowPoSt(b *testing.B) {
	d := newTrapdoor(b, 25_839)
	for _, partitions := range []int{1, 2} {
		s := deadline(2349 * partitions)
		inputs, err := s.PublicInputs()
		require.NoError(b, err)
		proof := d.proveAll(inputs)
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			for b.Loop() {
				ok, err := cuzk.VerifyWindowPoSt(b.Context(), d.key, s, proof)
				require.NoError(b, err)
				require.True(b, ok)
			}
		})
	}
}
