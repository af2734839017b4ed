package groth16

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
	"github.com/gocuzk/cuzk/pce"
)

// TestKeyOptions tunes [WriteTestParams] and [WriteTestKey]. The zero value, and nil, mean the defaults.
type TestKeyOptions struct {
	// Secrets are used instead of random ones.
	Secrets *Secrets
	// Backend picks where the heavy work runs.
	Backend Backend
	// Device is the GPU to use. It is not closed. It must be nil, or the CPU, for BackendCPU.
	Device device.Device
	// Logger receives warnings. Nil means none.
	Logger *slog.Logger
	// Progress, which may be nil, is called from the calling goroutine with the number of points written.
	Progress func(done, total int64)
}

// WriteTestParams writes the parameter file of a constraint system, with the standard generators: byte for byte what
// bellperson's generator writes for the same secrets (circuits.md §9.3, §9.6), on every backend. It returns
// the verifying key, which is the start of the file.
//
// Memory is about 350 bytes a private variable; with a GPU up to a quarter of a gigabyte more, and 2 to 12 GB of the GPU's
// where there are as many. A key of 10 million points takes about a minute on two processors; with a GPU it takes seconds,
// most of them for writing.
//
// When ctx ends, context.Cause(ctx) is returned; what has been written then is of no use. With BackendGPU, or a GPU that is
// there but cannot be used, the error is one of package device.
func WriteTestParams(ctx context.Context, w io.Writer, system *pce.System, o *TestKeyOptions) (*VerifyingKey, error) {
	vk, _, err := writeTestParams(ctx, w, system, o)
	return vk, err
}

// writeTestParams says also where the work was done.
func writeTestParams(
	ctx context.Context, w io.Writer, system *pce.System, o *TestKeyOptions,
) (*VerifyingKey, Backend, error) {
	if err := checkSystem("make params", system); err != nil {
		return nil, BackendAuto, err
	}
	if o == nil {
		o = &TestKeyOptions{}
	}
	if err := checkPlace(o.Backend, o.Device); err != nil {
		return nil, o.Backend, err
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	where, err := choosePlace(o.Backend, o.Device, log)
	if err != nil {
		return nil, o.Backend, fmt.Errorf("groth16: make params for %s: %w", system.Name(), err)
	}
	vk, err := writeParams(ctx, w, system, o, where)
	if err = errors.Join(err, where.close()); err != nil {
		return nil, where.kind, fmt.Errorf("groth16: make params for %s: %w", system.Name(), device.Err(err))
	}
	return newVerifyingKey(vk), where.kind, nil
}

// checkSystem refuses what is no constraint system. The error names the operation.
func checkSystem(op string, system *pce.System) error {
	switch {
	case system == nil:
		return fmt.Errorf("groth16: %s: no constraint system given", op)
	case reflect.ValueOf(system).Elem().IsZero():
		return fmt.Errorf("groth16: %s: constraint system is neither recorded nor opened", op)
	}
	return nil
}

func writeParams(
	ctx context.Context, w io.Writer, system *pce.System, o *TestKeyOptions, where *place,
) (_ *srs.VerifyingKey, err error) {
	secrets := o.Secrets
	if secrets == nil {
		if secrets, err = RandomSecrets(); err != nil {
			return nil, err
		}
	}
	if err := secrets.validate(); err != nil {
		return nil, err
	}
	q, err := newQueries(ctx, system, secrets)
	if err != nil {
		return nil, err
	}
	points1 := len(q.ic) + q.lenH + len(q.l) + len(q.a) + len(q.b)
	maker, err := where.keyMaker(ctx, points1, len(q.b))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, maker.Close()) }()
	g := generator{maker: maker, progress: o.Progress, total: int64(points1 + len(q.b))}
	return g.write(ctx, w, secrets, q)
}

// generator writes a key.
type generator struct {
	maker       engine.KeyMaker
	out         *srs.Writer
	progress    func(done, total int64)
	done, total int64
}

func (g *generator) write(ctx context.Context, w io.Writer, s *Secrets, q *queries) (*srs.VerifyingKey, error) {
	vk, err := g.verifyingKey(ctx, s, q.ic)
	if err != nil {
		return nil, err
	}
	g.out = srs.NewWriter(w, vk)
	err = g.section(srs.H, q.lenH, func(emit func([]byte) error) error {
		return g.maker.G1Powers(ctx, q.lenH, s.Tau, q.step, emit)
	})
	if err != nil {
		return nil, err
	}
	for _, x := range []struct {
		section srs.Section
		factors []fr.Element
		make    func(context.Context, int, func(lo, hi int) []fr.Element, func([]byte) error) error
	}{
		{srs.L, q.l, g.maker.G1}, {srs.A, q.a, g.maker.G1}, {srs.BG1, q.b, g.maker.G1}, {srs.BG2, q.b, g.maker.G2},
	} {
		err := g.section(x.section, len(x.factors), func(emit func([]byte) error) error {
			return x.make(ctx, len(x.factors), slice(x.factors), emit)
		})
		if err != nil {
			return nil, err
		}
	}
	return vk, g.out.Finish()
}

// section writes n points.
func (g *generator) section(s srs.Section, n int, products func(emit func([]byte) error) error) error {
	if err := g.out.Begin(s, n); err != nil {
		return err
	}
	size := wire.G1Size
	if s == srs.BG2 {
		size = wire.G2Size
	}
	return products(func(encoded []byte) error {
		if err := g.out.Encoded(encoded); err != nil {
			return err
		}
		g.report(len(encoded) / size)
		return nil
	})
}

// slice gives factors that are in memory.
func slice(s []fr.Element) func(lo, hi int) []fr.Element {
	return func(lo, hi int) []fr.Element { return s[lo:hi] }
}

func (g *generator) verifyingKey(ctx context.Context, s *Secrets, ic []fr.Element) (*srs.VerifyingKey, error) {
	factors1 := append([]fr.Element{s.Alpha, s.Beta, s.Delta}, ic...)
	factors2 := []fr.Element{s.Beta, s.Gamma, s.Delta}
	var one []bls12381.G1Affine
	var two []bls12381.G2Affine
	err := g.maker.G1(ctx, len(factors1), slice(factors1), decodeTo(&one, wire.G1Size, wire.G1))
	if err != nil {
		return nil, err
	}
	err = g.maker.G2(ctx, len(factors2), slice(factors2), decodeTo(&two, wire.G2Size, wire.G2))
	if err != nil {
		return nil, err
	}
	g.report(len(ic))
	return &srs.VerifyingKey{
		AlphaG1: one[0], BetaG1: one[1], DeltaG1: one[2],
		BetaG2: two[0], GammaG2: two[1], DeltaG2: two[2],
		IC: one[3:],
	}, nil
}

// decodeTo appends points of the given size to a list.
func decodeTo[P any](list *[]P, size int, decode func([]byte) (P, error)) func(encoded []byte) error {
	return func(encoded []byte) error {
		for ; len(encoded) > 0; encoded = encoded[size:] {
			p, err := decode(encoded[:size])
			if err != nil {
				return err
			}
			*list = append(*list, p)
		}
		return nil
	}
}

func (g *generator) report(n int) {
	g.done += int64(n)
	if g.progress != nil {
		g.progress(g.done, g.total)
	}
}
