package kernels

import (
	"testing"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/pce"
)

// production is the offset of 32 GiB among the registered proofs of a rule.
const production = 3

// spmvSystems are circuits of Filecoin to evaluate, by name, with a witness each.
func spmvSystems() map[string]func(testing.TB) (*pce.System, *pce.Witness) {
	return map[string]func(testing.TB) (*pce.System, *pce.Witness){
		"2KiB": func(t testing.TB) (*pce.System, *pce.Witness) { return porepSystem(t, porep.StackedDrg2KiBV1_1) },
		"32GiB": func(t testing.TB) (*pce.System, *pce.Witness) {
			return porepSystem(t, porep.StackedDrg2KiBV1_1+production)
		},
		"winning": func(t testing.TB) (*pce.System, *pce.Witness) { return postSystem(t, post.Winning2KiBV1+production, 1) },
		"window100": func(t testing.TB) (*pce.System, *pce.Witness) { // sectors; a full partition has 2349
			return postSystem(t, post.Window2KiBV1_2+production, 100)
		},
	}
}

func TestGPUSpMV(t *testing.T) {
	e := onGPUWith(t, 1<<30)
	for name, s := range spmvCircuits() {
		t.Run(name, func(t *testing.T) { spmvSuite(t, e, s) })
	}
}

// TestGPUSpMVSystems compares all rows of circuits of production size. It takes a minute and 20 GB of memory.
func TestGPUSpMVSystems(t *testing.T) {
	e := onGPU(t)
	for _, name := range []string{"2KiB", "winning", "window100", "32GiB"} {
		t.Run(name, func(t *testing.T) {
			sys, w := spmvSystems()[name](t)
			spmvCompare(t, e, sys, w)
		})
	}
}
