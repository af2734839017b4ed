package groth16

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/wire"
)

func smallKey(t testing.TB, v *enginetest.Vector) *VerifyingKey {
	t.Helper()
	vk, err := ReadVerifyingKey(bytes.NewReader(v.VK))
	require.NoError(t, err)
	return vk
}

func parse(t testing.TB, b []byte) Proof {
	t.Helper()
	p, err := ParseProof(b)
	require.NoError(t, err)
	return p
}

// The reference's proofs verify, and no others.
func TestVerifyReference(t *testing.T) {
	for _, name := range enginetest.SmallNames() {
		v := enginetest.Small(t, name)
		vk := smallKey(t, v)
		x := v.Circuit.Inputs
		for _, b := range [][]byte{v.Proof, v.Random} {
			p := parse(t, b)
			require.NoError(t, Verify(vk, p, x))
			for i := range x {
				wrong := append([]fr.Element{}, x...)
				wrong[i].Add(&wrong[i], new(fr.Element).SetOne())
				require.ErrorIs(t, Verify(vk, p, wrong), ErrInvalidProof)
				wrong[i].SetZero()
				require.ErrorIs(t, Verify(vk, p, wrong), ErrInvalidProof)
			}
			require.ErrorIs(t, Verify(vk, p, x[1:]), ErrInputs)
			require.ErrorIs(t, Verify(vk, p, append(x[:len(x):len(x)], fr.Element{})), ErrInputs)
			require.ErrorIs(t, Verify(vk, Proof{}, x), ErrInvalidProof)
			for _, q := range []Proof{{a: p.c, b: p.b, c: p.a}, {a: p.a, b: p.b, c: p.a}} {
				require.ErrorIs(t, Verify(vk, q, x), ErrInvalidProof)
			}
		}
	}
	require.ErrorIs(t, Verify(smallKey(t, enginetest.Small(t, "cubic")),
		parse(t, enginetest.Small(t, "feistel").Proof), enginetest.Small(t, "cubic").Circuit.Inputs), ErrInvalidProof)
}

func porepKeyAndInputs(t testing.TB) (*VerifyingKey, []fr.Element) {
	t.Helper()
	vk, err := OpenVerifyingKey("testdata/porep/vk")
	require.NoError(t, err)
	var in struct {
		Inputs [][]string `json:"public_inputs_le"`
	}
	readTestdata(t, "porep/inputs.json", &in)
	return vk, scalarList(t, in.Inputs[0])
}

func TestVerifyPoRep(t *testing.T) {
	vk, inputs := porepKeyAndInputs(t)
	require.Equal(t, 39, vk.Inputs())
	b, err := os.ReadFile("testdata/porep/proof.bin")
	require.NoError(t, err)
	require.NoError(t, Verify(vk, parse(t, b), inputs))
	var fixed porepVector
	readTestdata(t, "porep/fixed.json", &fixed)
	require.Equal(t, inputs, scalarList(t, fixed.Inputs))
	f, err := hex.DecodeString(fixed.Proof)
	require.NoError(t, err)
	require.NoError(t, Verify(vk, parse(t, f), inputs))
}

// The reference's verdicts on damaged proofs: malformed and false are told apart.
func TestVerdictsOnDamagedProofs(t *testing.T) {
	vk, inputs := porepKeyAndInputs(t)
	var list struct {
		Proofs []struct {
			Name, Proof string
			Verdict     any
		}
	}
	readTestdata(t, "porep/invalid.json", &list)
	require.Len(t, list.Proofs, 45)
	for _, c := range list.Proofs {
		t.Run(c.Name, func(t *testing.T) {
			b, err := hex.DecodeString(c.Proof)
			require.NoError(t, err)
			p, err := ParseProof(b)
			if err == nil {
				err = Verify(vk, p, inputs)
			}
			switch c.Verdict {
			case true:
				require.NoError(t, err)
			case false:
				require.ErrorIs(t, err, ErrInvalidProof)
				require.NotErrorIs(t, err, ErrEncoding)
			default:
				require.ErrorIs(t, err, ErrEncoding)
				require.NotErrorIs(t, err, ErrInvalidProof)
			}
		})
	}
}

func TestParseProofReasons(t *testing.T) {
	good := enginetest.Small(t, "cubic").Proof
	p := parse(t, good)
	b := p.Bytes()
	require.Equal(t, good, b[:])
	for _, c := range []struct {
		name   string
		change func([]byte)
		part   string
		reason error
	}{
		{"a not compressed", func(b []byte) { b[0] &^= 0x80 }, "a", wire.Flags},
		{"b infinite", func(b []byte) { clear(b[48:144]); b[48] = 0xc0 }, "b", wire.Infinity},
		{"c not reduced", func(b []byte) { copy(b[144:], bytes.Repeat([]byte{0xff}, 48)); b[144] = 0x9f }, "c", wire.NotReduced},
		{"b infinite with rest", func(b []byte) { b[48] |= 0x40 }, "b", wire.Flags},
		{"a off the curve", offCurve, "a", wire.NotOnCurve},
		{"c outside the subgroup", func(b []byte) { outsideSubgroup(b[144:]) }, "c", wire.NotInSubgroup},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := append([]byte{}, good...)
			c.change(bad)
			_, err := ParseProof(bad)
			require.ErrorIs(t, err, c.reason)
			require.ErrorIs(t, err, ErrEncoding)
			var e *ProofError
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.part, e.Part)
		})
	}
	for _, n := range []int{0, 1, 191, 193} {
		_, err := ParseProof(append(good, 0)[:n])
		require.ErrorIs(t, err, wire.Length)
	}
	_, err := ReadProof(bytes.NewReader(good[:100]))
	require.ErrorIs(t, err, ErrEncoding)
	r := bytes.NewReader(append(good, 1, 2))
	p, err = ReadProof(r)
	require.NoError(t, err)
	again := p.Bytes()
	require.Equal(t, good, again[:])
	require.Equal(t, 2, r.Len())
	_, err = ParseProofs(append(good, 1))
	require.ErrorIs(t, err, ErrEncoding)
	_, err = ParseProofs(append(append([]byte{}, good...), make([]byte, ProofSize)...))
	var at *ProofIndexError
	require.ErrorAs(t, err, &at)
	require.Equal(t, 1, at.Index)
}

// offCurve puts an x into the first point for which x³ + 4 is no square.
func offCurve(b []byte) {
	for x := byte(1); ; x++ {
		clear(b[:48])
		b[0], b[47] = 0x80, x
		if _, err := wire.G1Compressed(b[:48]); errors.Is(err, wire.NotOnCurve) {
			return
		}
	}
}

// outsideSubgroup writes a point of the curve that is not in the subgroup.
func outsideSubgroup(b []byte) {
	for x := byte(1); ; x++ {
		clear(b[:48])
		b[0], b[47] = 0x80, x
		if _, err := wire.G1Compressed(b[:48]); errors.Is(err, wire.NotInSubgroup) {
			return
		}
	}
}

func TestVerifyWithoutKey(t *testing.T) {
	for _, vk := range []*VerifyingKey{nil, {}} {
		require.ErrorContains(t, Verify(vk, Proof{}, nil), "no verifying key")
		require.ErrorContains(t, VerifyBatch(t.Context(), vk, make([]Proof, 2), make([][]fr.Element, 2), nil), "no verifying key")
	}
}

func TestVerifyConcurrently(t *testing.T) {
	v := enginetest.Small(t, "feistel")
	vk, p := smallKey(t, v), parse(t, v.Proof)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() { errs[i] = Verify(vk, p, v.Circuit.Inputs) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
}

func batch(t testing.TB, n int) (*VerifyingKey, []Proof, [][]fr.Element) {
	v := enginetest.Small(t, "feistel")
	proofs := make([]Proof, n)
	inputs := make([][]fr.Element, n)
	for i := range proofs {
		proofs[i], inputs[i] = parse(t, [][]byte{v.Proof, v.Random}[i%2]), v.Circuit.Inputs
	}
	return smallKey(t, v), proofs, inputs
}

func TestVerifyBatch(t *testing.T) {
	for _, n := range []int{1, 2, 3, 66} {
		vk, proofs, inputs := batch(t, n)
		require.NoError(t, VerifyBatch(t.Context(), vk, proofs, inputs, nil))
		for _, bad := range []int{0, n / 2, n - 1} {
			var at *ProofIndexError
			wrong := append([]fr.Element{}, inputs[bad]...)
			wrong[0].SetUint64(1)
			old := inputs[bad]
			inputs[bad] = wrong
			err := VerifyBatch(t.Context(), vk, proofs, inputs, nil)
			require.ErrorIs(t, err, ErrInvalidProof)
			require.ErrorAs(t, err, &at)
			require.Equal(t, bad, at.Index)

			inputs[bad] = old[1:]
			err = VerifyBatch(t.Context(), vk, proofs, inputs, nil)
			require.ErrorIs(t, err, ErrInputs)
			require.ErrorAs(t, err, &at)
			require.Equal(t, bad, at.Index)
			inputs[bad] = old
		}
	}
	vk, proofs, inputs := batch(t, 3)
	require.Equal(t, ErrEmpty, VerifyBatch(t.Context(), vk, nil, nil, nil))
	require.ErrorIs(t, VerifyBatch(t.Context(), vk, nil, inputs, nil), ErrInputs)
	require.ErrorIs(t, VerifyBatch(t.Context(), vk, proofs, inputs[1:], nil), ErrInputs)
	require.Error(t, VerifyBatch(t.Context(), vk, proofs, inputs, bytes.NewReader(nil)), "no randomness")
	require.Error(t, VerifyBatch(t.Context(), vk, proofs, inputs, bytes.NewReader(make([]byte, 1000))), "no good randomness")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, VerifyBatch(ctx, vk, proofs, inputs, nil), context.Canceled)
}

// Errors in two proofs that would cancel in an unweighted sum are found.
func TestVerifyBatchOfCancellingErrors(t *testing.T) {
	vk, proofs, inputs := batch(t, 4)
	for i, d := range []int64{1, -1} {
		x := append([]fr.Element{}, inputs[i]...)
		var delta fr.Element
		x[0].Add(&x[0], delta.SetInt64(d))
		inputs[i] = x
	}
	var at *ProofIndexError
	require.ErrorAs(t, VerifyBatch(t.Context(), vk, proofs, inputs, nil), &at)
	require.Equal(t, 0, at.Index)
}

func TestOpenVerifyingKey(t *testing.T) {
	_, err := OpenVerifyingKey(filepath.Join(t.TempDir(), "none.vk"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func BenchmarkVerify(b *testing.B) {
	vk, inputs := porepKeyAndInputs(b)
	bytes, err := os.ReadFile("testdata/porep/proof.bin")
	require.NoError(b, err)
	p := parse(b, bytes)
	require.NoError(b, Verify(vk, p, inputs))
	b.Run("inputs=porep-2KiB", func(b *testing.B) {
		for b.Loop() {
			if err := Verify(vk, p, inputs); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("inputs=39-random", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range inputs {
			inputs[i] = fr.Element{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64() >> 2}
		}
		for b.Loop() {
			if err := Verify(vk, p, inputs); !errors.Is(err, ErrInvalidProof) {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkVerifyBatch(b *testing.B) {
	vk, x := porepKeyAndInputs(b)
	bytes, err := os.ReadFile("testdata/porep/proof.bin")
	require.NoError(b, err)
	p := parse(b, bytes)
	const n = 1000
	proofs, inputs := make([]Proof, n), make([][]fr.Element, n)
	for i := range proofs {
		proofs[i], inputs[i] = p, x
	}
	for b.Loop() {
		if err := VerifyBatch(b.Context(), vk, proofs, inputs, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N)/n, "µs/proof")
}
