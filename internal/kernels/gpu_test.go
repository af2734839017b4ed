package kernels

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// The tests here need a card. On a machine with one:
//
//	CUZK_REQUIRE_GPU=1 kernels.test -test.run TestGPU -test.v

func TestGPUChains(t *testing.T) {
	e := onGPU(t)
	chainSuite(t, e, 5000, 1)
	chainSuite(t, e, 300, 50)
}

func TestGPUPointwise(t *testing.T) { pointwiseSuite(t, onGPU(t), 100_001) }

func TestGPUQuotient(t *testing.T) {
	e := onGPU(t)
	for _, logN := range []int{0, 1, 2, 3, 4, 9, 10, 11, 13, 17, 20} {
		quotientSuite(t, e, logN)
	}
}
func TestGPUArguments(t *testing.T) { argumentSuite(t, onGPU(t)) }

func TestGPUNTT(t *testing.T) {
	e := onGPU(t)
	for logN := range 22 {
		nttSuite(t, e, logN)
	}
}

// TestGPUNTTChecks compares large transforms with the check values of peers, and their inverse with
// the input.
func TestGPUNTTChecks(t *testing.T) {
	e := onGPU(t)
	for _, logN := range []int{10, 16, 18, 19, 20, 22, 24, 26} {
		mark := e.a.Mark()
		n := 1 << logN
		x := toMont(peerScalars(n, false))
		src, dst := upload(t, e, x), room[fr.Element](t, e, n)
		if err := e.ntt.Run(e.s, Transform{LogN: logN}, dst, src); err != nil {
			t.Fatal(err)
		}
		if got := nttHash(fetch(t, e, dst)); got != nttChecks[logN] {
			t.Errorf("2^%d: %s, want %s", logN, got, nttChecks[logN])
		}
		if err := e.ntt.Run(e.s, Transform{LogN: logN, Inverse: true}, src, dst); err != nil {
			t.Fatal(err)
		}
		if i := firstDifference(fetch(t, e, src), x); i >= 0 {
			t.Errorf("2^%d: the inverse differs at %d", logN, i)
		}
		e.a.Rewind(mark)
	}
}

func TestGPUMSM(t *testing.T) {
	e := onGPU(t)
	for _, n := range []int{1, 2, 3, 31, 32, 33, 255, 1000, 4097} {
		msmSuite(t, e, n, MSMOptions{})
		msmSuite(t, e, n, MSMOptions{Montgomery: true, WindowBits: 13})
	}
	msmSuite(t, e, 20_000, MSMOptions{})
	for c := minWindow; c <= maxWindow; c++ {
		msmSuite(t, e, 700, MSMOptions{WindowBits: c})
	}
}

// TestGPUSmall runs every kernel on small sizes, for compute-sanitizer.
func TestGPUSmall(t *testing.T) {
	e := onGPUWith(t, 256<<20)
	chainSuite(t, e, 40, 2)
	pointwiseSuite(t, e, 300)
	quotientSuite(t, e, 5)
	for _, logN := range []int{0, 1, 2, 3, 6, 10, 11, 13, 15} {
		nttSuite(t, e, logN)
	}
	for _, n := range []int{1, 33, 300} {
		msmSuite(t, e, n, MSMOptions{WindowBits: 9})
		bitsSuite(t, e, n)
	}
	bitsSuite(t, e, 40_000) // a heavy bucket
}

// TestGPUMSMChecks compares larger sums with the check values of peers.
func TestGPUMSMChecks(t *testing.T) {
	e := onGPU(t)
	const largest = 22
	mark := e.a.Mark()
	p1 := upload(t, e, g1Multiples(1<<largest))
	uniform, filecoin := peerScalars(1<<largest, false), peerScalars(1<<largest, true)
	for _, logN := range []int{10, 16, 18, 20, 22} {
		n := 1 << logN
		for _, c := range []struct {
			s    []fr.Element
			want string
		}{{uniform, g1Checks[logN]}, {filecoin, g1FilecoinChecks[logN]}} {
			if c.want == "" {
				continue
			}
			inner := e.a.Mark()
			got, err := e.l.G1MSM(e.s, e.a, p1.Slice(0, n), upload(t, e, c.s[:n]), MSMOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if g1Hex(&got) != c.want {
				t.Errorf("G1 2^%d: %s, want %s", logN, g1Hex(&got), c.want)
			}
			e.a.Rewind(inner)
		}
	}
	e.a.Rewind(mark)
	p2 := upload(t, e, g2Multiples(1<<20))
	for _, logN := range []int{14, 18, 20} {
		n := 1 << logN
		got, err := e.l.G2MSM(e.s, e.a, p2.Slice(0, n), upload(t, e, uniform[:n]), MSMOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if g2Hex(&got) != g2Checks[logN] {
			t.Errorf("G2 2^%d: %s, want %s", logN, g2Hex(&got), g2Checks[logN])
		}
	}
}

func TestGPUBits(t *testing.T) {
	e := onGPU(t)
	for _, n := range []int{1, 31, 32, 33, 1000, 100_003} {
		bitsSuite(t, e, n)
	}
}

// TestGPUThreads: the driver's context is current on no thread after all this.
func TestGPUThreads(t *testing.T) {
	e := onGPU(t)
	lib, err := cudrv.Open("")
	if err != nil {
		t.Fatal(err)
	}
	type current interface {
		CurrentContext() (cudrv.Context, cudrv.Result)
	}
	done := make(chan error)
	for range 32 {
		go func() {
			for range 200 {
				if _, _, err := e.d.Memory(); err != nil {
					done <- err
					return
				}
				if c, ok := any(lib).(current); ok {
					if ctx, r := c.CurrentContext(); ctx != 0 || r != cudrv.Success {
						done <- errors.New("a thread kept a context")
						return
					}
				}
			}
			done <- nil
		}()
	}
	for range 32 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestGPURegisters: every kernel is there, with the registers that resources.txt promises or fewer
// than the hardware's limit.
func TestGPURegisters(t *testing.T) {
	e := onGPU(t)
	for name, f := range e.l.funcs {
		if n, err := f.Registers(); err != nil || n < 1 || n > 255 {
			t.Errorf("%s: %d registers, %v", name, n, err)
		}
	}
	if st := e.d.Stats(); st.Leaks != 0 || st.Lost != nil {
		t.Errorf("%+v", st)
	}
	if _, err := gpu.Alloc[byte](e.a, -1); !errors.Is(err, gpu.ErrArgument) {
		t.Error(err)
	}
}
