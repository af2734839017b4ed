package wire

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// The generators in the encoding of the ZCash specification of BLS12-381.
const (
	g1Compressed = "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
	g1Y          = "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"
	g2Compressed = "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e" +
		"024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"
	g2Y = "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be" +
		"0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func TestGenerators(t *testing.T) {
	_, _, g1, g2 := bls12381.Generators()
	c1, c2 := unhex(t, g1Compressed), unhex(t, g2Compressed)
	p, err := G1Compressed(c1)
	require.NoError(t, err)
	require.Equal(t, g1, p)
	require.Equal(t, c1, AppendG1Compressed(nil, &g1))
	q, err := G2Compressed(c2)
	require.NoError(t, err)
	require.Equal(t, g2, q)
	require.Equal(t, c2, AppendG2Compressed(nil, &g2))

	u1 := append(unhex(t, g1Compressed), unhex(t, g1Y)...)
	u1[0] &^= flagMask
	require.Equal(t, u1, AppendG1(nil, &g1))
	p, err = G1(u1)
	require.NoError(t, err)
	require.Equal(t, g1, p)
	u2 := append(unhex(t, g2Compressed), unhex(t, g2Y)...)
	u2[0] &^= flagMask
	require.Equal(t, u2, AppendG2(nil, &g2))
	q, err = G2(u2)
	require.NoError(t, err)
	require.Equal(t, g2, q)
	require.NoError(t, CheckG1(&p))
	require.NoError(t, CheckG2(&q))
}

func TestBothSigns(t *testing.T) {
	_, _, g1, g2 := bls12381.Generators()
	for k := range int64(20) {
		var p bls12381.G1Affine
		var q bls12381.G2Affine
		p.ScalarMultiplication(&g1, big.NewInt(k+1))
		q.ScalarMultiplication(&g2, big.NewInt(k+1))
		for range 2 {
			p.Neg(&p)
			q.Neg(&q)
			b := AppendG1Compressed(nil, &p)
			std := p.Bytes()
			require.Equal(t, std[:], b)
			got, err := G1Compressed(b)
			require.NoError(t, err)
			require.Equal(t, p, got)
			c := AppendG2Compressed(nil, &q)
			std2 := q.Bytes()
			require.Equal(t, std2[:], c)
			got2, err := G2Compressed(c)
			require.NoError(t, err)
			require.Equal(t, q, got2)
		}
	}
}

func modulus(add int64) []byte {
	return new(big.Int).Add(fp.Modulus(), big.NewInt(add)).FillBytes(make([]byte, fp.Bytes))
}

func TestReasons(t *testing.T) {
	_, _, g1, g2 := bls12381.Generators()
	u1, u2 := AppendG1(nil, &g1), AppendG2(nil, &g2)
	c1, c2 := AppendG1Compressed(nil, &g1), AppendG2Compressed(nil, &g2)
	with := func(b []byte, at int, v ...byte) []byte {
		out := append([]byte{}, b...)
		copy(out[at:], v)
		return out
	}
	infinity := func(n int, first byte) []byte { return append([]byte{first}, make([]byte, n-1)...) }
	uncompressed1 := func(b []byte) error { _, err := G1(b); return err }
	uncompressed2 := func(b []byte) error { _, err := G2(b); return err }
	compressed1 := func(b []byte) error { _, err := G1Compressed(b); return err }
	compressed2 := func(b []byte) error { _, err := G2Compressed(b); return err }
	flagged := func(b []byte, f byte) []byte { return with(b, 0, b[0]|f) }
	for name, c := range map[string]struct {
		decode func([]byte) error
		bytes  []byte
		want   Reason
	}{
		"g1 short":              {uncompressed1, u1[:95], Length},
		"g1 long":               {uncompressed1, append(u1[:96:96], 0), Length},
		"g1 empty":              {uncompressed1, nil, Length},
		"g1 compressed flag":    {uncompressed1, flagged(u1, 0x80), Flags},
		"g1 sign flag":          {uncompressed1, flagged(u1, 0x20), Flags},
		"g1 infinity and more":  {uncompressed1, flagged(u1, 0x40), Flags},
		"g1 infinity":           {uncompressed1, infinity(96, 0x40), Infinity},
		"g1 infinity with sign": {uncompressed1, infinity(96, 0x60), Flags},
		"g1 x = p":              {uncompressed1, with(u1, 0, modulus(0)...), NotReduced},
		"g1 y = p+1":            {uncompressed1, with(u1, 48, modulus(1)...), NotReduced},
		"g1 x = p-1":            {uncompressed1, with(u1, 0, modulus(-1)...), NotOnCurve},
		"g1 zero":               {uncompressed1, make([]byte, 96), NotOnCurve},
		"g1 y changed":          {uncompressed1, with(u1, 95, u1[95]^1), NotOnCurve},
		"g2 short":              {uncompressed2, u2[:191], Length},
		"g2 infinity":           {uncompressed2, infinity(192, 0x40), Infinity},
		"g2 flags":              {uncompressed2, flagged(u2, 0x20), Flags},
		"g2 x.c0 = p":           {uncompressed2, with(u2, 48, modulus(0)...), NotReduced},
		"g2 y.c1 = p":           {uncompressed2, with(u2, 96, modulus(0)...), NotReduced},
		"g2 y.c0 = p":           {uncompressed2, with(u2, 144, modulus(0)...), NotReduced},
		"g2 changed":            {uncompressed2, with(u2, 191, u2[191]^1), NotOnCurve},
		"c1 short":              {compressed1, c1[:47], Length},
		"c1 no flag":            {compressed1, with(c1, 0, c1[0]&^0x80), Flags},
		"c1 infinity":           {compressed1, infinity(48, 0xc0), Infinity},
		"c1 infinity with sign": {compressed1, infinity(48, 0xe0), Flags},
		"c1 infinity and more":  {compressed1, flagged(c1, 0x40), Flags},
		"c1 x = p":              {compressed1, flagged(modulus(0), 0x80), NotReduced},
		"c2 long":               {compressed2, append(c2[:96:96], 0), Length},
		"c2 no flag":            {compressed2, with(c2, 0, c2[0]&^0x80), Flags},
		"c2 infinity":           {compressed2, infinity(96, 0xc0), Infinity},
		"c2 c0 = p":             {compressed2, with(c2, 48, modulus(0)...), NotReduced},
		"g1 outside the curve":  {compressed1, firstWith(t, 48, compressed1, NotOnCurve), NotOnCurve},
		"g1 outside the group":  {compressed1, firstWith(t, 48, compressed1, NotInSubgroup), NotInSubgroup},
		"g2 outside the curve":  {compressed2, firstWith(t, 96, compressed2, NotOnCurve), NotOnCurve},
		"g2 outside the group":  {compressed2, firstWith(t, 96, compressed2, NotInSubgroup), NotInSubgroup},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.decode(c.bytes)
			require.ErrorIs(t, err, c.want)
			require.ErrorIs(t, err, ErrEncoding)
			for _, other := range []Reason{Length, Flags, NotReduced, NotOnCurve, NotInSubgroup, Infinity} {
				if other != c.want {
					require.NotErrorIs(t, err, other)
				}
			}
		})
	}
}

// firstWith is the compressed encoding of the smallest x that is refused for the given reason.
func firstWith(t testing.TB, size int, decode func([]byte) error, want Reason) []byte {
	t.Helper()
	for x := range 256 {
		b := make([]byte, size)
		b[0], b[size-1] = 0x80, byte(x)
		if decode(b) == want {
			return b
		}
	}
	t.Fatalf("no x below 256 is refused because of %q", want)
	return nil
}

func TestFr(t *testing.T) {
	r := fr.Modulus()
	for _, c := range []struct {
		add  int64
		want error
	}{{-1, nil}, {-3, nil}, {0, NotReduced}, {1, NotReduced}, {3, NotReduced}} {
		v := new(big.Int).Add(r, big.NewInt(c.add))
		b := v.FillBytes(make([]byte, FrSize))
		for i := range FrSize / 2 {
			b[i], b[FrSize-1-i] = b[FrSize-1-i], b[i]
		}
		e, err := Fr(b)
		require.Equal(t, c.want, err)
		if err == nil {
			require.Equal(t, v, e.BigInt(new(big.Int)))
			require.Equal(t, b, AppendFr(nil, &e))
		}
	}
	_, err := Fr(make([]byte, 31))
	require.ErrorIs(t, err, Length)
	_, err = Fr(bytes.Repeat([]byte{0xff}, 32))
	require.ErrorIs(t, err, NotReduced)
	e, err := Fr(append([]byte{5}, make([]byte, 31)...))
	require.NoError(t, err)
	require.Equal(t, fr.NewElement(5), e)
}

// What decodes encodes to the same bytes, and what gnark-crypto accepts is accepted, infinity apart.
func FuzzPoints(f *testing.F) {
	_, _, g1, g2 := bls12381.Generators()
	f.Add(AppendG1(nil, &g1))
	f.Add(AppendG1Compressed(nil, &g1))
	f.Add(AppendG2(nil, &g2))
	f.Add(AppendG2Compressed(nil, &g2))
	f.Add(append([]byte{0xc0}, make([]byte, 47)...))
	f.Add(modulus(0))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := G1(b); err == nil && !bytes.Equal(AppendG1(nil, &p), b) {
			t.Fatalf("G1 %x", b)
		}
		if p, err := G2(b); err == nil && !bytes.Equal(AppendG2(nil, &p), b) {
			t.Fatalf("G2 %x", b)
		}
		p, err := G1Compressed(b)
		if err == nil && !bytes.Equal(AppendG1Compressed(nil, &p), b) {
			t.Fatalf("G1 compressed %x", b)
		}
		var std bls12381.G1Affine
		if n, stdErr := std.SetBytes(b); n == len(b) && len(b) == G1CompressedSize && stdErr == nil && !std.IsInfinity() && (err != nil || std != p) {
			t.Fatalf("G1 compressed %x: %v", b, err)
		}
		q, err := G2Compressed(b)
		if err == nil && !bytes.Equal(AppendG2Compressed(nil, &q), b) {
			t.Fatalf("G2 compressed %x", b)
		}
		var std2 bls12381.G2Affine
		if n, stdErr := std2.SetBytes(b); n == len(b) && len(b) == G2CompressedSize && stdErr == nil && !std2.IsInfinity() && (err != nil || std2 != q) {
			t.Fatalf("G2 compressed %x: %v", b, err)
		}
	})
}

func BenchmarkG1(b *testing.B) {
	_, _, g1, _ := bls12381.Generators()
	enc := AppendG1(nil, &g1)
	b.SetBytes(G1Size)
	for b.Loop() {
		if _, err := G1(enc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkG2(b *testing.B) {
	_, _, _, g2 := bls12381.Generators()
	enc := AppendG2(nil, &g2)
	b.SetBytes(G2Size)
	for b.Loop() {
		if _, err := G2(enc); err != nil {
			b.Fatal(err)
		}
	}
}
