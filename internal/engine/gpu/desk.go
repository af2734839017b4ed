package gpu

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// desk is what a loaded key has on the card: what stays between proofs, and the place where one proof is made.
type desk struct {
	lib     *kernels.Library
	stream  *gpu.Stream
	lease   *gpu.Lease
	keep    *gpu.Arena
	work    *gpu.Arena
	ntt     *kernels.NTT
	system  *kernels.System // nil without a constraint system
	queries []*query
	parts   map[*segment]*part
	feeder  *feeder // of segments that do not stay; nil if all stay
	begin   *gpu.Event
	end     *gpu.Event
	side    *lane // a second place for sums; nil if there is none
}

// part is a segment's lists on the card, and its points if they stay there.
type part struct {
	stays     bool
	points    points
	selection kernels.Selection
	index     gpu.View[uint32] // empty if the scalars are already side by side
}

// newDesk plans, reserves and loads. It gives everything back if it fails.
func newDesk(ctx context.Context, l *loaded, layout *pce.Layout) (_ *desk, err error) {
	d := &desk{lib: l.engine.lib, parts: map[*segment]*part{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	d.queries = newQueries(layout, l.domain())
	if err := fit(d.queries, l.key); err != nil {
		return nil, err
	}
	size := newSizes(layout, d.queries, l.engine.device.Info().Multiprocessors, l.engine.segmentBytes)
	var tables *kernels.SystemTables
	if l.sys != nil {
		tables = kernels.TablesOf(l.sys)
		size.systemBytes = tables.Bytes()
	}
	p, err := d.reserve(ctx, l, size)
	if err != nil {
		return nil, err
	}
	d.stream.Bind(ctx)
	defer d.stream.Bind(context.Background())
	if d.side != nil {
		if err := d.side.rehearse(); err != nil {
			return nil, err
		}
	}
	if d.ntt, err = kernels.NewNTT(d.lib, d.stream, d.keep); err != nil {
		return nil, err
	}
	if tables != nil {
		if d.system, err = d.lib.LoadSystem(d.stream, d.keep, tables); err != nil {
			return nil, err
		}
	}
	return d, d.loadKey(l.key, size, p)
}

// reserve plans for what the card and the limit can give, and takes it.
func (d *desk) reserve(ctx context.Context, l *loaded, s *sizes) (p *plan, err error) {
	if l.engine.beforePlan != nil {
		l.engine.beforePlan(s)
	}
	most := l.engine.memoryLimit
	if most == 0 {
		most = math.MaxUint64
	}
	d.lease, err = leasePlanned(ctx, l.engine.device, most, func(memory uint64) (uint64, error) {
		p, err = makePlan(s, memory, l.engine.stream)
		var short *shortError
		if errors.As(err, &short) {
			return 0, l.engine.short(short)
		}
		return p.total(), nil
	})
	if err != nil {
		return nil, err
	}
	return p, d.allocate(l.engine.device, p)
}

// short is the error of a key that no plan can be made for.
func (e *gpuEngine) short(s *shortError) error {
	info := e.device.Info()
	detail := s.Error()
	if e.memoryLimit != 0 {
		detail += fmt.Sprintf(", the prover's limit is %d", e.memoryLimit)
	}
	return &gpu.Error{
		Device: info.Identity, Op: "plan", Reason: gpu.ErrMemory, Detail: detail,
		NeedBytes: s.need, FreeBytes: s.memory, TotalBytes: info.MemoryBytes,
	}
}

// allocate makes everything that needs the driver.
func (d *desk) allocate(device *gpu.Device, p *plan) (err error) {
	if d.keep, err = d.lease.Reserve(p.fixed + p.key + p.stream); err != nil {
		return err
	}
	if d.work, err = d.lease.Reserve(p.work); err != nil {
		return err
	}
	if d.stream, err = device.NewStream(); err != nil {
		return err
	}
	if d.begin, err = device.NewEvent(); err != nil {
		return err
	}
	if d.end, err = device.NewEvent(); err != nil || p.side == 0 {
		return err
	}
	d.side = new(lane)
	if d.side.work, err = d.lease.Reserve(p.side); err != nil {
		return err
	}
	d.side.stream, err = device.NewStream()
	return err
}

// loadKey cuts the sections as planned and loads what stays.
func (d *desk) loadKey(key *srs.Key, size *sizes, p *plan) error {
	largest := 0
	for _, q := range d.queries {
		largest = max(largest, q.points)
	}
	loader, err := newLoader(d.lib, d.stream, d.keep, key, largest)
	if err != nil {
		return err
	}
	for _, q := range d.queries {
		n := max(q.points, 1)
		if !p.resident[q.section] {
			n = size.segmentPoints(q.section)
		}
		q.split(n)
		for _, s := range q.segments {
			x, err := d.loadLists(s)
			if err != nil {
				return err
			}
			d.parts[s] = x
			if !p.resident[q.section] {
				continue
			}
			x.stays = true
			if x.points, err = allocPoints(d.keep, q.section, s.hi-s.lo); err != nil {
				return err
			}
			if err := loader.load(s, x.points); err != nil {
				return err
			}
		}
	}
	if p.stream == 0 {
		return nil
	}
	if d.feeder, err = newFeeder(d, size, loader); err != nil {
		return err
	}
	for _, q := range d.queries {
		if !p.resident[q.section] {
			return d.feeder.rehearse(q.segments)
		}
	}
	return nil
}

// loadLists puts a segment's lists on the card and forgets them here.
func (d *desk) loadLists(s *segment) (*part, error) {
	x := new(part)
	for _, list := range []struct {
		to   *gpu.View[uint32]
		from *[]uint32
	}{{&x.selection.Mask, &s.mask}, {&x.selection.Rank, &s.rank}, {&x.index, &s.index}} {
		v, err := gpu.Alloc[uint32](d.keep, len(*list.from))
		if err != nil {
			return nil, err
		}
		if err := gpu.UploadSlice(d.stream, v, *list.from); err != nil {
			return nil, err
		}
		*list.to, *list.from = v, nil
	}
	return x, nil
}

// endStream waits for a stream and closes it. That a card is lost is reported by what needs it, not by a close.
func endStream(s *gpu.Stream) error {
	err := s.Wait()
	if errors.Is(err, gpu.ErrLost) {
		err = nil
	}
	return errors.Join(err, s.Close())
}

// close gives everything back.
func (d *desk) close() error {
	var err error
	if d.feeder != nil {
		err = d.feeder.close()
	}
	if d.side != nil {
		err = errors.Join(err, d.side.close())
	}
	if d.stream != nil {
		err = errors.Join(err, endStream(d.stream))
	}
	for _, a := range []*gpu.Arena{d.keep, d.work} {
		if a != nil {
			err = errors.Join(err, a.Close())
		}
	}
	for _, e := range []*gpu.Event{d.begin, d.end} {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	if d.lease != nil {
		err = errors.Join(err, d.lease.Close())
	}
	return err
}
