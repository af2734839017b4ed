package groth16

import (
	"context"
	"errors"
	"fmt"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/srs"
)

// ProvingKey is an open parameter file. The file is mapped, not read: points are decoded when a proof needs
// them, and provers that share a key share its memory. It may be used by several goroutines.
type ProvingKey struct {
	key    *srs.Key
	vk     *VerifyingKey
	memory *gpu.Pinned[byte] // what the key is in, or nil if it is in its file
}

// OpenProvingKey opens the parameter file at path. It checks the verifying key in it completely and that the
// counts of all sections account for every byte of the file; the points themselves are checked when they are used,
// and by [ProvingKey.Check]. A malformed file gives a *ParamsError.
func OpenProvingKey(path string) (*ProvingKey, error) {
	k, err := srs.Open(path, nil)
	if err != nil {
		if e := paramsError(err); e != err {
			return nil, e
		}
		return nil, fmt.Errorf("groth16: open params: %w", err)
	}
	return &ProvingKey{key: k, vk: newVerifyingKey(k.VerifyingKey())}, nil
}

// Path is the name under which the file was opened.
func (k *ProvingKey) Path() string { return k.key.Path() }

// VerifyingKey is the verifying key in the file. It stays valid after Close.
func (k *ProvingKey) VerifyingKey() *VerifyingKey { return k.vk }

// KeyCounts are the numbers of points in the lists of a parameter file.
type KeyCounts struct{ H, L, A, B int }

// Counts are the key's sizes.
func (k *ProvingKey) Counts() KeyCounts {
	return KeyCounts{H: k.key.Len(srs.H), L: k.key.Len(srs.L), A: k.key.Len(srs.A), B: k.key.Len(srs.BG1)}
}

// Bytes is the size of the file.
func (k *ProvingKey) Bytes() int64 { return k.key.Bytes() }

// Check tests every point of the file: canonical, on the curve, in the subgroup, not at infinity. It takes some 75 µs a
// point of G1 and 95 µs a point of G2 of one processor, and uses all. progress, which may be nil, is called
// now and then, not concurrently, from some goroutine. A bad point gives a *ParamsError.
func (k *ProvingKey) Check(ctx context.Context, progress func(done, total int64)) error {
	return paramsError(k.key.Check(ctx, progress))
}

// Close unmaps the file, or frees the memory of a copy, after waiting for running reads. Provers of this key must be closed
// before. Closing twice does nothing.
func (k *ProvingKey) Close() error {
	err := k.key.Close()
	if k.memory != nil {
		err = errors.Join(err, device.Err(k.memory.Close()))
	}
	return err
}
