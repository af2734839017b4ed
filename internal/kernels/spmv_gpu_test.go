package kernels

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/pce"
)

// production is the offset of 32 GiB among the registered proofs of a rule.
const production = 3

// spmvSystems are circuits of Filecoin to evaluate and measure, by name, with a witness each.
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
		"window": func(t testing.TB) (*pce.System, *pce.Witness) {
			return postSystem(t, post.Window2KiBV1_2+production, 2349)
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

// measureSpMV measures the evaluation of a circuit, and each kernel alone; TestGPUSpMVSystems compares the rows.
func measureSpMV(t *testing.T, e *env, name string) {
	system, ok := spmvSystems()[name]
	if !ok {
		t.Fatalf("unknown circuit %q", name)
	}
	sys, w := system(t)
	y, err := e.l.LoadSystem(e.s, e.a, sys)
	if err != nil {
		t.Fatal(err)
	}
	in := uploadWitness(t, e, w)
	var out [3]gpu.View[fr.Element]
	for m := range out {
		out[m] = room[fr.Element](t, e, sys.FullRows())
	}
	timed(t, e, line{Op: "spmv " + name}, float64(sys.FullRows()), func() {
		if err := y.Eval(e.s, in, out[0], out[1], out[2]); err != nil {
			t.Fatal(err)
		}
	})
	for i := range y.parts {
		part := *y
		part.parts = y.parts[i : i+1]
		timed(t, e, line{Op: "spmv " + name + ", " + y.parts[i].kernel}, 0, func() {
			if err := part.Eval(e.s, in, out[0], out[1], out[2]); err != nil {
				t.Fatal(err)
			}
		})
	}
}
