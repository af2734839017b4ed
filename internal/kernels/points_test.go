package kernels

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/wire"
)

// coding is what the suites over points need of a group.
type coding[A Point] struct {
	name     string
	size     int
	decode   func([]byte) (A, error)
	append   func([]byte, *A) []byte
	check    func(*A) error
	onDecode func(l *Library, s *gpu.Stream, dst gpu.View[A], raw gpu.View[byte], place gpu.View[uint32],
		base uint32, fault gpu.View[uint64]) error
	onCheck  func(l *Library, s *gpu.Stream, points gpu.View[A], base uint32, fault gpu.View[uint64]) error
	onEncode func(l *Library, s *gpu.Stream, raw gpu.View[byte], points gpu.View[A]) error
}

func codingG1() coding[bls12381.G1Affine] {
	return coding[bls12381.G1Affine]{"g1", wire.G1Size, wire.G1, wire.AppendG1, wire.CheckG1,
		(*Library).DecodeG1, (*Library).CheckSubgroupG1, (*Library).EncodeG1}
}

func codingG2() coding[bls12381.G2Affine] {
	return coding[bls12381.G2Affine]{"g2", wire.G2Size, wire.G2, wire.AppendG2, wire.CheckG2,
		(*Library).DecodeG2, (*Library).CheckSubgroupG2, (*Library).EncodeG2}
}

// reasonOf is the reason that package wire gives where a kernel gives why; 0 is none.
func reasonOf(why Refusal) error {
	return map[Refusal]error{
		BadFlags: wire.Flags, NotReduced: wire.NotReduced, NotOnCurve: wire.NotOnCurve,
		NotInSubgroup: wire.NotInSubgroup, Infinity: wire.Infinity,
	}[why]
}

// outside are points of the curves that are not in the subgroups: random ones, and ones whose order
// has no factor r.
func outsideG1(n int) []bls12381.G1Affine {
	v := make([]bls12381.G1Affine, 0, n)
	for x := uint64(1); len(v) < n; x++ {
		var p bls12381.G1Affine
		p.X.SetUint64(x)
		p.Y.Square(&p.X).Mul(&p.Y, &p.X)
		four := fp.NewElement(4)
		if p.Y.Add(&p.Y, &four); p.Y.Sqrt(&p.Y) == nil || p.IsInSubGroup() {
			continue
		}
		if len(v)%2 == 1 {
			j := bls12381.GeneratePointNotInG1(p.X)
			p.FromJacobian(&j)
		}
		v = append(v, p)
	}
	return v
}

func outsideG2(n int) []bls12381.G2Affine {
	v := make([]bls12381.G2Affine, 0, n)
	for x := uint64(1); len(v) < n; x++ {
		var p bls12381.G2Affine
		p.X.A0.SetUint64(x)
		p.X.A1.SetUint64(x * x)
		square := p.X
		square.Square(&square).Mul(&square, &p.X)
		four := fp.NewElement(4)
		square.A0.Add(&square.A0, &four)
		square.A1.Add(&square.A1, &four)
		if square.Legendre() != 1 {
			continue
		}
		if p.Y.Sqrt(&square); p.IsInSubGroup() {
			continue
		}
		if len(v)%2 == 1 {
			j := bls12381.GeneratePointNotInG2(p.X)
			p.FromJacobian(&j)
		}
		v = append(v, p)
	}
	return v
}

// mutations are encodings made from good ones, most of them bad: flags, numbers of p and above,
// other coordinates, single bits.
func (c coding[A]) mutations(good []byte, rng *rand.Rand) [][]byte {
	with := func(change func(b []byte)) []byte {
		b := slices.Clone(good)
		change(b)
		return b
	}
	var out [][]byte
	for flags := range 8 {
		out = append(out, with(func(b []byte) { b[0] = b[0]&0x1f | byte(flags<<5) }))
		zero := make([]byte, c.size)
		zero[0] = byte(flags << 5)
		out = append(out, zero)
		zero = slices.Clone(zero)
		zero[c.size-1] = 1
		out = append(out, zero)
	}
	for _, first := range []byte{0x41, 0x60, 0x5f} {
		out = append(out, with(func(b []byte) { clear(b); b[0] = first }))
	}
	for at := 0; at < c.size; at += fp.Bytes {
		for _, d := range []int64{-1, 0, 1} {
			v := new(big.Int).Add(fp.Modulus(), big.NewInt(d))
			out = append(out, with(func(b []byte) { v.FillBytes(b[at : at+fp.Bytes]) }))
		}
		out = append(out,
			with(func(b []byte) { // the same number plus p
				v := new(big.Int).SetBytes(b[at : at+fp.Bytes])
				v.Add(v, fp.Modulus()).FillBytes(b[at : at+fp.Bytes])
			}),
			with(func(b []byte) { clear(b[at : at+fp.Bytes]) }),
			with(func(b []byte) { b[at] |= 0xe0 }),
			with(func(b []byte) { b[at+fp.Bytes-1] ^= 1 }))
	}
	for range 40 {
		out = append(out, with(func(b []byte) { b[rng.IntN(c.size)] ^= 1 << rng.IntN(8) }))
	}
	return append(out, good)
}

// samples are encodings, good ones and mutations, and n more good ones after them.
func (c coding[A]) samples(points, outside []A, n int) [][]byte {
	rng := rand.New(rand.NewPCG(11, uint64(c.size)))
	var out [][]byte
	for i := range min(6, len(points)) {
		out = append(out, c.mutations(c.append(nil, &points[i]), rng)...)
	}
	for i := range outside {
		out = append(out, c.append(nil, &outside[i]))
	}
	for i := range n {
		out = append(out, c.append(nil, &points[i%len(points)]))
	}
	return out
}

// verdict is what package wire says of an encoding, and the point that a kernel must give for it.
func (c coding[A]) verdict(raw []byte) (A, error) {
	p, err := c.decode(raw)
	if err != nil {
		return *new(A), err
	}
	return p, nil
}

// faultWord is a fault word without a fault.
func faultWord(t *testing.T, e *env) gpu.View[uint64] {
	t.Helper()
	v := room[uint64](t, e, 1)
	require.NoError(t, gpu.Fill(e.s, v, 0xff))
	return v
}

// decodeSuite compares the verdict and the point of each encoding with those of package wire.
func decodeSuite[A Point](t *testing.T, e *env, c coding[A], points, outside []A, n int) {
	t.Helper()
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	samples := c.samples(points, outside, n)
	raw := upload(t, e, slices.Concat(samples...))
	fault := faultWord(t, e)
	dst := room[A](t, e, len(samples))

	// All at once, and in order: the lowest bad one is named.
	require.NoError(t, c.onDecode(e.l, e.s, dst, raw, gpu.View[uint32]{}, 7, fault))
	first := -1
	for i, got := range fetch(t, e, dst) {
		want, err := c.verdict(samples[i])
		require.Equal(t, want, got, "%s: sample %d", c.name, i)
		if err != nil && first < 0 {
			first = i
		}
	}
	index, why, ok := ReadFault(fetch(t, e, fault)[0])
	_, err := c.verdict(samples[first])
	require.True(t, ok)
	require.Equal(t, uint64(first+7), index)
	require.Equal(t, err, reasonOf(why), c.name)

	// Each by itself, so that every verdict is seen.
	faults := room[uint64](t, e, len(samples))
	require.NoError(t, gpu.Fill(e.s, faults, 0xff))
	alone := len(samples) - n + 3 // the others are all good
	for i := range alone {
		to, from, fault := dst.Slice(i, i+1), raw.Slice(i*c.size, (i+1)*c.size), faults.Slice(i, i+1)
		require.NoError(t, c.onDecode(e.l, e.s, to, from, gpu.View[uint32]{}, 0, fault))
	}
	for i, word := range fetch(t, e, faults)[:alone] {
		_, err := c.verdict(samples[i])
		_, why, ok := ReadFault(word)
		require.Equal(t, err != nil, ok, "%s: sample %d: %v", c.name, i, why)
		if ok {
			require.Equal(t, err, reasonOf(why), "%s: sample %d", c.name, i)
		}
	}
}

// placeSuite decodes good points to places, and encodes them back.
func placeSuite[A Point](t *testing.T, e *env, c coding[A], points []A) {
	t.Helper()
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	var encoded []byte
	places := make([]uint32, len(points))
	for i, to := range rand.New(rand.NewPCG(1, 9)).Perm(2 * len(points))[:len(points)] {
		encoded = c.append(encoded, &points[i])
		places[i] = uint32(to)
	}
	raw, dst, fault := upload(t, e, encoded), room[A](t, e, 2*len(points)), faultWord(t, e)
	require.NoError(t, gpu.Fill(e.s, dst, 0))
	require.NoError(t, c.onDecode(e.l, e.s, dst, raw, upload(t, e, places), 0, fault))
	require.Equal(t, NoFault, fetch(t, e, fault)[0])
	want := make([]A, 2*len(points))
	for i, to := range places {
		want[to] = points[i]
	}
	require.Negative(t, firstDifference(fetch(t, e, dst), want))

	// A point for a place that is not there changes nothing but the fault word.
	places[len(places)-1] = uint32(len(want))
	require.NoError(t, c.onDecode(e.l, e.s, dst, raw, upload(t, e, places), 5, fault))
	index, why, ok := ReadFault(fetch(t, e, fault)[0])
	require.True(t, ok)
	require.Equal(t, BadPlace, why)
	require.Equal(t, uint64(len(places)+4), index)
	require.Negative(t, firstDifference(fetch(t, e, dst), want))

	back := room[byte](t, e, len(encoded)+c.size)
	all := upload(t, e, append(slices.Clone(points), *new(A))) // infinity comes last
	require.NoError(t, c.onEncode(e.l, e.s, back, all))
	infinity := make([]byte, c.size)
	infinity[0] = 0x40
	require.True(t, bytes.Equal(append(encoded, infinity...), fetch(t, e, back)))
}

// subgroupSuite compares verdicts with gnark-crypto's.
func subgroupSuite[A Point](t *testing.T, e *env, c coding[A], inside, outside []A) {
	t.Helper()
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	all := slices.Concat(inside[:3], []A{*new(A)}, outside, inside)
	points, faults := upload(t, e, all), room[uint64](t, e, len(all))
	require.NoError(t, gpu.Fill(e.s, faults, 0xff))
	for i := range all {
		require.NoError(t, c.onCheck(e.l, e.s, points.Slice(i, i+1), uint32(i), faults.Slice(i, i+1)))
	}
	for i, word := range fetch(t, e, faults) {
		index, why, ok := ReadFault(word)
		require.Equal(t, c.check(&all[i]) != nil, ok, "%s: point %d", c.name, i)
		if ok {
			require.Equal(t, uint64(i), index)
			require.Equal(t, NotInSubgroup, why)
		}
	}
	fault := faultWord(t, e)
	require.NoError(t, c.onCheck(e.l, e.s, points, 1, fault))
	index, _, ok := ReadFault(fetch(t, e, fault)[0])
	require.True(t, ok)
	require.Equal(t, uint64(5), index) // the first outside
	require.NoError(t, gpu.Fill(e.s, fault, 0xff))
	require.NoError(t, c.onCheck(e.l, e.s, points.Slice(4+len(outside), len(all)), 1, fault))
	require.Equal(t, NoFault, fetch(t, e, fault)[0])
}

// codingSuites runs all suites over points, with n good points beside the edge cases.
func codingSuites(t *testing.T, e *env, n int) {
	p1, p2 := g1Multiples(n), g2Multiples(n)
	o1, o2 := outsideG1(9), outsideG2(9)
	decodeSuite(t, e, codingG1(), p1, o1, n)
	decodeSuite(t, e, codingG2(), p2, o2, n)
	placeSuite(t, e, codingG1(), p1)
	placeSuite(t, e, codingG2(), p2)
}

func subgroupSuites(t *testing.T, e *env, n int) {
	subgroupSuite(t, e, codingG1(), g1Multiples(n), outsideG1(9))
	subgroupSuite(t, e, codingG2(), g2Multiples(n), outsideG2(9))
}

func TestDecode(t *testing.T) {
	e := onFake(t, 21)
	for _, n := range []int{8, 257} {
		codingSuites(t, e, n)
	}
}

func TestSubgroup(t *testing.T) { subgroupSuites(t, onFake(t, 22), 20) }

// edgeSuite has bad points at the edge between two launches.
func edgeSuite[A Point](t *testing.T, e *env, c coding[A], points []A, outside A) {
	t.Helper()
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	sms := e.d.Info().Multiprocessors
	piece := sms << 16
	n := piece + 2
	all := slices.Repeat(points, n/len(points)+1)[:n]
	src, raw, dst := upload(t, e, all), room[byte](t, e, n*c.size), room[A](t, e, n)
	require.NoError(t, c.onEncode(e.l, e.s, raw, src))
	const base = ^uint32(0)
	for _, bad := range []int{-1, piece + 1, piece, piece - 1} {
		if bad >= 0 {
			require.NoError(t, gpu.Fill(e.s, raw.Slice(bad*c.size, (bad+1)*c.size), 0x11))
			all[bad] = *new(A)
		}
		fault := faultWord(t, e)
		require.NoError(t, c.onDecode(e.l, e.s, dst, raw, gpu.View[uint32]{}, base, fault))
		require.Negative(t, firstDifference(fetch(t, e, dst), all), "%s: bad from %d", c.name, bad)
		checkFault(t, e, fault, bad, base, NotOnCurve)
	}
	piece = sms << (groupOf[A]().piece - 2)
	for _, bad := range []int{-1, piece + 1, piece, piece - 1} {
		if bad >= 0 {
			require.NoError(t, gpu.UploadSlice(e.s, src.Slice(bad, bad+1), []A{outside}))
		}
		fault := faultWord(t, e)
		require.NoError(t, c.onCheck(e.l, e.s, src.Slice(0, piece+2), base, fault))
		checkFault(t, e, fault, bad, base, NotInSubgroup)
	}
}

// checkFault compares a fault word with what it must be for the first bad point, none being -1.
func checkFault(t *testing.T, e *env, fault gpu.View[uint64], bad int, base uint32, want Refusal) {
	t.Helper()
	index, why, ok := ReadFault(fetch(t, e, fault)[0])
	require.Equal(t, bad >= 0, ok)
	if ok {
		require.Equal(t, want, why)
		require.Equal(t, uint64(base)+uint64(bad), index)
	}
}

func edgeSuites(t *testing.T, e *env) {
	edgeSuite(t, e, codingG1(), g1Multiples(64), outsideG1(1)[0])
	edgeSuite(t, e, codingG2(), g2Multiples(64), outsideG2(1)[0])
}

// TestPointPieces runs on a card with one multiprocessor, which takes fewer points a launch.
func TestPointPieces(t *testing.T) {
	fake := fakedrv.New(fakedrv.Config{Cards: []fakedrv.Card{{SMs: 1}}})
	registerTwins(fake)
	e := newEnv(t, fake, 96<<20)
	e.fake = fake
	require.Equal(t, 1, e.d.Info().Multiprocessors)
	edgeSuites(t, e)
}

func TestPointArguments(t *testing.T) { pointArgumentSuite(t, onFake(t, 24)) }

func pointArgumentSuite(t *testing.T, e *env) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	p1, p2 := room[bls12381.G1Affine](t, e, 4), room[bls12381.G2Affine](t, e, 4)
	raw, place, fault := room[byte](t, e, 4*wire.G2Size+16), room[uint32](t, e, 3), room[uint64](t, e, 1)
	none := gpu.View[uint32]{}
	half := raw.Slice(0, 4*wire.G1Size)
	for name, err := range map[string]error{
		"length":          e.l.DecodeG1(e.s, p1, half.Slice(0, 95), none, 0, fault),
		"one too few":     e.l.DecodeG2(e.s, p2, raw.Slice(0, 3*wire.G2Size), none, 0, fault),
		"alignment":       e.l.DecodeG1(e.s, p1, raw.Slice(8, 8+4*wire.G1Size), none, 0, fault),
		"places":          e.l.DecodeG1(e.s, p1, half, place, 0, fault),
		"no fault word":   e.l.DecodeG1(e.s, p1, half, none, 0, gpu.View[uint64]{}),
		"check":           e.l.CheckSubgroupG1(e.s, p1, 0, gpu.View[uint64]{}),
		"check G2":        e.l.CheckSubgroupG2(e.s, p2, 0, gpu.View[uint64]{}),
		"encode length":   e.l.EncodeG1(e.s, raw, p1),
		"encode position": e.l.EncodeG2(e.s, raw.Slice(8, 8+4*wire.G2Size), p2),
	} {
		require.ErrorIs(t, err, gpu.ErrArgument, name)
	}
	// Nothing is a valid number of points.
	require.NoError(t, e.l.DecodeG1(e.s, p1.Slice(0, 0), raw.Slice(0, 0), none, 0, fault))
	require.NoError(t, e.l.CheckSubgroupG2(e.s, p2.Slice(0, 0), 0, fault))
	require.NoError(t, e.l.EncodeG1(e.s, raw.Slice(0, 0), p1.Slice(0, 0)))
}
