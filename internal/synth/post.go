package synth

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

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
// It returns the errors of post.Statement.Validate.
func PoSt(proof post.RegisteredProof, params *post.Params, sectors int, seed uint64) (*post.Statement, []*post.Vanilla, error) {
	rng := newRand(seed, 0)
	s := &post.Statement{Proof: proof, Randomness: toBytes(element(rng)), Params: params}
	for i := range sectors {
		id := Sector + 3*uint64(i) // comm_r is not known yet; challenges do not depend on it
		s.Sectors = append(s.Sectors, post.Sector{ID: id, CommR: toBytes(fr.One())})
	}
	challenges, err := s.Challenges()
	if err != nil {
		return nil, nil, fmt.Errorf("synth: %w", err)
	}
	p := s.Params
	if p == nil {
		own, err := proof.Params()
		if err != nil {
			return nil, nil, fmt.Errorf("synth: %w", err)
		}
		p = &own
	}
	proofs := make([]*post.Vanilla, sectors)
	var g errgroup.Group
	g.SetLimit(maxWorkers)
	for i, sector := range s.Sectors {
		g.Go(func() error {
			proofs[i] = postSector(newRand(seed, sector.ID), sector.ID, p.Levels(), challenges[i])
			s.Sectors[i].CommR = toBytes(proofs[i].CommR)
			return nil
		})
	}
	return s, proofs, g.Wait()
}

// maxWorkers bounds the sectors that are made at the same time.
const maxWorkers = 64

func postSector(rng *rand.Rand, id uint64, levels []int, challenges []uint64) *post.Vanilla {
	leaves := make(map[uint64]fr.Element, len(challenges))
	filler := element(rng)
	for _, leaf := range challenges {
		leaves[leaf] = element(rng)
	}
	treeR := newTree(levels, leaves, filler, gadget.HashSealed)
	v := &post.Vanilla{SectorID: id, CommC: element(rng), CommRLast: treeR.root()}
	v.CommR = gadget.HashSealed([]fr.Element{v.CommC, v.CommRLast})
	for _, leaf := range challenges {
		v.Paths = append(v.Paths, treeR.path(leaf))
	}
	return v
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
