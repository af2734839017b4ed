package kernels

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// Quotient enqueues the computation of h = (A·B − C)/(x^n − 1) for polynomials with the given values on the domain of
// n = 2^logN elements, where A·B = C. It uses up a and c and leaves the coefficients of h, lowest first, in b.
//
// On the coset of g, x^n − 1 has the one value g^n − 1, and there the values of A·B determine A·B modulo x^n − g^n. Modulo
// that, h·(x^n − 1) is h·(g^n − 1), of degree below n. So
//
//	h = (A·B mod (x^n − g^n) − C) / (g^n − 1)
//
// and C is needed as coefficients only: six transforms. Those of A and B go through bit-reversed coefficients, so that
// nothing is reordered on the way.
func (t *NTT) Quotient(s *gpu.Stream, logN int, a, b, c gpu.View[fr.Element]) error {
	if logN < 0 || logN > maxLogN {
		return fmt.Errorf("kernels: quotient over 2^%d elements: %w", logN, gpu.ErrArgument)
	}
	if err := checkVectors("quotient", 1<<logN, a.Len(), b.Len(), c.Len()); err != nil {
		return err
	}
	if logN == 0 {
		return gpu.Fill(s, b, 0)
	}
	for _, v := range []gpu.View[fr.Element]{a, b} {
		if err := t.Run(s, Transform{LogN: logN, Inverse: true, Out: Reversed}, v, v); err != nil {
			return err
		}
		if err := t.Run(s, Transform{LogN: logN, Coset: true, In: Reversed}, v, v); err != nil {
			return err
		}
	}
	if err := t.l.Mul(s, a, a, b); err != nil {
		return err
	}
	if err := t.Run(s, Transform{LogN: logN, Inverse: true, Coset: true}, b, a); err != nil {
		return err
	}
	if err := t.Run(s, Transform{LogN: logN, Inverse: true}, a, c); err != nil {
		return err
	}
	return t.l.SubScale(s, b, b, a, vanishingInverse(logN))
}

// vanishingInverse is 1/(g^n − 1).
func vanishingInverse(logN int) fr.Element {
	z, one := generator(), fr.One()
	z.Exp(z, big.NewInt(1<<logN))
	z.Sub(&z, &one)
	return *z.Inverse(&z)
}
