package kernels

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// hostProgram compiles a C++ test program of cuda/test for this machine, with the sanitizers that
// the compiler has, and returns its path. The test is skipped where there is no compiler.
func hostProgram(t *testing.T, source string) string {
	t.Helper()
	cxx, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no C++ compiler: ", err)
	}
	out := filepath.Join(t.TempDir(), "host")
	args := []string{"-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
		"-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-o", out, source}
	if msg, err := exec.Command(cxx, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cxx, err, msg)
	}
	return out
}

// mem is the memory of a value in hexadecimal.
func mem[T any](v *T) string {
	return hex.EncodeToString(unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)))
}

// words reads numbers of n bits: edge values first, then random ones.
func words(rng *rand.Rand, mod *big.Int, count int) []*big.Int {
	one := big.NewInt(1)
	vs := []*big.Int{
		new(big.Int), one, big.NewInt(2), new(big.Int).Sub(mod, one), new(big.Int).Sub(mod, big.NewInt(2)),
		new(big.Int).Rsh(mod, 1), new(big.Int).Lsh(one, 32), new(big.Int).Sub(new(big.Int).Lsh(one, 64), one),
	}
	for len(vs) < count {
		b := make([]byte, (mod.BitLen()+71)/8)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		vs = append(vs, new(big.Int).Mod(new(big.Int).SetBytes(b), mod))
	}
	return vs
}

// element is what the field types of gnark-crypto share.
type element[T any] interface {
	*T
	Mul(a, b *T) *T
	Square(a *T) *T
	Add(a, b *T) *T
	Sub(a, b *T) *T
	Double(a *T) *T
	Neg(a *T) *T
}

func fieldCases[T any, E element[T]](w *bytes.Buffer, name string, vs []T) {
	n := len(vs)
	for i := range vs {
		var r T
		a := &vs[i]
		E(&r).Square(a)
		fmt.Fprintln(w, name, "sqr", mem(a), mem(&r))
		E(&r).Double(a)
		fmt.Fprintln(w, name, "dbl", mem(a), mem(&r))
		E(&r).Neg(a)
		fmt.Fprintln(w, name, "neg", mem(a), mem(&r))
		for j := range min(n, 10) {
			b, c, d := &vs[(i*7+j)%n], &vs[(i+j*3)%n], &vs[(i*j+5)%n]
			E(&r).Mul(a, b)
			fmt.Fprintln(w, name, "mul", mem(a), mem(b), mem(&r))
			E(&r).Add(a, b)
			fmt.Fprintln(w, name, "add", mem(a), mem(b), mem(&r))
			E(&r).Sub(a, b)
			fmt.Fprintln(w, name, "sub", mem(a), mem(b), mem(&r))
			var p, q T
			E(&p).Mul(a, b)
			E(&q).Mul(c, d)
			E(&r).Sub(&p, &q)
			fmt.Fprintln(w, name, "mul_sub", mem(a), mem(b), mem(c), mem(d), mem(&r))
			if name == "fp" {
				E(&r).Add(&p, &q)
				fmt.Fprintln(w, name, "mul_add", mem(a), mem(b), mem(c), mem(d), mem(&r))
			}
		}
	}
}

// point is what the affine types share.
type point[T any] interface {
	*T
	Add(a, b *T) *T
	Neg(a *T) *T
}

func curveCases[T any, P point[T]](w *bytes.Buffer, name string, ps []T) {
	line := func(op string, p, q, r *T) { fmt.Fprintln(w, name, op, mem(p), mem(q), mem(r)) }
	for i := range ps {
		for j := range ps {
			p, q := &ps[i], &ps[j]
			var s, qq, r T
			P(&s).Add(p, q)
			line("madd", p, q, &s)
			P(&r).Add(&s, q)
			line("madd3", p, q, &r)
			P(&qq).Add(q, q)
			P(&r).Add(&s, &qq)
			line("add", p, q, &r)
			line("same", p, q, &s)
		}
	}
}

// vectors makes the cases of cuda/test/arith_test.cc with gnark-crypto.
func vectors() *bytes.Buffer {
	rng := rand.New(rand.NewPCG(1, 2))
	var w bytes.Buffer
	var ps []fp.Element
	for _, v := range words(rng, fp.Modulus(), 60) {
		var e fp.Element
		ps = append(ps, *e.SetBigInt(v))
	}
	fieldCases(&w, "fp", ps)
	var rs []fr.Element
	for _, v := range words(rng, fr.Modulus(), 60) {
		var e fr.Element
		e.SetBigInt(v)
		rs = append(rs, e)
		plain := fr.Element(e.Bits())
		fmt.Fprintln(&w, "fr from_mont", mem(&e), mem(&plain))
	}
	fieldCases(&w, "fr", rs)
	var e2 []bls12381.E2
	for i := range ps {
		e2 = append(e2, bls12381.E2{A0: ps[i], A1: ps[(i*5+3)%len(ps)]})
	}
	fieldCases(&w, "fp2", e2)

	_, _, g1, g2 := bls12381.Generators()
	p1, p2 := []bls12381.G1Affine{{}, g1}, []bls12381.G2Affine{{}, g2}
	for _, k := range []int64{-1, 2, -2, 3, 1 << 40, -(1 << 40)} {
		p1 = append(p1, *new(bls12381.G1Affine).ScalarMultiplication(&g1, big.NewInt(k)))
		p2 = append(p2, *new(bls12381.G2Affine).ScalarMultiplication(&g2, big.NewInt(k)))
	}
	curveCases(&w, "g1", p1)
	curveCases(&w, "g2", p2)
	return &w
}

// TestHostArithmetic runs the field and curve headers on this machine's processor.
func TestHostArithmetic(t *testing.T) {
	cmd := exec.Command(hostProgram(t, "../../cuda/test/arith_test.cc"))
	cmd.Stdin = vectors()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), ", 0 wrong") {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	t.Logf("%s", out)
}
