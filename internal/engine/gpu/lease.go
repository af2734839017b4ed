package gpu

import (
	"context"
	"errors"
	"math"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// leasePlanned leases what a plan for the memory that can be had needs, all sizes in bytes, but plans for no more than most.
// If others took some of it in between it plans again. Errors are those of plan and of package gpu.
func leasePlanned(
	ctx context.Context, d *gpu.Device, most uint64, plan func(memory uint64) (need uint64, err error),
) (*gpu.Lease, error) {
	for before := uint64(math.MaxUint64); ; {
		free, err := d.Leasable()
		if err != nil {
			return nil, err
		}
		free = min(free, most)
		need, err := plan(free)
		if err != nil {
			return nil, err
		}
		lease, err := d.Lease(ctx, need, &gpu.LeaseOptions{NoWait: true})
		if err == nil || !errors.Is(err, gpu.ErrMemory) || free == before { // the same again would fail again
			return lease, err
		}
		before = free
	}
}
