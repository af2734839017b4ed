package gpu

import (
	"context"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
)

// Sums implements engine.Loaded.
func (l *loaded) Sums(ctx context.Context, a engine.Assignment, h engine.Scalars, m engine.Meter) (*engine.PartialSums, error) {
	x, err := l.own(a)
	if err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	q, ok := h.(*scalars)
	if !ok || q.of != x {
		return nil, engine.ErrForeign
	}
	if q.released {
		return nil, engine.ErrClosed
	}
	sums := newPartial()
	err = x.timed(ctx, &x.times.Sums, func() error { return x.sum(ctx, sums, m) })
	if err != nil {
		return nil, err
	}
	return sums.affine(), nil
}

// sum adds up all segments. Those that are streamed are on their way while the ones before them are added up.
func (x *assignment) sum(ctx context.Context, into *partial, m engine.Meter) error {
	d := x.desk
	var all, streamed []*segment
	for _, q := range d.queries {
		for _, s := range q.segments {
			all = append(all, s)
			if !d.parts[s].stays {
				streamed = append(streamed, s)
			}
		}
	}
	next := func() fed { return fed{} }
	done := func(fed) {}
	if len(streamed) > 0 {
		var stop func()
		next, done, stop = d.feeder.feed(ctx, streamed)
		defer stop()
	}
	for _, s := range all {
		here := fed{points: d.parts[s].points}
		if !d.parts[s].stays {
			if here = next(); here.err != nil {
				return here.err
			}
		}
		if err := x.segment(s, here.points, into); err != nil {
			return err
		}
		if !d.parts[s].stays {
			done(here)
		}
		m.Add(uint64(s.hi - s.lo))
	}
	return nil
}

// segment adds one segment's two classes to the sums.
func (x *assignment) segment(s *segment, p points, into *partial) error {
	if s.bits > 0 {
		if err := x.bitSum(s, p.slice(s.query.section, 0, s.bits), into); err != nil {
			return err
		}
	}
	if s.dense > 0 {
		return x.denseSum(s, p.slice(s.query.section, s.bits, s.bits+s.dense), into)
	}
	return nil
}

func (x *assignment) bitSum(s *segment, p points, into *partial) error {
	d := x.desk
	part := d.parts[s]
	bits := x.bits.Slice(s.firstWord, s.firstWord+part.selection.Mask.Len())
	if s.query.section == srs.BG2 {
		sum, err := d.lib.G2Bits(d.stream, d.work, p.g2, bits, part.selection)
		into.addG2(&sum)
		return err
	}
	sum, err := d.lib.G1Bits(d.stream, d.work, p.g1, bits, part.selection)
	into.addG1(s.query.section, &sum)
	return err
}

func (x *assignment) denseSum(s *segment, p points, into *partial) error {
	d := x.desk
	mark := d.work.Mark()
	defer d.work.Rewind(mark)
	from := x.dense
	if s.query.layout == nil {
		from = x.b // h
	}
	scalars, err := d.scalarsOf(s, from)
	if err != nil {
		return err
	}
	o := kernels.MSMOptions{Montgomery: true}
	if s.query.section == srs.BG2 {
		sum, err := d.lib.G2MSM(d.stream, d.work, p.g2, scalars, o)
		into.addG2(&sum)
		return err
	}
	sum, err := d.lib.G1MSM(d.stream, d.work, p.g1, scalars, o)
	into.addG1(s.query.section, &sum)
	return err
}

// partial are sums in progress.
type partial struct {
	g1 map[srs.Section]*bls12381.G1Jac
	g2 bls12381.G2Jac
}

func newPartial() *partial {
	p := &partial{g1: map[srs.Section]*bls12381.G1Jac{}}
	for _, s := range []srs.Section{srs.H, srs.L, srs.A, srs.BG1} {
		p.g1[s] = new(bls12381.G1Jac).FromAffine(new(bls12381.G1Affine))
	}
	p.g2.FromAffine(new(bls12381.G2Affine))
	return p
}

func (p *partial) addG1(s srs.Section, sum *bls12381.G1Jac) { p.g1[s].AddAssign(sum) }
func (p *partial) addG2(sum *bls12381.G2Jac)                { p.g2.AddAssign(sum) }

func (p *partial) affine() *engine.PartialSums {
	one := func(s srs.Section) (a bls12381.G1Affine) { return *a.FromJacobian(p.g1[s]) }
	out := &engine.PartialSums{H: one(srs.H), L: one(srs.L), A: one(srs.A), B1: one(srs.BG1)}
	out.B2.FromJacobian(&p.g2)
	return out
}
