package synth

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
)

var errEnough = errors.New("enough of it")

// watched counts how often it is asked whether it has ended, and ends when that has been so often.
type watched struct {
	context.Context
	end   context.CancelCauseFunc
	after int64 // 0: never
	looks atomic.Int64
}

func watch(t *testing.T, after int64) *watched {
	ctx, end := context.WithCancelCause(t.Context())
	t.Cleanup(func() { end(nil) })
	return &watched{Context: ctx, end: end, after: after}
}

// Err implements context.Context.
func (w *watched) Err() error {
	// Not only the one who looks at that time ends it: he may be stopped before he does, while others look on.
	if n := w.looks.Add(1); w.after > 0 && n >= w.after {
		w.end(errEnough)
	}
	return w.Context.Err()
}

// A context that ends, at the first look or in the middle of the work, is noticed by each goroutine at its next look, and
// there is a look for every hash.
func TestCancelled(t *testing.T) {
	const sectors = 100
	workers := int64(runtime.GOMAXPROCS(0))
	for name, c := range map[string]struct {
		run   func(ctx context.Context) error
		looks int64 // at least, one for each node that is hashed
	}{
		"porep": {func(ctx context.Context) error {
			_, err := PoRep(ctx, porep.StackedDrg2KiBV1_1, nil, 1)
			return err
		}, 40},
		"window-post": {func(ctx context.Context) error {
			_, _, err := PoSt(ctx, post.Window2KiBV1_2+1, nil, sectors, 1) // 8 MiB: trees of six levels
			return err
		}, sectors * 6},
		"winning-post": {func(ctx context.Context) error {
			_, _, err := PoSt(ctx, post.Winning2KiBV1+1, nil, 1, 1)
			return err
		}, 66 * 3},
		"update": {func(ctx context.Context) error {
			_, _, err := Update(ctx, update.StackedDrg8MiBV1, nil, 1)
			return err
		}, 3 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			whole := watch(t, 0)
			require.NoError(t, c.run(whole))
			total := whole.looks.Load()
			require.GreaterOrEqual(t, total, c.looks)
			for _, after := range []int64{1, total / 2, total - workers} {
				if after < 1 {
					continue
				}
				ctx := watch(t, after)
				require.Equal(t, errEnough, c.run(ctx))
				// Every worker looks once more and asks for the cause, and the caller does.
				require.LessOrEqual(t, ctx.looks.Load(), after+2*(workers+2))
			}
		})
	}
}

// Trees look at the context before each hash, so that no part of them is long.
func TestTreesLookBeforeEachHash(t *testing.T) {
	arities := []int{8, 8, 2}
	leaves := map[uint64]fr.Element{0: fr.One(), 5: fr.One(), 100: fr.One()}
	for _, build := range []func(ctx context.Context, hash hashFunc) error{
		func(ctx context.Context, hash hashFunc) error {
			_, err := newTree(ctx, arities, leaves, fr.Element{}, hash)
			return err
		},
		func(ctx context.Context, hash hashFunc) error {
			_, err := newStripedTree(ctx, arities, make([]fr.Element, 64), hash)
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		hashes := 0
		err := build(ctx, func(children []fr.Element) fr.Element {
			if hashes++; hashes == 3 {
				cancel(errEnough)
			}
			return gadget.HashSealed(children)
		})
		require.Equal(t, errEnough, err)
		require.LessOrEqual(t, hashes, 3+len(arities)) // a tree hashes its fillers too
	}
}
