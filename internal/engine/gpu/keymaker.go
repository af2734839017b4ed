package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/wire"
)

// NewKeyMaker returns a KeyMaker on a card, with tables that suit n1 products in G1 and n2 in G2. For ten million
// products it takes 1.8 GB of the card, for any number at most 12 GB, less where there is less, and up to a quarter of a
// gigabyte of page-locked memory. The caller closes the card after it. Errors are those of package gpu.
func NewKeyMaker(ctx context.Context, d *gpu.Device, n1, n2 int) (engine.KeyMaker, error) {
	return newKeyMaker(ctx, d, n1, n2, kernels.DefaultStretch)
}

func newKeyMaker(ctx context.Context, d *gpu.Device, n1, n2, stretch int) (engine.KeyMaker, error) {
	m := new(keyMaker)
	if err := m.open(ctx, d, n1, n2, stretch); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// keyMaker implements engine.KeyMaker.
type keyMaker struct {
	lib   *kernels.Library
	lease *gpu.Lease
	arena *gpu.Arena
	fixed *kernels.FixedBase // nil once closed
}

func (m *keyMaker) open(ctx context.Context, d *gpu.Device, n1, n2, stretch int) error {
	p, err := m.reserve(ctx, d, n1, n2, stretch)
	if err != nil {
		return err
	}
	if m.lib, err = kernels.Load(d); err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	s.Bind(ctx)
	err = m.makeTables(s, p)
	s.Bind(context.Background())
	return errors.Join(err, s.Wait(), s.Close())
}

// reserve plans for what the card can give, and takes it.
func (m *keyMaker) reserve(ctx context.Context, d *gpu.Device, n1, n2, stretch int) (p *keyPlan, err error) {
	m.lease, err = leasePlanned(ctx, d, math.MaxUint64, func(memory uint64) (uint64, error) {
		p = planKey(n1, n2, stretch, memory)
		need := p.bytes()
		if need > memory {
			return 0, &gpu.Error{
				Device: d.Info().Identity, Op: "plan", Reason: gpu.ErrMemory, NeedBytes: need, FreeBytes: memory,
				TotalBytes: d.Info().MemoryBytes,
				Detail:     fmt.Sprintf("making a key needs at least %d bytes, %d can be had", need, memory),
			}
		}
		return need, nil
	})
	if err != nil {
		return nil, err
	}
	m.arena, err = m.lease.Reserve(p.bytes())
	return p, err
}

func (m *keyMaker) makeTables(s *gpu.Stream, p *keyPlan) error {
	_, _, base1, base2 := bls12381.Generators()
	g1, err := kernels.NewG1Table(m.lib, s, m.arena, &base1, p.bits1)
	if err != nil {
		return err
	}
	g2, err := kernels.NewG2Table(m.lib, s, m.arena, &base2, p.bits2)
	if err != nil {
		return err
	}
	m.fixed, err = kernels.NewFixedBase(m.arena, g1, g2, p.stretch)
	return err
}

func (m *keyMaker) G1(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element, emit func([]byte) error) error {
	if m.fixed == nil {
		return engine.ErrClosed
	}
	return m.fixed.G1(ctx, n, scalars, emit)
}

func (m *keyMaker) G1Powers(ctx context.Context, n int, x, scale fr.Element, emit func([]byte) error) error {
	if m.fixed == nil {
		return engine.ErrClosed
	}
	return m.fixed.G1Powers(ctx, n, x, scale, emit)
}

func (m *keyMaker) G2(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element, emit func([]byte) error) error {
	if m.fixed == nil {
		return engine.ErrClosed
	}
	return m.fixed.G2(ctx, n, scalars, emit)
}

// Close gives everything back, in whatever state open has left it.
func (m *keyMaker) Close() error {
	var err error
	if m.fixed != nil {
		err = m.fixed.Close()
	}
	if m.arena != nil {
		err = errors.Join(err, m.arena.Close())
	}
	if m.lease != nil {
		err = errors.Join(err, m.lease.Close())
	}
	if m.lib != nil {
		err = errors.Join(err, m.lib.Close())
	}
	*m = keyMaker{}
	return err
}

// keyPlan says how a card's memory is used to make a key.
type keyPlan struct {
	bits1, bits2 int // width of the tables' windows
	stretch      int // products of G1 at a time, even
}

// What a plan does not go below.
const (
	leastTableBits  = 8
	leastKeyStretch = 1 << 12
)

// planKey makes tables as wide as pays, but of no more than a sixth of the memory each, and then stretches of at most the
// given length as long as fit. If not even the smallest plan fits, it is the result.
func planKey(n1, n2, stretch int, memory uint64) *keyPlan {
	p := &keyPlan{
		bits1:   max(kernels.TableBits[bls12381.G1Affine](n1, memory/6), leastTableBits),
		bits2:   max(kernels.TableBits[bls12381.G2Affine](n2, memory/6), leastTableBits),
		stretch: min(stretch, max(n1, 2*n2, 2)+1) &^ 1,
	}
	for p.bytes() > memory && p.stretch > leastKeyStretch {
		p.stretch = p.stretch / 2 &^ 1
	}
	return p
}

// bytes is what must be reserved. While a table is made it takes at most twice its size.
func (p *keyPlan) bytes() uint64 {
	const sumBytes = 192 // of a product in progress in G1; twice as much in G2
	table1 := kernels.TableBytes[bls12381.G1Affine](p.bits1)
	table2 := kernels.TableBytes[bls12381.G2Affine](p.bits2)
	slot := gpu.Aligned[fr.Element](p.stretch) +
		gpu.Aligned[bls12381.G1Affine](p.stretch) + gpu.Aligned[bls12381.G2Affine](p.stretch/2) +
		gpu.Aligned[byte](p.stretch*sumBytes) + gpu.Aligned[byte](p.stretch*wire.G1Size)
	return table1 + max(table1, table2+max(table2, 2*slot))
}
