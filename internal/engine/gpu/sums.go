package gpu

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/srs"
)

// lane is a place where sums are made, one after another.
type lane struct {
	stream *gpu.Stream
	work   *gpu.Arena
}

// rehearse copies a number, so that whatever a stream makes at its first use is there before a proof.
func (l *lane) rehearse() error {
	v, err := gpu.Alloc[uint32](l.work, 1)
	if err != nil {
		return err
	}
	defer l.work.Rewind(0)
	return gpu.UploadSlice(l.stream, v, []uint32{0})
}

func (l *lane) close() (err error) {
	if l.stream != nil {
		err = endStream(l.stream)
	}
	if l.work != nil {
		err = errors.Join(err, l.work.Close())
	}
	return err
}

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
	out := sums.affine()
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sum adds up all segments: the section whose last additions take longest first, so that they run beside the others.
// Segments that are streamed are on their way while the ones before them are added up.
func (x *assignment) sum(ctx context.Context, into *partial, m engine.Meter) error {
	d := x.desk
	var all, streamed []*segment
	for _, q := range slices.Backward(d.queries) {
		for _, s := range q.segments {
			all = append(all, s)
			if !d.parts[s].stays {
				streamed = append(streamed, s)
			}
		}
	}
	here := &lane{d.stream, d.work}
	if d.side != nil {
		return x.sumOnBoth(ctx, all, here, into, m)
	}
	next := func() fed { return fed{} }
	done := func(fed) {}
	if len(streamed) > 0 {
		var stop func()
		next, done, stop = d.feeder.feed(ctx, streamed)
		defer stop()
	}
	for _, s := range all {
		add := func(p points) error { return x.segment(here, s, p, into) }
		if d.parts[s].stays {
			if err := add(d.parts[s].points); err != nil {
				return err
			}
		} else {
			at := next()
			if at.err != nil {
				return at.err
			}
			if err := d.feeder.use(here.stream, at, add); err != nil {
				return err
			}
			done(at)
		}
		m.Add(uint64(s.hi - s.lo))
	}
	return nil
}

// sumOnBoth adds up segments that stay on the card, two at a time.
func (x *assignment) sumOnBoth(ctx context.Context, all []*segment, here *lane, into *partial, m engine.Meter) error {
	d := x.desk
	var next atomic.Int64
	lanes := []*lane{here, d.side}
	err := parallel.Each(ctx, len(lanes), func(ctx context.Context, i int) (err error) {
		l := lanes[i]
		l.stream.Bind(ctx)
		if l == d.side { // the other stays bound, so that nothing comes between the steps of a proof
			defer l.stream.Bind(context.Background())
		}
		defer func() { err = errors.Join(err, l.stream.Wait()) }() // nothing may use the lane's memory when this ends
		for k := next.Add(1) - 1; int(k) < len(all); k = next.Add(1) - 1 {
			s := all[k]
			if err := x.segment(l, s, d.parts[s].points, into); err != nil {
				return err
			}
			m.Add(uint64(s.hi - s.lo))
		}
		return nil
	})
	here.stream.Bind(ctx)
	return err
}

// segment adds one segment's two classes to the sums.
func (x *assignment) segment(l *lane, s *segment, p points, into *partial) error {
	if s.bits > 0 {
		if err := x.bitSum(l, s, p.slice(s.query.section, 0, s.bits), into); err != nil {
			return err
		}
	}
	if s.dense > 0 {
		return x.denseSum(l, s, p.slice(s.query.section, s.bits, s.bits+s.dense), into)
	}
	return nil
}

func (x *assignment) bitSum(l *lane, s *segment, p points, into *partial) error {
	d := x.desk
	part := d.parts[s]
	bits := x.bits.Slice(s.firstWord, s.firstWord+part.selection.Mask.Len())
	if s.query.section == srs.BG2 {
		sum, err := d.lib.G2Bits(l.stream, l.work, p.g2, bits, part.selection)
		into.addG2(&sum)
		return err
	}
	sum, err := d.lib.G1Bits(l.stream, l.work, p.g1, bits, part.selection)
	into.addG1(s.query.section, &sum)
	return err
}

func (x *assignment) denseSum(l *lane, s *segment, p points, into *partial) error {
	d := x.desk
	mark := l.work.Mark()
	defer l.work.Rewind(mark)
	from := x.dense
	if s.query.layout == nil {
		from = x.b // h
	}
	scalars, err := d.scalarsOf(l, s, from)
	if err != nil {
		return err
	}
	o := kernels.MSMOptions{Montgomery: true}
	if s.query.section == srs.BG2 {
		add, err := d.lib.G2MSMParts(l.stream, l.work, p.g2, scalars, o)
		if err == nil {
			into.beside(func() { sum := add(); into.addG2(&sum) })
		}
		return err
	}
	add, err := d.lib.G1MSMParts(l.stream, l.work, p.g1, scalars, o)
	if err == nil {
		into.beside(func() { sum := add(); into.addG1(s.query.section, &sum) })
	}
	return err
}

// scalarsOf are a segment's scalars that are no bits.
func (d *desk) scalarsOf(l *lane, s *segment, from gpu.View[fr.Element]) (gpu.View[fr.Element], error) {
	x := d.parts[s]
	if x.index.Len() == 0 {
		return from.Slice(s.scalar, s.scalar+s.dense), nil
	}
	v, err := gpu.Alloc[fr.Element](l.work, s.dense)
	if err != nil {
		return v, err
	}
	return v, d.lib.Gather(l.stream, v, from, x.index)
}

// partial are sums in progress. Additions on the host run beside what the card does.
type partial struct {
	adding sync.WaitGroup
	mu     sync.Mutex // of the sums
	g1     map[srs.Section]*bls12381.G1Jac
	g2     bls12381.G2Jac
}

func newPartial() *partial {
	p := &partial{g1: map[srs.Section]*bls12381.G1Jac{}}
	for _, s := range []srs.Section{srs.H, srs.L, srs.A, srs.BG1} {
		p.g1[s] = new(bls12381.G1Jac).FromAffine(new(bls12381.G1Affine))
	}
	p.g2.FromAffine(new(bls12381.G2Affine))
	return p
}

// beside runs additions on a goroutine of their own, which affine waits for.
func (p *partial) beside(add func()) { p.adding.Go(add) }

func (p *partial) addG1(s srs.Section, sum *bls12381.G1Jac) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.g1[s].AddAssign(sum)
}

func (p *partial) addG2(sum *bls12381.G2Jac) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.g2.AddAssign(sum)
}

// affine waits for all additions and gives the sums. It must be called, also after an error.
func (p *partial) affine() *engine.PartialSums {
	p.adding.Wait()
	one := func(s srs.Section) (a bls12381.G1Affine) { return *a.FromJacobian(p.g1[s]) }
	out := &engine.PartialSums{H: one(srs.H), L: one(srs.L), A: one(srs.A), B1: one(srs.BG1)}
	out.B2.FromJacobian(&p.g2)
	return out
}
