//go:build !amd64 || purego

package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// inner is Σ xᵢ·yᵢ. The slices are as long as each other, from 1 to maxTerms.
func inner(x, y []fr.Element) fr.Element {
	var w wide
	w.innerWide(x, y)
	return w.reduced()
}

// fifth fills out, of which the first is x, with x², x⁴ and x⁵ + post.
func fifth(out *[4]fr.Element, post *fr.Element) { fifthPower(out, post) }
