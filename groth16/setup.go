package groth16

import (
	"context"
	"errors"
	"fmt"
	"io"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/engine/affine"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// keyStretch is how many points are made between two writes.
const keyStretch = 1 << 16

// WriteTestParams writes the parameter file of a constraint system under given secrets, with the
// standard generators, byte for byte what bellperson's generator writes for them (circuits.md §9.3, §9.6). It returns
// the verifying key, which is the start of the file.
//
// progress, which may be nil, is called from the calling goroutine with the number of points written. Memory is about
// 350 bytes a private variable; a key of 10 million points takes about a minute on two processors. When ctx ends,
// context.Cause(ctx) is returned and what has been written is of no use.
func WriteTestParams(ctx context.Context, w io.Writer, system *pce.System, secrets *Secrets, progress func(done, total int64)) (*VerifyingKey, error) {
	vk, err := writeParams(ctx, w, system, secrets, progress)
	if err != nil {
		return nil, fmt.Errorf("groth16: make params for %s: %w", system.Name(), err)
	}
	return newVerifyingKey(vk), nil
}

func writeParams(ctx context.Context, w io.Writer, system *pce.System, secrets *Secrets, progress func(done, total int64)) (*srs.VerifyingKey, error) {
	if err := secrets.validate(); err != nil {
		return nil, err
	}
	q, err := newQueries(ctx, system, secrets)
	if err != nil {
		return nil, err
	}
	total := len(q.ic) + q.lenH + len(q.l) + len(q.a) + len(q.b)
	_, _, base1, base2 := bls12381.Generators()
	g := generator{progress: progress, total: int64(total + len(q.b))}
	if g.g1, err = affine.NewTable[fp.Element](ctx, affine.FromG1([]bls12381.G1Affine{base1})[0], total); err != nil {
		return nil, err
	}
	if g.g2, err = affine.NewTable[bls12381.E2](ctx, affine.FromG2([]bls12381.G2Affine{base2})[0], len(q.b)); err != nil {
		return nil, err
	}
	vk, err := g.verifyingKey(ctx, secrets, q.ic)
	if err != nil {
		return nil, err
	}
	g.out = srs.NewWriter(w, vk)
	q.ic = nil
	return vk, g.sections(ctx, q)
}

func (g *generator) sections(ctx context.Context, q *queries) error {
	for _, s := range []struct {
		name    srs.Section
		n       int
		scalars func(lo, hi int) []fr.Element
	}{
		{srs.H, q.lenH, q.h},
		{srs.L, len(q.l), slice(q.l)},
		{srs.A, len(q.a), slice(q.a)},
		{srs.BG1, len(q.b), slice(q.b)},
	} {
		if err := g.section1(ctx, s.name, s.n, s.scalars); err != nil {
			return err
		}
	}
	if err := g.section2(ctx, srs.BG2, q.b); err != nil {
		return err
	}
	return g.out.Finish()
}

// generator multiplies the standard generators.
type generator struct {
	g1          *affine.Table[fp.Element, *fp.Element]
	g2          *affine.Table[bls12381.E2, *bls12381.E2]
	out         *srs.Writer
	progress    func(done, total int64)
	done, total int64
}

func (g *generator) points1(ctx context.Context, scalars []fr.Element) ([]bls12381.G1Affine, error) {
	out := make([]affine.G1, len(scalars))
	err := g.g1.Mul(ctx, out, scalars)
	return affine.ToG1(out), err
}

func (g *generator) points2(ctx context.Context, scalars []fr.Element) ([]bls12381.G2Affine, error) {
	out := make([]affine.G2, len(scalars))
	err := g.g2.Mul(ctx, out, scalars)
	return affine.ToG2(out), err
}

func (g *generator) verifyingKey(ctx context.Context, s *Secrets, ic []fr.Element) (*srs.VerifyingKey, error) {
	one, err1 := g.points1(ctx, []fr.Element{s.Alpha, s.Beta, s.Delta})
	two, err2 := g.points2(ctx, []fr.Element{s.Beta, s.Gamma, s.Delta})
	points, err3 := g.points1(ctx, ic)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	g.report(len(ic))
	return &srs.VerifyingKey{
		AlphaG1: one[0], BetaG1: one[1], DeltaG1: one[2],
		BetaG2: two[0], GammaG2: two[1], DeltaG2: two[2],
		IC: points,
	}, nil
}

// slice gives the scalars of a section that is in memory.
func slice(s []fr.Element) func(lo, hi int) []fr.Element {
	return func(lo, hi int) []fr.Element { return s[lo:hi] }
}

// section1 writes n points of G1; scalars gives their factors, in order.
func (g *generator) section1(ctx context.Context, s srs.Section, n int, scalars func(lo, hi int) []fr.Element) error {
	if err := g.out.Begin(s, n); err != nil {
		return err
	}
	for lo := 0; lo < n; lo += keyStretch {
		hi := min(lo+keyStretch, n)
		points, err := g.points1(ctx, scalars(lo, hi))
		if err != nil {
			return err
		}
		if err := g.out.G1(points); err != nil {
			return err
		}
		g.report(hi - lo)
	}
	return nil
}

func (g *generator) section2(ctx context.Context, s srs.Section, scalars []fr.Element) error {
	if err := g.out.Begin(s, len(scalars)); err != nil {
		return err
	}
	for lo := 0; lo < len(scalars); lo += keyStretch {
		hi := min(lo+keyStretch, len(scalars))
		points, err := g.points2(ctx, scalars[lo:hi])
		if err != nil {
			return err
		}
		if err := g.out.G2(points); err != nil {
			return err
		}
		g.report(hi - lo)
	}
	return nil
}

func (g *generator) report(n int) {
	g.done += int64(n)
	if g.progress != nil {
		g.progress(g.done, g.total)
	}
}
