package kernels

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

func mulTwin(m Memory, _ gpu.Grid, p *pointwiseParams) {
	a, b := at[fr.Element](m, p.A, int(p.N)), at[fr.Element](m, p.B, int(p.N))
	for i := range at[fr.Element](m, p.Out, int(p.N)) {
		at[fr.Element](m, p.Out, int(p.N))[i].Mul(&a[i], &b[i])
	}
}

func subScaleTwin(m Memory, _ gpu.Grid, p *pointwiseParams) {
	a, b := at[fr.Element](m, p.A, int(p.N)), at[fr.Element](m, p.B, int(p.N))
	out := at[fr.Element](m, p.Out, int(p.N))
	for i := range out {
		out[i].Sub(&a[i], &b[i])
		out[i].Mul(&out[i], &p.Scale)
	}
}

func gatherTwin(m Memory, _ gpu.Grid, p *gatherParams) {
	out := at[fr.Element](m, p.Out, int(p.N))
	for i, k := range at[uint32](m, p.Index, int(p.N)) {
		out[i] = at[fr.Element](m, p.In+32*uint64(k), 1)[0]
	}
}

func unequalTwin(m Memory, _ gpu.Grid, p *unequalParams) {
	a, b, c := at[fr.Element](m, p.A, int(p.N)), at[fr.Element](m, p.B, int(p.N)), at[fr.Element](m, p.C, int(p.N))
	first := at[uint32](m, p.First, 1)
	for i := range a {
		var v fr.Element
		if v.Mul(&a[i], &b[i]); !v.Equal(&c[i]) {
			first[0] = min(first[0], uint32(i))
		}
	}
}
