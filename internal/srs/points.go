package srs

import (
	"context"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/parallel"
	"github.com/gocuzk/cuzk/internal/wire"
)

// decodeStretch is how many points one goroutine decodes at a time.
const decodeStretch = 1 << 12

// View calls use with the encodings of points lo to hi−1 of a section, one after another; each has
// wire.G1Size bytes (wire.G2Size in b_g2). The bytes must not be kept.
func (k *Key) View(s Section, lo, hi int, use func(b []byte) error) error {
	t := k.table(s)
	if t == nil || lo < 0 || hi < lo || hi > t.n {
		return fmt.Errorf("srs: points %d to %d of section %s: out of range", lo, hi, s)
	}
	var inner error
	err := k.file.View(t.offset+int64(lo)*t.size, int64(hi-lo)*t.size, func(b []byte) error {
		inner = use(b)
		return inner
	})
	if err != nil && err != inner {
		return k.PointError(s, lo, err)
	}
	return err
}

// Forget says that points lo to hi−1 won't be read again soon.
func (k *Key) Forget(s Section, lo, hi int) {
	if t := k.table(s); t != nil {
		k.file.Forget(t.offset+int64(lo)*t.size, int64(hi-lo)*t.size)
	}
}

// PointError locates err at a point.
func (k *Key) PointError(s Section, index int, err error) error {
	t := k.table(s)
	return k.fail(s, index, t.offset+int64(index)*t.size, err)
}

// G1 decodes points lo to lo+len(dst)−1 of a section of G1 points on all processors. Every point is on the
// curve and not at infinity; a point that is not gives an *Error.
func (k *Key) G1(ctx context.Context, s Section, lo int, dst []bls12381.G1Affine) error {
	return decode(ctx, k, s, lo, dst, wire.G1Size, wire.G1)
}

// G2 is G1 for section b_g2.
func (k *Key) G2(ctx context.Context, s Section, lo int, dst []bls12381.G2Affine) error {
	return decode(ctx, k, s, lo, dst, wire.G2Size, wire.G2)
}

func decode[P any](ctx context.Context, k *Key, s Section, lo int, dst []P, size int, point func([]byte) (P, error)) error {
	if t := k.table(s); t == nil || t.size != int64(size) {
		return fmt.Errorf("srs: section %s does not have points of %d bytes", s, size)
	}
	return parallel.Ranges(ctx, len(dst), decodeStretch, func(_, from, to int) error {
		return k.View(s, lo+from, lo+to, func(b []byte) error {
			for i := from; i < to; i++ {
				p, err := point(b[(i-from)*size : (i-from+1)*size])
				if err != nil {
					return k.PointError(s, lo+i, err)
				}
				dst[i] = p
			}
			return nil
		})
	})
}
