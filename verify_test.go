package cuzk_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/groth16"
)

// hexBytes are bytes that are hex digits in JSON.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

func (h hexBytes) array() [32]byte { return [32]byte(h) }

// chainValues are a statement as the reference's vectors have it.
type chainValues struct {
	RegisteredProof             string   `json:"registered_proof"`
	ProverID                    hexBytes `json:"prover_id"`
	SectorID                    uint64   `json:"sector_id"`
	Ticket, Seed                hexBytes
	CommR                       hexBytes `json:"comm_r"`
	CommD                       hexBytes `json:"comm_d"`
	CommROld                    hexBytes `json:"comm_r_old"`
	CommRNew                    hexBytes `json:"comm_r_new"`
	CommDNew                    hexBytes `json:"comm_d_new"`
	Randomness                  hexBytes
	Sectors                     []sectorValues
	Proof                       hexBytes
	SinglePartitionProofsMerged hexBytes `json:"single_partition_proofs_merged"`
}

type sectorValues struct {
	ID    uint64   `json:"sector_id"`
	CommR hexBytes `json:"comm_r"`
}

// readVector reads a JSON file below groth16/testdata or circuits, decompressed if it is a .zst.
func readVector(t testing.TB, to any, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	if filepath.Ext(name) == ".zst" {
		d, err := zstd.NewReader(nil)
		require.NoError(t, err)
		defer d.Close()
		b, err = d.DecodeAll(b, nil)
		require.NoError(t, err)
	}
	require.NoError(t, json.Unmarshal(b, to))
}

func verifyingKey(t testing.TB, vector string) *groth16.VerifyingKey {
	t.Helper()
	vk, err := groth16.OpenVerifyingKey(filepath.Join("groth16/testdata", vector, "vk"))
	require.NoError(t, err)
	return vk
}

func (v *chainValues) seal(t testing.TB) *porep.Statement {
	t.Helper()
	proof, err := porep.ParseRegisteredProof(v.RegisteredProof)
	require.NoError(t, err)
	return &porep.Statement{
		Proof: proof, ProverID: v.ProverID.array(), SectorNumber: v.SectorID, Ticket: v.Ticket.array(), Seed: v.Seed.array(),
		CommR: v.CommR.array(), CommD: v.CommD.array(),
	}
}

func (v *chainValues) post(t testing.TB) *post.Statement {
	t.Helper()
	proof, err := post.ParseRegisteredProof(v.RegisteredProof)
	require.NoError(t, err)
	s := &post.Statement{Proof: proof, Randomness: v.Randomness.array()}
	for _, sector := range v.Sectors {
		s.Sectors = append(s.Sectors, post.Sector{ID: sector.ID, CommR: sector.CommR.array()})
	}
	return s
}

func (v *chainValues) update(t testing.TB) *update.Statement {
	t.Helper()
	proof, err := update.ParseRegisteredProof(v.RegisteredProof)
	require.NoError(t, err)
	return &update.Statement{
		Proof: proof, CommROld: v.CommROld.array(), CommRNew: v.CommRNew.array(), CommDNew: v.CommDNew.array(),
	}
}

// verifyVector is the verdict on a vector's statement, which may have been changed.
func verifyVector(t testing.TB, name string, vk *groth16.VerifyingKey, v *chainValues, proof []byte) (bool, error) {
	t.Helper()
	ctx := t.Context()
	switch name {
	case "porep":
		return cuzk.VerifySeal(ctx, vk, v.seal(t), proof)
	case "winning-post":
		return cuzk.VerifyWinningPoSt(ctx, vk, v.post(t), proof)
	case "window-post":
		return cuzk.VerifyWindowPoSt(ctx, vk, v.post(t), proof)
	}
	return cuzk.VerifyUpdate(ctx, vk, v.update(t), proof)
}

// change applies a change of the vectors of invalid statements.
func (v *chainValues) change(t *testing.T, changes map[string]json.RawMessage) {
	t.Helper()
	for name, value := range changes {
		read := func(to any) { require.NoError(t, json.Unmarshal(value, to)) }
		var n int
		var pair [2]int
		switch name {
		case "comm_r[0]":
			read(&v.Sectors[0].CommR)
		case "sector_id[0]":
			read(&v.Sectors[0].ID)
		case "exchange":
			read(&pair)
			a, b := &v.Sectors[pair[0]], &v.Sectors[pair[1]]
			a.CommR, b.CommR = b.CommR, a.CommR
		case "drop":
			read(&n)
			v.Sectors = slices.Delete(v.Sectors, n, n+1)
		case "porep_id": // that of the registered proof
		default:
			b, err := json.Marshal(map[string]json.RawMessage{name: value})
			require.NoError(t, err)
			d := json.NewDecoder(bytes.NewReader(b))
			d.DisallowUnknownFields()
			require.NoError(t, d.Decode(v))
		}
	}
}

type invalidVectors struct {
	Proofs []struct {
		Name    string
		Proof   hexBytes
		Verdict any
	}
	Statements []struct {
		Name    string
		Change  map[string]json.RawMessage
		Verdict any
	}
}

func invalidOf(t *testing.T, name string) (list invalidVectors) {
	t.Helper()
	if name != "porep" {
		readVector(t, &list, "groth16/testdata", name, "invalid.json.zst")
		return list
	}
	readVector(t, &list, "circuits/porep/testdata/invalid.json")
	readVector(t, &list, "groth16/testdata/porep/invalid.json")
	return list
}

// The reference's verdicts on damaged proofs and on changed statements. Where it has none, because it answers an
// error or panics, there is an error.
func TestVerdictsEqualReference(t *testing.T) {
	counts := map[string][2]int{"porep": {45, 12}, "winning-post": {45, 6}, "window-post": {48, 8}, "snap-deals": {45, 7}}
	for name, want := range counts {
		t.Run(name, func(t *testing.T) {
			vk := verifyingKey(t, name)
			var v chainValues
			readVector(t, &v, "groth16/testdata", name, "inputs.json")
			good, err := os.ReadFile(filepath.Join("groth16/testdata", name, "proof.bin"))
			require.NoError(t, err)
			list := invalidOf(t, name)
			require.Equal(t, want, [2]int{len(list.Proofs), len(list.Statements)})
			for _, c := range list.Proofs {
				ok, err := verifyVector(t, name, vk, &v, c.Proof)
				requireVerdict(t, c.Name, c.Verdict, ok, err)
			}
			for _, c := range list.Statements {
				var changed chainValues
				readVector(t, &changed, "groth16/testdata", name, "inputs.json")
				changed.change(t, c.Change)
				ok, err := verifyVector(t, name, vk, &changed, good)
				requireVerdict(t, c.Name, c.Verdict, ok, err)
			}
		})
	}
}

func requireVerdict(t *testing.T, name string, want any, ok bool, err error) {
	t.Helper()
	if verdict, isBool := want.(bool); isBool {
		require.NoError(t, err, name)
		require.Equal(t, verdict, ok, name)
		return
	}
	require.Contains(t, []any{"error", "panic"}, want, name)
	require.Error(t, err, name)
	require.False(t, ok, name)
}

// The reference keeps sectors in a sorted map: their order is of no account, and of equal ones the last counts.
func TestVerifyWindowPoStNormalizes(t *testing.T) {
	vk := verifyingKey(t, "window-post")
	var v chainValues
	readVector(t, &v, "groth16/testdata/window-post/inputs.json")
	s := v.post(t)
	slices.Reverse(s.Sectors)
	other := post.Sector{ID: s.Sectors[2].ID, CommR: s.Sectors[0].CommR}
	before := slices.Clone(s.Sectors)
	verdict := func(sectors ...post.Sector) bool {
		t.Helper()
		changed := *s
		changed.Sectors = sectors
		ok, err := cuzk.VerifyWindowPoSt(t.Context(), vk, &changed, v.Proof)
		require.NoError(t, err)
		return ok
	}
	require.True(t, verdict(s.Sectors...))
	require.Equal(t, before, s.Sectors, "the caller's list stays as it is")
	require.True(t, verdict(append([]post.Sector{other}, s.Sectors...)...))
	require.False(t, verdict(append(before, other)...))

	ok, err := cuzk.VerifyWindowPoSt(t.Context(), vk, s, v.SinglePartitionProofsMerged)
	require.NoError(t, err)
	require.True(t, ok, "proofs of single partitions, merged")
}

// One partition by itself is verified against its own sectors and its number.
func TestVerifySinglePartition(t *testing.T) {
	vk := verifyingKey(t, "window-post")
	var v chainValues
	readVector(t, &v, "groth16/testdata/window-post/inputs.json")
	for k := range 3 {
		s := v.post(t)
		s.Sectors = s.Sectors[2*k : min(2*k+2, len(s.Sectors))]
		s.FirstPartition, s.Partitions = k, 1
		for j := range 3 {
			ok, err := cuzk.VerifyWindowPoSt(t.Context(), vk, s, v.Proof[j*groth16.ProofSize:(j+1)*groth16.ProofSize])
			require.NoError(t, err)
			require.Equal(t, j == k, ok)
		}
	}
}

func TestVerifyErrors(t *testing.T) {
	ctx := t.Context()
	vk := verifyingKey(t, "window-post")
	var v chainValues
	readVector(t, &v, "groth16/testdata/window-post/inputs.json")
	s := v.post(t)

	_, err := cuzk.VerifyWinningPoSt(ctx, vk, s, v.Proof)
	require.ErrorIs(t, err, post.ErrProofType)
	require.ErrorContains(t, err, "StackedDrgWindow2KiBV1_2 is no winningPoSt")
	_, err = cuzk.VerifyWindowPoSt(ctx, vk, s, v.Proof[1:])
	require.ErrorIs(t, err, cuzk.ErrProofLength)
	require.ErrorContains(t, err, "cuzk: verify: wrong length of a proof: ")
	_, err = cuzk.VerifyWindowPoSt(ctx, verifyingKey(t, "winning-post"), s, v.Proof)
	require.ErrorIs(t, err, groth16.ErrInputs)
	damaged := slices.Clone(v.Proof)
	damaged[groth16.ProofSize+47] ^= 1
	var at *groth16.ProofIndexError
	_, err = cuzk.VerifyWindowPoSt(ctx, vk, s, damaged)
	require.ErrorAs(t, err, &at)
	require.Equal(t, 1, at.Index)
	require.ErrorIs(t, err, groth16.ErrEncoding)
	bad := *s
	bad.Proof = 15
	_, err = cuzk.VerifyWindowPoSt(ctx, vk, &bad, v.Proof)
	require.ErrorIs(t, err, post.ErrProofType)
	bad = *s
	bad.Sectors = nil
	_, err = cuzk.VerifyWindowPoSt(ctx, vk, &bad, v.Proof)
	require.ErrorIs(t, err, post.ErrNoSectors)

	_, err = cuzk.VerifyWindowPoSt(ctx, nil, s, v.Proof)
	require.ErrorIs(t, err, cuzk.ErrVerify)
	_, err = cuzk.VerifyWindowPoSt(ctx, vk, nil, v.Proof)
	require.ErrorIs(t, err, cuzk.ErrVerify)
	_, err = cuzk.VerifySeal(ctx, vk, nil, v.Proof)
	require.ErrorIs(t, err, cuzk.ErrVerify)
	_, err = cuzk.VerifyUpdate(ctx, vk, nil, v.Proof)
	require.ErrorIs(t, err, cuzk.ErrVerify)
}
