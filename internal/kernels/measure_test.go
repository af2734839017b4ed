package kernels

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// measure lists what TestGPUMeasure measures: "mul,ntt:20:24,g1:16:20,filecoin:24,g2:20,bits:24,spmv:32GiB". Without
// it the test is skipped.
var (
	measure  = flag.String("measure", "", "what TestGPUMeasure measures, as mul,ntt:20:24,g1:16,g2:20,bits:24,spmv:2KiB:32GiB")
	windowsC = flag.Int("window", 0, "window bits of the measured MSMs; 0 is the default")
)

const (
	warmRuns  = 2
	timedRuns = 7
)

// line is one measured quantity, printed as JSON.
type line struct {
	Op       string  `json:"op"`
	Log      int     `json:"log,omitempty"`
	MedianMS float64 `json:"median_ms"`
	MinMS    float64 `json:"min_ms"`
	MaxMS    float64 `json:"max_ms"`
	WallMS   float64 `json:"wall_median_ms"`
	Runs     int     `json:"runs"`
	GigaRate float64 `json:"giga_per_second,omitempty"`
	Check    string  `json:"check,omitempty"`
	CheckOK  *bool   `json:"check_ok,omitempty"`
}

// timed runs f and reports the card's time (events) and the wall clock: medians of seven after two.
func timed(t *testing.T, e *env, l line, units float64, f func()) {
	t.Helper()
	start, err := e.d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	stop, err := e.d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	var card, wall []float64
	for i := range warmRuns + timedRuns {
		begin := time.Now()
		if err := start.Record(e.s); err != nil {
			t.Fatal(err)
		}
		f()
		if err := stop.Record(e.s); err != nil {
			t.Fatal(err)
		}
		if err := stop.Wait(); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begin)
		d, err := stop.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		if i >= warmRuns {
			card = append(card, d.Seconds()*1000)
			wall = append(wall, took.Seconds()*1000)
		}
	}
	for _, ev := range []*gpu.Event{start, stop} {
		if err := ev.Close(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(card)
	slices.Sort(wall)
	l.Runs, l.MedianMS, l.MinMS, l.MaxMS = timedRuns, card[timedRuns/2], card[0], card[timedRuns-1]
	l.WallMS = wall[timedRuns/2]
	if units > 0 {
		l.GigaRate = units / l.MedianMS / 1e6
	}
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(b))
}

// TestGPUMeasure prints one line of JSON for each quantity.
func TestGPUMeasure(t *testing.T) {
	if *measure == "" {
		t.Skip("no -measure")
	}
	e := onGPU(t)
	fmt.Printf("{\"gpu\":%q,\"multiprocessors\":%d}\n", e.d.Info().Name, e.d.Info().Multiprocessors)
	for _, item := range strings.Split(*measure, ",") {
		op, sizes, _ := strings.Cut(item, ":")
		if op == "mul" {
			measureMul(t, e)
			continue
		}
		for _, size := range strings.Split(sizes, ":") {
			if op == "spmv" {
				mark := e.a.Mark()
				measureSpMV(t, e, size)
				e.a.Rewind(mark)
				continue
			}
			logN, err := strconv.Atoi(size)
			if err != nil {
				t.Fatalf("%s: %v", item, err)
			}
			mark := e.a.Mark()
			switch op {
			case "ntt":
				measureNTT(t, e, logN)
			case "g1":
				measureG1(t, e, logN, false)
			case "filecoin":
				measureG1(t, e, logN, true)
			case "g2":
				measureG2(t, e, logN)
			case "bits":
				measureBits(t, e, logN)
			case "quotient":
				measureQuotient(t, e, logN)
			default:
				if !measurePoints(t, e, op, logN) {
					t.Fatalf("unknown quantity %q", item)
				}
			}
			e.a.Rewind(mark)
		}
	}
}

func measureMul(t *testing.T, e *env) {
	n := e.d.Info().Multiprocessors * 2048
	measureChain(t, e, ChainFpMul, make([]fp.Element, 2*n), n)
	measureChain(t, e, ChainFpSqr, make([]fp.Element, 2*n), n)
	measureChain(t, e, ChainFpMulSub, make([]fp.Element, 2*n), n)
	measureChain(t, e, ChainFp2Mul, make([]bls12381.E2, 2*n), n)
	measureChain(t, e, ChainFrMul, make([]fr.Element, 2*n), n)
}

func measureChain[T any](t *testing.T, e *env, c Chain, in []T, n int) {
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	raw := peerScalars(len(bytesOf(in))/32, false)
	copy(bytesOf(in), bytesOf(raw))
	for i := range bytesOf(in) { // below the modulus: no byte of a limb's top above 9
		bytesOf(in)[i] &= 0x0f
	}
	d, out := upload(t, e, in), room[T](t, e, n)
	const rounds = 2000
	timed(t, e, line{Op: string(c)}, float64(n)*rounds, func() {
		if err := RunChain(e.l, e.s, c, out, d, rounds); err != nil {
			t.Fatal(err)
		}
	})
}

func measureNTT(t *testing.T, e *env, logN int) {
	n := 1 << logN
	x := upload(t, e, toMont(peerScalars(n, false)))
	y := room[fr.Element](t, e, n)
	for _, c := range []struct {
		name     string
		tr       Transform
		dst, src gpu.View[fr.Element]
	}{
		{"ntt forward NN to another buffer", Transform{}, y, x},
		{"ntt forward NN in place", Transform{}, x, x},
		{"ntt inverse NN in place", Transform{Inverse: true}, x, x},
		{"ntt inverse NR", Transform{Inverse: true, Out: Reversed}, x, x},
		{"ntt coset forward RN", Transform{Coset: true, In: Reversed}, x, x},
		{"ntt coset inverse NN to another buffer", Transform{Coset: true, Inverse: true}, y, x},
	} {
		c.tr.LogN = logN
		timed(t, e, line{Op: c.name, Log: logN}, 0, func() {
			if err := e.ntt.Run(e.s, c.tr, c.dst, c.src); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func checkLine(op string, logN int, got, want string) line {
	l := line{Op: op, Log: logN, Check: got}
	if want != "" {
		ok := got == want
		l.CheckOK = &ok
	}
	return l
}

func measureG1(t *testing.T, e *env, logN int, filecoin bool) {
	n := 1 << logN
	points, scalars := upload(t, e, g1Multiples(n)), upload(t, e, peerScalars(n, filecoin))
	sum := func() string {
		got, err := e.l.G1MSM(e.s, e.a, points, scalars, MSMOptions{WindowBits: *windowsC})
		if err != nil {
			t.Fatal(err)
		}
		return g1Hex(&got)
	}
	op, want := "msm g1 uniform", g1Checks[logN]
	if filecoin {
		op, want = "msm g1 filecoin", g1FilecoinChecks[logN]
	}
	l := checkLine(op, logN, sum(), want)
	if l.CheckOK != nil && !*l.CheckOK {
		t.Errorf("%s 2^%d: wrong", op, logN)
	}
	timed(t, e, l, 0, func() { sum() })
}

func measureG2(t *testing.T, e *env, logN int) {
	n := 1 << logN
	points, scalars := upload(t, e, g2Multiples(n)), upload(t, e, peerScalars(n, false))
	sum := func() string {
		got, err := e.l.G2MSM(e.s, e.a, points, scalars, MSMOptions{WindowBits: *windowsC})
		if err != nil {
			t.Fatal(err)
		}
		return g2Hex(&got)
	}
	l := checkLine("msm g2 uniform", logN, sum(), g2Checks[logN])
	if l.CheckOK != nil && !*l.CheckOK {
		t.Errorf("G2 2^%d: wrong", logN)
	}
	timed(t, e, l, 0, func() { sum() })
}

func measureBits(t *testing.T, e *env, logN int) {
	n := 1 << logN
	points := upload(t, e, g1Multiples(n))
	words := make([]uint32, n/32)
	for i := range words {
		s := peerScalar(77, i/4)
		words[i] = uint32(s[i%4])
	}
	bits := upload(t, e, words)
	timed(t, e, line{Op: "sum of set bits, half set", Log: logN}, 0, func() {
		if _, err := e.l.G1Bits(e.s, e.a, points, bits, Selection{}); err != nil {
			t.Fatal(err)
		}
	})
}

// measureQuotient measures what a, b and c with a·b = c take; after the first run they are other values, which does not matter
// to the time.
func measureQuotient(t *testing.T, e *env, logN int) {
	n := 1 << logN
	v := toMont(peerScalars(n, false))
	a, b, c := upload(t, e, v), upload(t, e, v), upload(t, e, v)
	first := room[uint32](t, e, 1)
	timed(t, e, line{Op: "rows checked", Log: logN}, 0, func() {
		if err := e.l.FirstUnequal(e.s, first, a, b, c); err != nil {
			t.Fatal(err)
		}
	})
	timed(t, e, line{Op: "quotient", Log: logN}, 0, func() {
		if err := e.ntt.Quotient(e.s, logN, a, b, c); err != nil {
			t.Fatal(err)
		}
	})
}
