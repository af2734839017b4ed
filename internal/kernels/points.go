package kernels

import (
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// G1Xyzz is a sum of points as kernels hold it: x = X/ZZ, y = Y/ZZZ, ZZ³ = ZZZ², ZZ = 0 at infinity.
type G1Xyzz struct{ X, Y, ZZ, ZZZ fp.Element }

// G2Xyzz is the same over Fp2.
type G2Xyzz struct{ X, Y, ZZ, ZZZ bls12381.E2 }

// Jac is the point in Jacobian coordinates: (X·ZZ, Y·ZZZ, ZZ).
func (p *G1Xyzz) Jac() (j bls12381.G1Jac) {
	if p.ZZ.IsZero() {
		j.X.SetOne()
		j.Y.SetOne()
		return j
	}
	j.X.Mul(&p.X, &p.ZZ)
	j.Y.Mul(&p.Y, &p.ZZZ)
	j.Z = p.ZZ
	return j
}

// Jac is the point in Jacobian coordinates: (X·ZZ, Y·ZZZ, ZZ).
func (p *G2Xyzz) Jac() (j bls12381.G2Jac) {
	if p.ZZ.IsZero() {
		j.X.SetOne()
		j.Y.SetOne()
		return j
	}
	j.X.Mul(&p.X, &p.ZZ)
	j.Y.Mul(&p.Y, &p.ZZZ)
	j.Z = p.ZZ
	return j
}

func g1FromJac(j *bls12381.G1Jac) (p G1Xyzz) {
	p.X, p.Y = j.X, j.Y
	p.ZZ.Square(&j.Z)
	p.ZZZ.Mul(&p.ZZ, &j.Z)
	return p
}

func g2FromJac(j *bls12381.G2Jac) (p G2Xyzz) {
	p.X, p.Y = j.X, j.Y
	p.ZZ.Square(&j.Z)
	p.ZZZ.Mul(&p.ZZ, &j.Z)
	return p
}
