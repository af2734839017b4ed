package synth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/circuits/porep"
)

// The sector that all synthetic phase-1 outputs are of.
const (
	Miner  = 1000
	Sector = 7
)

const (
	drgDegree = 6
	expDegree = 8
	// inputsPerChallenge are a challenge's public inputs: the node, its parents, and the node thrice.
	inputsPerChallenge = 1 + drgDegree + expDegree + 3
)

// PoRep makes the phase-1 output of a sector whose data is one random node over and over, whose challenged
// nodes have genuine labels, and whose other labels are random where a challenged node has them as parents
// and missing elsewhere. params may be nil. It takes about two seconds for 32 GiB.
//
// Challenges follow the rule of the registered proof. Synthetic PoRep cannot be made: there the challenges
// depend on the trees that depend on the challenges.
//
// It returns the errors of porep.Statement.Validate, and context.Cause(ctx) within milliseconds if ctx ends first.
func PoRep(ctx context.Context, proof porep.RegisteredProof, params *porep.Params, seed uint64) (*porep.C1, error) {
	s, err := newSector(ctx, proof, params, seed)
	if err != nil {
		return nil, failed(ctx, err)
	}
	s.label()
	c, err := s.output(ctx)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return c, nil
}

// failed is err with this package's name, or the cause if ctx has ended.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("synth: %w", err)
}

// sector is a sector while it is made up.
type sector struct {
	params     porep.Params
	rng        *rand.Rand
	statement  porep.Statement
	replicaID  [32]byte
	data       fr.Element // every node of the data
	dataTree   *tree
	challenges [][]uint64              // by partition
	parents    map[uint64][]uint64     // of challenged nodes: base graph's, then expander's
	columns    map[uint64][]fr.Element // labels of challenged nodes and their parents
}

func newSector(ctx context.Context, proof porep.RegisteredProof, params *porep.Params, seed uint64) (*sector, error) {
	if proof.Feature() == porep.Synthetic {
		return nil, fmt.Errorf("%v: %w", proof, porep.ErrUnsupported)
	}
	s := &sector{parents: make(map[uint64][]uint64), columns: make(map[uint64][]fr.Element)}
	var err error
	if params != nil {
		s.params, err = *params, params.Validate()
	} else {
		s.params, err = proof.Params()
	}
	if err != nil {
		return nil, err
	}
	s.rng = newRand(seed, 0)
	s.data = s.element()
	twos := make([]int, s.params.LogNodes())
	for i := range twos {
		twos[i] = 2
	}
	if s.dataTree, err = newTree(ctx, twos, nil, s.data, gadget.HashData); err != nil {
		return nil, err
	}
	s.statement = porep.Statement{
		Proof: proof, ProverID: porep.ProverID(Miner), SectorNumber: Sector,
		Ticket: toBytes(s.element()), Seed: toBytes(s.element()),
		CommD:  toBytes(s.dataTree.root()),
		CommR:  toBytes(fr.One()), // not known yet; interactive challenges do not depend on it
		Params: &s.params,
	}
	s.replicaID = s.statement.ReplicaID()
	return s, s.draw()
}

// draw finds the challenges and their parents.
func (s *sector) draw() error {
	var err error
	if s.challenges, err = s.statement.Challenges(); err != nil {
		return err
	}
	inputs, err := s.statement.PublicInputs()
	if err != nil {
		return err
	}
	for k, partition := range s.challenges {
		for i, node := range partition {
			at := 3 + inputsPerChallenge*i + 1
			parents := make([]uint64, drgDegree+expDegree)
			for j := range parents {
				parents[j] = inputs[k][at+j].Uint64()
			}
			s.parents[node] = parents
		}
	}
	return nil
}

func (s *sector) element() fr.Element { return element(s.rng) }

// label draws the labels of parents and computes those of challenged nodes, layer by layer. A challenged node
// may be the parent of another: base parents come before their child, so ascending order serves all.
func (s *sector) label() {
	challenged := slices.Sorted(maps.Keys(s.parents))
	for _, node := range challenged {
		s.columns[node] = make([]fr.Element, s.params.Layers)
	}
	for _, node := range challenged {
		for _, p := range s.parents[node] {
			if _, ok := s.columns[p]; ok {
				continue
			}
			labels := make([]fr.Element, s.params.Layers)
			for i := range labels {
				labels[i] = s.element()
			}
			s.columns[p] = labels
		}
	}
	for layer := range s.params.Layers {
		for _, node := range challenged {
			s.columns[node][layer] = s.labelOf(node, layer)
		}
	}
}

// labelOf is the label of a challenged node in a layer, 0 being the first (spec §5.4).
func (s *sector) labelOf(node uint64, layer int) fr.Element {
	const preimageLabels = 37
	message := append([]byte(nil), s.replicaID[:]...)
	message = binary.BigEndian.AppendUint32(message, uint32(layer+1))
	message = binary.BigEndian.AppendUint64(message, node)
	message = append(message, make([]byte, 64-len(message))...)
	var labels []fr.Element
	for i, p := range s.parents[node] {
		switch {
		case i < drgDegree:
			labels = append(labels, s.columns[p][layer])
		case layer > 0:
			labels = append(labels, s.columns[p][layer-1])
		}
	}
	for i := range preimageLabels {
		b := toBytes(labels[i%len(labels)])
		message = append(message, b[:]...)
	}
	return trim(sha256.Sum256(message))
}

// output builds the sealed trees and takes the proofs from them.
func (s *sector) output(ctx context.Context) (*porep.C1, error) {
	columnHashes := make(map[uint64]fr.Element, len(s.columns))
	for node, labels := range s.columns {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		columnHashes[node] = gadget.HashSealed(labels)
	}
	encoded := make(map[uint64]fr.Element, len(s.parents))
	for node := range s.parents {
		label := s.columns[node][s.params.Layers-1]
		encoded[node] = *label.Add(&label, &s.data)
	}
	treeC, err := newTree(ctx, s.params.Levels(), columnHashes, fr.Element{}, gadget.HashSealed)
	if err != nil {
		return nil, err
	}
	treeR, err := newTree(ctx, s.params.Levels(), encoded, fr.Element{}, gadget.HashSealed)
	if err != nil {
		return nil, err
	}
	c := &porep.C1{
		Proof: s.statement.Proof, Params: s.params,
		CommR: toBytes(gadget.HashSealed([]fr.Element{treeC.root(), treeR.root()})), CommD: s.statement.CommD,
		ReplicaID: s.replicaID, Seed: s.statement.Seed, Ticket: s.statement.Ticket,
	}
	column := func(node uint64) porep.Column {
		return porep.Column{Node: node, Rows: s.columns[node], Path: treeC.path(node)}
	}
	for _, nodes := range s.challenges {
		partition := make([]porep.Challenge, len(nodes))
		for i, node := range nodes {
			ch := porep.Challenge{
				Node: node, Labels: s.columns[node],
				DPath: s.dataTree.path(node), RPath: treeR.path(node), CPath: treeC.path(node),
			}
			for j, p := range s.parents[node] {
				if j < drgDegree {
					ch.Drg[j] = column(p)
				} else {
					ch.Exp[j-drgDegree] = column(p)
				}
			}
			partition[i] = ch
		}
		c.Partitions = append(c.Partitions, partition)
	}
	return c, nil
}

// trim is 32 little-endian bytes without their top two bits as a field element.
func trim(b [32]byte) fr.Element {
	b[31] &= 0x3f
	e, err := fr.LittleEndian.Element(&b)
	if err != nil {
		panic(err) // 254 bits are less than the modulus
	}
	return e
}

func toBytes(e fr.Element) (b [32]byte) {
	fr.LittleEndian.PutElement(&b, e)
	return b
}
