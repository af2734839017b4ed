// Package blinding lets tests of this module fix the blinding factors r and s of proofs, so that proof bytes can
// be compared with given ones. Being internal, it cannot be reached from other modules: with r and s known
// a proof hides nothing.
package blinding

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Factors are the blinding factors of one proof.
type Factors struct{ R, S fr.Element }

type key struct{}

// Fix returns a context under which the i-th proof of a job takes the i-th factors.
func Fix(ctx context.Context, f ...Factors) context.Context {
	return context.WithValue(ctx, key{}, f)
}

// Fixed returns the factors for proof number i, if any were fixed.
func Fixed(ctx context.Context, i int) (Factors, bool) {
	f, _ := ctx.Value(key{}).([]Factors)
	if i >= len(f) {
		return Factors{}, false
	}
	return f[i], true
}
