//go:build !purego

package poseidon

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sys/cpu"
)

var hasADX = cpu.X86.HasADX && cpu.X86.HasBMI2

// innerADX is innerWide for n elements, n at least 1.
//
//go:noescape
func innerADX(out *wide, x, y *fr.Element, n int)

// inner is Σ xᵢ·yᵢ. The slices are as long as each other, from 1 to maxTerms.
func inner(x, y []fr.Element) fr.Element {
	var w wide
	if hasADX {
		innerADX(&w, &x[0], &y[:len(x)][0], len(x))
	} else {
		w.innerWide(x, y)
	}
	return w.reduced()
}

// fifthADX is fifth on a processor with the instructions.
//
//go:noescape
func fifthADX(out *[4]fr.Element, post *fr.Element)

// fifth fills out, of which the first is x, with x², x⁴ and x⁵ + post.
func fifth(out *[4]fr.Element, post *fr.Element) {
	if hasADX {
		fifthADX(out, post)
	} else {
		fifthPower(out, post)
	}
}
