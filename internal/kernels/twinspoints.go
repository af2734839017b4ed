package kernels

import (
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// pointTwin is what the twins over points need of a group: A is its affine type, X its sums.
type pointTwin[A Point, X any] struct {
	size       int // bytes of an encoded point
	read       func(b []byte) (A, bool)
	write      func(b []byte, a *A)
	onCurve    func(a *A) bool
	inSubgroup func(a *A) bool
	toAffine   func(x *X) A
	group      groupTwin[A, X]
}

func pointsG1() pointTwin[bls12381.G1Affine, G1Xyzz] {
	return pointTwin[bls12381.G1Affine, G1Xyzz]{
		size: 2 * fp.Bytes,
		read: func(b []byte) (p bls12381.G1Affine, ok bool) {
			return p, readPlain(b, &p.X, &p.Y)
		},
		write:      func(b []byte, p *bls12381.G1Affine) { writePlain(b, &p.X, &p.Y) },
		onCurve:    (*bls12381.G1Affine).IsOnCurve,
		inSubgroup: (*bls12381.G1Affine).IsInSubGroup,
		toAffine: func(x *G1Xyzz) (p bls12381.G1Affine) {
			j := x.Jac()
			return *p.FromJacobian(&j)
		},
		group: groupG1(),
	}
}

func pointsG2() pointTwin[bls12381.G2Affine, G2Xyzz] {
	return pointTwin[bls12381.G2Affine, G2Xyzz]{
		size: 4 * fp.Bytes,
		read: func(b []byte) (p bls12381.G2Affine, ok bool) {
			return p, readPlain(b, &p.X.A1, &p.X.A0, &p.Y.A1, &p.Y.A0)
		},
		write:      func(b []byte, p *bls12381.G2Affine) { writePlain(b, &p.X.A1, &p.X.A0, &p.Y.A1, &p.Y.A0) },
		onCurve:    (*bls12381.G2Affine).IsOnCurve,
		inSubgroup: (*bls12381.G2Affine).IsInSubGroup,
		toAffine: func(x *G2Xyzz) (p bls12381.G2Affine) {
			j := x.Jac()
			return *p.FromJacobian(&j)
		},
		group: groupG2(),
	}
}

// readPlain reads big-endian numbers, one after another, and tells whether all are below p.
func readPlain(b []byte, to ...*fp.Element) bool {
	ok := true
	for i, e := range to {
		v, err := fp.BigEndian.Element((*[fp.Bytes]byte)(b[i*fp.Bytes:]))
		*e, ok = v, ok && err == nil
	}
	return ok
}

func writePlain(b []byte, from ...*fp.Element) {
	for i, e := range from {
		fp.BigEndian.PutElement((*[fp.Bytes]byte)(b[i*fp.Bytes:]), *e)
	}
}

func (g pointTwin[A, X]) register(d map[string]Twin, name string) {
	twinOf(d, "points_decode_"+name, g.decode)
	twinOf(d, "points_check_"+name, g.check)
	twinOf(d, "points_encode_"+name, g.encode)
	twinOf(d, "points_affine_"+name, g.affine)
	twinOf(d, "fixed_extend_"+name, g.extend)
	twinOf(d, "fixed_mul_"+name, g.mul)
}

// infinityFlag is the flag bit of the point at infinity; flagBits are those of all flags.
const (
	infinityFlag = 0x40
	flagBits     = 0xe0
)

// refusal says why b is not a point, 0 if it is.
func (g pointTwin[A, X]) refusal(b []byte) (p A, why Refusal) {
	if b[0]&flagBits != 0 {
		for i, v := range b {
			if i == 0 && v != infinityFlag || i > 0 && v != 0 {
				return p, BadFlags
			}
		}
		return p, Infinity
	}
	q, ok := g.read(b)
	switch {
	case !ok:
		return p, NotReduced
	case !g.onCurve(&q) || q == p: // (0, 0) is infinity to gnark-crypto
		return p, NotOnCurve
	}
	return q, 0
}

func refuse(m Memory, fault, index uint64, why Refusal) {
	f := one[uint64](m, fault, 0)
	*f = min(*f, index<<8|uint64(why))
}

func (g pointTwin[A, X]) decode(m Memory, _ gpu.Grid, p *decodeParams) {
	for i := range int(p.N) {
		q, why := g.refusal(at[byte](m, p.Raw+uint64(i*g.size), g.size))
		to := uint32(i)
		if p.Place != 0 {
			to = *one[uint32](m, p.Place, i)
		}
		if to >= p.Room {
			why = BadPlace
		} else {
			*one[A](m, p.Points, int(to)) = q
		}
		if why != 0 {
			refuse(m, p.Fault, p.Base+uint64(i), why)
		}
	}
}

func (g pointTwin[A, X]) check(m Memory, _ gpu.Grid, p *checkParams) {
	for i := range int(p.N) {
		if !g.inSubgroup(one[A](m, p.Points, i)) {
			refuse(m, p.Fault, p.Base+uint64(i), NotInSubgroup)
		}
	}
}

func (g pointTwin[A, X]) encode(m Memory, _ gpu.Grid, p *encodeParams) {
	var infinity A
	for i := range int(p.N) {
		a, b := one[A](m, p.Points, i), at[byte](m, p.Raw+uint64(i*g.size), g.size)
		g.write(b, a)
		if *a == infinity {
			b[0] = infinityFlag
		}
	}
}

func (g pointTwin[A, X]) affine(m Memory, _ gpu.Grid, p *toAffineParams) {
	for k := range p.N {
		i := p.First + k
		to := int(i/p.Group)*int(p.Pitch) + int(p.Start+i%p.Group)
		*one[A](m, p.Points, to) = g.toAffine(one[X](m, p.Sums, int(k)))
	}
}

func (g pointTwin[A, X]) extend(m Memory, _ gpu.Grid, p *extendParams) {
	for k := range int(p.N) {
		i := int(p.First) + k
		window := i / int(p.Have) * int(p.Half)
		a, b := *one[A](m, p.Table, window+int(p.Have)-1), *one[A](m, p.Table, window+i%int(p.Have))
		*one[X](m, p.Sums, k) = g.group.add(g.group.affine(a), g.group.affine(b))
	}
}

func (g pointTwin[A, X]) mul(m Memory, _ gpu.Grid, p *fixedParams) {
	offset := limbsToInt(p.Offset[:])
	half := int64(1) << (p.C - 1)
	mask := big.NewInt(2*half - 1)
	for i, s := range at[fr.Element](m, p.Scalars, int(p.N)) {
		v, negative := magnitude(s, p.Montgomery != 0)
		v.Add(v, offset)
		var sum X
		for w := range int(p.Windows) {
			u := new(big.Int).Rsh(v, uint(int(p.C)*w))
			digit := u.And(u, mask).Int64() - half
			if digit == 0 {
				continue
			}
			q := *one[A](m, p.Table, w*int(half)+int(max(digit, -digit))-1)
			if digit < 0 != negative {
				g.group.neg(&q)
			}
			sum = g.group.add(sum, g.group.affine(q))
		}
		*one[X](m, p.Sums, i) = sum
	}
}

// magnitude is the scalar or what it lacks to r, whichever is less, and whether it is the second.
func magnitude(s fr.Element, montgomery bool) (v *big.Int, negative bool) {
	if montgomery {
		s = fr.Element(s.Bits())
	}
	v = new(big.Int)
	for k := 3; k >= 0; k-- {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(s[k]))
	}
	if t := new(big.Int).Sub(fr.Modulus(), v); t.Cmp(v) < 0 {
		return t, true
	}
	return v, false
}

func powersTwin(m Memory, _ gpu.Grid, p *powersParams) {
	v := p.Scale
	for k := range p.Square {
		if p.First>>k&1 == 1 {
			v.Mul(&v, &p.Square[k])
		}
	}
	out := at[fr.Element](m, p.Out, int(p.N))
	for i := range out {
		out[i] = v
		v.Mul(&v, &p.Square[0])
	}
}
