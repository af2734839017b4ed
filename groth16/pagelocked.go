package groth16

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// PageLockOptions tunes [ProvingKey.PageLocked]. The zero value, and nil, mean the defaults.
type PageLockOptions struct {
	// MaxBytes is the most memory of the host in bytes that the copy may take. A larger key is a device.ErrMemory at once. 0
	// leaves it to the system, which may end other programs before it refuses.
	MaxBytes int64
	// Progress, which may be nil, is called now and then, not concurrently, from some goroutine, with the number of bytes
	// copied.
	Progress func(done, total int64)
}

// PageLocked returns a copy of the key in page-locked memory of the host, which takes Bytes() bytes of it until Close. GPUs
// read such memory by themselves. It is for keys of which sections are streamed in each proof, on hosts that have the memory
// to spare; one copy serves the Provers of all GPUs of the process. k is not needed by it and may be closed.
//
// d is a GPU, which must stay open as long as the copy. The context ends the copying and not the driver's call for the
// memory. Memory that the system refuses is a device.ErrMemory, and k as good as before.
func (k *ProvingKey) PageLocked(ctx context.Context, d device.Device, o *PageLockOptions) (*ProvingKey, error) {
	if k == nil || k.key == nil {
		return nil, errors.New("groth16: lock key: no proving key")
	}
	if o == nil {
		o = &PageLockOptions{}
	}
	card, ok := d.(interface{ GPU() *gpu.Device })
	switch n := k.Bytes(); {
	case !ok:
		return nil, fmt.Errorf("groth16: lock key: %s: no GPU given", k.Path())
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("groth16: lock key: option MaxBytes: %d bytes", o.MaxBytes)
	case o.MaxBytes != 0 && n > o.MaxBytes:
		return nil, fmt.Errorf("groth16: lock key: %s: need %d bytes of the host, option MaxBytes is %d: %w",
			k.Path(), n, o.MaxBytes, device.ErrMemory)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("groth16: lock key: %s: %w", k.Path(), context.Cause(ctx))
	}
	memory, err := gpu.AllocPinned[byte](card.GPU(), int(k.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("groth16: lock key: %s: %d bytes of the host: %w", k.Path(), k.Bytes(), device.Err(err))
	}
	held, err := k.key.CopyTo(ctx, memory.Slice(), o.Progress)
	if err != nil {
		err = errors.Join(paramsError(err), device.Err(memory.Close()))
		return nil, fmt.Errorf("groth16: lock key: %w", err)
	}
	return &ProvingKey{key: held, vk: k.vk, memory: memory}, nil
}
