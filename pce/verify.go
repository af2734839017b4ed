package pce

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"
)

// instanceCheck is an instance that is still to be compared with the first one of its block.
type instanceCheck struct {
	block    *block
	instance int
	body     Body
}

// noCode is the code of a coefficient that the dictionary does not have.
const noCode = ^uint32(0)

// code is the number of a coefficient. A fork adds none: what is not there differs from all that is.
func (r *recorder) code(v fr.Element) uint32 {
	switch {
	case v == r.dict.values[codeOne]:
		return codeOne
	case v == r.dict.values[codeMinusOne]:
		return codeMinusOne
	case !r.fork:
		return r.dict.code(v)
	}
	if c, ok := r.dict.index[v]; ok {
		return c
	}
	return noCode
}

// verifyPending compares all instances, on all processors. Nothing of the recorder changes any more. Of several that differ
// it reports the first.
func (r *recorder) verifyPending() error {
	errs := make([]error, len(r.pending))
	var next atomic.Int64
	var g errgroup.Group
	for range min(runtime.GOMAXPROCS(0), len(r.pending)) {
		g.Go(func() error {
			f := r.forked()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(r.pending) {
					return nil
				}
				if r.ctx.Err() != nil {
					return context.Cause(r.ctx)
				}
				p := &r.pending[i]
				errs[i] = guard(func() error {
					f.verify(p.block, p.instance, p.body)
					return nil
				})
				if errs[i] != nil {
					next.Store(int64(len(r.pending))) // those before it have been taken already
					return nil
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// forked is a recorder that compares with what r has.
func (r *recorder) forked() *recorder {
	f := &recorder{ctx: r.ctx, dict: r.dict, templates: r.templates, blocks: r.blocks, frames: r.frames, fork: true}
	f.expander.sink = f
	return f
}
