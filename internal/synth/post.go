package synth

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/circuits/post"
)

// PoSt makes the vanilla proofs of a proof of spacetime over some sectors, and its statement: sectors
// with ascending numbers and gaps between them, whose challenged leaves are random and whose others are
// all the same. params may be nil. A WinningPoSt has one sector. A full partition of WindowPoSt-32GiB,
// 2,349 sectors, takes some 10 s of one core.
//
// It returns the errors of post.Statement.Validate, and context.Cause(ctx) within milliseconds if ctx ends first.
func PoSt(
	ctx context.Context, proof post.RegisteredProof, params *post.Params, sectors int, seed uint64,
) (*post.Statement, []*post.Vanilla, error) {
	rng := newRand(seed, 0)
	s := &post.Statement{Proof: proof, Randomness: toBytes(element(rng)), Params: params}
	for i := range sectors {
		id := Sector + 3*uint64(i) // comm_r is not known yet; challenges do not depend on it
		s.Sectors = append(s.Sectors, post.Sector{ID: id, CommR: toBytes(fr.One())})
	}
	challenges, err := s.Challenges()
	if err != nil {
		return nil, nil, failed(ctx, err)
	}
	p := s.Params
	if p == nil {
		own, err := proof.Params()
		if err != nil {
			return nil, nil, failed(ctx, err)
		}
		p = &own
	}
	proofs := make([]*post.Vanilla, sectors)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0)) // more would keep others waiting, the end of ctx too
	for i, sector := range s.Sectors {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() (err error) {
			if proofs[i], err = postSector(ctx, newRand(seed, sector.ID), sector.ID, p.Levels(), challenges[i]); err != nil {
				return err
			}
			s.Sectors[i].CommR = toBytes(proofs[i].CommR)
			return nil
		})
	}
	if err := g.Wait(); err != nil || ctx.Err() != nil {
		return nil, nil, failed(ctx, err)
	}
	return s, proofs, nil
}

// postSector is the vanilla proof of a sector. It returns context.Cause(ctx) if ctx ends first.
func postSector(ctx context.Context, rng *rand.Rand, id uint64, levels []int, challenges []uint64) (*post.Vanilla, error) {
	leaves := make(map[uint64]fr.Element, len(challenges))
	filler := element(rng)
	for _, leaf := range challenges {
		leaves[leaf] = element(rng)
	}
	treeR, err := newTree(ctx, levels, leaves, filler, gadget.HashSealed)
	if err != nil {
		return nil, err
	}
	v := &post.Vanilla{SectorID: id, CommC: element(rng), CommRLast: treeR.root()}
	v.CommR = gadget.HashSealed([]fr.Element{v.CommC, v.CommRLast})
	for _, leaf := range challenges {
		v.Paths = append(v.Paths, treeR.path(leaf))
	}
	return v, nil
}

// newRand is a source of random numbers that belongs to a seed and a number, for instance a sector's.
func newRand(seed, number uint64) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], number)
	return rand.New(rand.NewChaCha8(key))
}

// element is a random field element below 2^254.
func element(rng *rand.Rand) fr.Element {
	var b [32]byte
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
	}
	return trim(b)
}
