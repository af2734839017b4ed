package poseidon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// arities are all instances that Filecoin uses.
func arities() []int { return []int{2, 4, 8, 11} }

// ramp is 0, 1, …, n−1.
func ramp(n int) []fr.Element {
	in := make([]fr.Element, n)
	for i := range in {
		in[i].SetUint64(uint64(i))
	}
	return in
}

func hexBE(e fr.Element) string { b := e.Bytes(); return hex.EncodeToString(b[:]) }

// digest is the SHA-256 of elements, 32 bytes little-endian each.
func digest(lists ...[]fr.Element) string {
	h := sha256.New()
	var b [fr.Bytes]byte
	for _, l := range lists {
		for _, e := range l {
			fr.LittleEndian.PutElement(&b, e)
			h.Write(b[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// The values of spec §3.3, first table: neptune's own test vectors.
func TestHashVectors(t *testing.T) {
	for _, c := range []struct {
		p           *Params
		hash, first string
	}{
		{ForArity(2), "396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ff", "5e57da99e1b459cb0ab5766e0adbcd2e1b31a73a585dc27acd3ec0f9cda758cd"},
		{ForArity(4), "58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075d", "2e16f1a7966fe25708d85c07a16ba97e2f77c91a1d84392a0914b5acbec31e36"},
		{ForArity(8), "2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6", "21f44132bc8ade72b235dce8349d8ae2ad4b86980f79cedf31ba6cc1c35043b5"},
		{ForArity(11), "0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163", "707eb5aae9b14185ab2bee9c791924c1995236d47947f22cfba3cbb36ba05280"},
		{WithTag(2, GenRandomnessTag), "314a35c4e7f0924ead1fc58134a0fe25e3580bea397367c7e5a74ec4bc077758", "236cc7da54a4533a3add48c8f4debd0b258d823fddb69f07944dbad99af4a86e"},
	} {
		t.Run(fmt.Sprintf("arity=%d/tag=%s", c.p.Arity, c.p.Tag.String()), func(t *testing.T) {
			require.Equal(t, c.hash, hexBE(c.p.Hash(ramp(c.p.Arity))))
			require.Equal(t, c.first, hexBE(c.p.FirstRoundTag()))
		})
	}
}

// The two-level vectors of rust-fil-proofs (spec §3.3): limbs of the canonical value, least first.
func TestHashLimbs(t *testing.T) {
	p := ForArity(2)
	in := ramp(2)
	h01 := p.Hash(in)
	h10 := p.Hash([]fr.Element{in[1], in[0]})
	require.Equal(t, [4]uint64{0xb339ff6079800b5e, 0xec5907b3dc3094af, 0x93c003cc74a24f26, 0x042f94ffbe786bc3}, h10.Bits())
	top := p.Hash([]fr.Element{h10, h01})
	require.Equal(t, [4]uint64{0xefbb8be3e291e671, 0x77cc72b8cb2b5ad2, 0x30eb6385ae6b74ae, 0x1effebb7b26ad9eb}, top.Bits())
}

// The table of constants of spec §3.3.
func TestConstants(t *testing.T) {
	for _, c := range []struct {
		arity                       int
		rc0, rc, crc, pre, sparseWV string
	}{
		{2, "669f064bfa3ae17a23bd51861dbb4a24501eac92a2758b36a7320a009d6ed3d8", "cf4dfb7448132022e22b32e3dce6b125cb06329448f9e8d8fe53a71c73cbe6d4", "b768b730ce5198394d948d76421ab53b08cc16ec1ac082cf503f370192253e16", "13d6e8e5ba45b0d2096617d055499f36adad1aab6853de143ed42b14eea9a0f6", "a2fe507a83bddb8d57e5a00e7e58e79800c272b0db7dd4141943f6e567e99138"},
		{4, "45c919736a0e5f2ef32c4c7d0a338eb1fed3d9e317b7580921072285c7e215ca", "91e463d6553415b3901b9f26b2ad53e6298ac3e5ab0ef260d397bafe8bdde98e", "3e4ec19ded2c86a89f3d6bddc13d9571a0cc5473e7207cfbaf6a8169a69f5709", "aee67dfb1ae8c43eca89f5742a745c6309f2d302ab741b75d2641b7025d87413", "f1c3c3a9fe9ea4a3c38c91971e5f379da38123fe1dcf960b461d84c5ba759f2b"},
		{8, "6ce90d12c4045fe08c3caddb776dd84ac52b4ae7e48cd49443984154f2f4c2f9", "9a4a743575f0eaf285c93d73f8adaf4e7ef4042c2445b42bddaf1a64e5face72", "f5a94aea73a583d080abdf7d71259fab9107f5523a4a1eddc41468f94564dd16", "dcfbdaea3eb7e347664c8f881c5443b1895f10c85cab0878022eb287defa8587", "3f823785875d8cc161c963d2a62d103a3fefab30eb4244cef877d8e624fb79f4"},
		{11, "1f6c9576e648b5047399bfc5f38902e0d506f18e0f3ab77de6de096bd089bce4", "479dc0d71d694cd50d853dec0c94aeb37df2a69929eaa23b545a52b1226aec06", "2d7c0e4e9b98eda82102b69f1a964ae59ccf98b0008b6d3d632d86f4fea79d1d", "f2a7353f0ce5ad724a7a58bf2db0e37f7c5662f064a6c97466021af83279a96e", "810a4d7f126f6e5fb3eb1980b57c70f90bb835219373d955726e30b3ca931556"},
	} {
		t.Run(fmt.Sprintf("arity=%d", c.arity), func(t *testing.T) {
			p := ForArity(c.arity)
			rc := roundConstants(p.Width, p.PartialRounds)
			require.Len(t, rc, (FullRounds+p.PartialRounds)*p.Width)
			require.Equal(t, c.rc0, hexBE(rc[0]))
			require.Equal(t, c.rc, digest(rc))
			require.Len(t, p.CompressedRoundConstants, FullRounds*p.Width+p.PartialRounds)
			require.Equal(t, c.crc, digest(p.CompressedRoundConstants))
			require.Equal(t, c.pre, digest(p.PreSparse...))
			var wv [][]fr.Element
			for _, s := range p.Sparse {
				wv = append(wv, s.W, s.V)
			}
			require.Len(t, p.Sparse, p.PartialRounds)
			require.Equal(t, c.sparseWV, digest(wv...))
		})
	}
}

// plain is the definition of the hash with the round constants rc: add the round's, S-box, multiply
// by M.
func plain(p *Params, rc, in []fr.Element) fr.Element {
	s := append([]fr.Element{p.Tag}, in...)
	for r := range FullRounds + p.PartialRounds {
		full := r < halfRounds || r >= halfRounds+p.PartialRounds
		for i := range s {
			s[i].Add(&s[i], &rc[r*p.Width+i])
			if full || i == 0 {
				sbox(&s[i])
			}
		}
		s = matrix(p.MDS).rowTimes(s)
	}
	return s[1]
}

func TestHashEqualsDefinition(t *testing.T) {
	rng := rand.New(rand.NewChaCha8([32]byte{1}))
	for _, arity := range arities() {
		rc := roundConstants(arity+1, ForArity(arity).PartialRounds)
		for _, p := range []*Params{ForArity(arity), WithTag(arity, rng.Uint64())} {
			for range 4 {
				in := make([]fr.Element, arity)
				for i := range in {
					in[i] = randomElement(rng)
				}
				want := plain(p, rc, in)
				require.Equal(t, want, p.Hash(in), "arity %d, input %v", arity, in)
			}
		}
	}
}

// randomElement is uniform enough for tests; now and then it is an edge of the field.
func randomElement(rng *rand.Rand) fr.Element {
	var e fr.Element
	switch rng.IntN(8) {
	case 0:
		return e
	case 1:
		one := fr.One()
		e.Neg(&one)
		return e
	}
	var b [48]byte
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
	}
	e.SetBytes(b[:])
	return e
}

func TestWithTagLeavesTheSharedInstance(t *testing.T) {
	before := ForArity(2).Hash(ramp(2))
	other := WithTag(2, 7)
	require.NotEqual(t, before, other.Hash(ramp(2)))
	require.Equal(t, before, ForArity(2).Hash(ramp(2)))
	require.Same(t, ForArity(2), ForArity(2))
	require.Equal(t, ForArity(2).Hash(ramp(2)), WithTag(2, 3).Hash(ramp(2)), "3 is the tag of arity 2")
}

func TestMisuse(t *testing.T) {
	require.PanicsWithValue(t, "poseidon: no instance of arity 3", func() { ForArity(3) })
	p := ForArity(2)
	require.PanicsWithValue(t, "poseidon: 3 elements and 311 values for a hash of arity 2", func() { p.Hash(ramp(3)) })
	require.PanicsWithValue(t, "poseidon: 2 elements and 310 values for a hash of arity 2", func() {
		p.Values(ramp(2), ramp(310))
	})
	for a := range 40 {
		require.Equal(t, a == 2 || a == 4 || a == 8 || a == 11, Supported(a), "arity %d", a)
	}
}

func TestHashDoesNotAllocate(t *testing.T) {
	p, in := ForArity(8), ramp(8)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.Hash(in) }))
}

func BenchmarkHash(b *testing.B) {
	for _, arity := range arities() {
		b.Run(fmt.Sprintf("arity=%d", arity), func(b *testing.B) {
			p, in := ForArity(arity), ramp(arity)
			for b.Loop() {
				in[0] = p.Hash(in)
			}
		})
	}
}

func BenchmarkConstants(b *testing.B) {
	for _, arity := range arities() {
		b.Run(fmt.Sprintf("arity=%d", arity), func(b *testing.B) {
			for b.Loop() {
				compute(arity)
			}
		})
	}
}
