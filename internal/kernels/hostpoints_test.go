package kernels

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/wire"
)

// hostCases are cases of cuda/test/points_test.cc.
func hostCases[A Point](w *bytes.Buffer, c coding[A], points, outside []A) {
	numbers := map[error]Refusal{
		wire.Flags: BadFlags, wire.NotReduced: NotReduced, wire.NotOnCurve: NotOnCurve, wire.Infinity: Infinity,
	}
	for _, raw := range c.samples(points, outside, len(points)) {
		p, err := c.verdict(raw)
		fmt.Fprintf(w, "%s decode %x %d %s\n", c.name, raw, numbers[err], mem(&p))
		if err == nil {
			fmt.Fprintf(w, "%s encode %s %x\n", c.name, mem(&p), raw)
		}
	}
	var infinity A
	fmt.Fprintf(w, "%s encode %s 40%s\n", c.name, mem(&infinity), strings.Repeat("00", c.size-1))
	for _, p := range slices.Concat(points, outside, []A{infinity}) {
		in := 0
		if c.check(&p) == nil {
			in = 1
		}
		fmt.Fprintf(w, "%s subgroup %s %d\n", c.name, mem(&p), in)
	}
}

// TestHostPoints runs the headers of cuda/points on this machine's processor.
func TestHostPoints(t *testing.T) {
	var w bytes.Buffer
	hostCases(&w, codingG1(), g1Multiples(12), outsideG1(9))
	hostCases(&w, codingG2(), g2Multiples(12), outsideG2(9))
	vs := words(rand.New(rand.NewPCG(2, 2)), fp.Modulus(), 20)
	for i, v := range vs {
		var a, inv fp.Element
		a.SetBigInt(v)
		inv.Inverse(&a)
		fmt.Fprintln(&w, "g1 inverse", mem(&a), mem(&inv))
		b := bls12381.E2{A0: a}
		b.A1.SetBigInt(vs[(i*3+1)%len(vs)])
		var inv2 bls12381.E2
		inv2.Inverse(&b)
		fmt.Fprintln(&w, "g2 inverse", mem(&b), mem(&inv2))
	}
	cmd := exec.Command(hostProgram(t, "../../cuda/test/points_test.cc"))
	cmd.Stdin = &w
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%.2000s", out)
	require.Contains(t, string(out), ", 0 wrong")
	t.Logf("%s", out)
}
