package porep

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/pce"
)

// Circuit is one partition of a proof of replication (§5.2).
type Circuit struct {
	Params     Params
	ReplicaID  fr.Element
	CommD      fr.Element
	CommR      fr.Element
	CommRLast  fr.Element // root of tree R
	CommC      fr.Element // root of tree C
	Challenges []Challenge
	// Public are the public inputs computed natively from what a verifier knows, without ONE. They are
	// nil in a blank circuit.
	Public []fr.Element
}

// Blank is a circuit without values, for recording and key generation. With parameters that are not valid it is one that
// Synthesize refuses.
func Blank(p Params) *Circuit {
	if p.Validate() != nil {
		return &Circuit{Params: p}
	}
	c := &Circuit{Params: p, Challenges: make([]Challenge, p.Challenges)}
	for i := range c.Challenges {
		c.Challenges[i] = blankChallenge(p)
	}
	return c
}

func blankChallenge(p Params) Challenge {
	c := Challenge{
		DPath: gadget.BlankPath(p.dataLevels()),
		RPath: gadget.BlankPath(p.Levels()),
		CPath: gadget.BlankPath(p.Levels()),
	}
	for i := range c.Drg {
		c.Drg[i] = blankColumn(p)
	}
	for i := range c.Exp {
		c.Exp[i] = blankColumn(p)
	}
	return c
}

func blankColumn(p Params) Column {
	return Column{Rows: make([]fr.Element, p.Layers), Path: gadget.BlankPath(p.Levels())}
}

// dataLevels are the arities of tree D, leaves first.
func (p Params) dataLevels() []int {
	levels := make([]int, p.LogNodes())
	for i := range levels {
		levels[i] = 2
	}
	return levels
}

// Name names the constraint system and its key, for instance "porep-32GiB". That of nil is empty.
func (c *Circuit) Name() string {
	if c == nil {
		return ""
	}
	return c.Params.Name()
}

// ErrBlank reports that a blank circuit was asked for its statement.
var ErrBlank = errors.New("porep: blank circuit has no public inputs")

// PublicInputs are the statement's public inputs without ONE (§5.5).
func (c *Circuit) PublicInputs() ([]fr.Element, error) {
	if c == nil || c.Public == nil {
		return nil, ErrBlank
	}
	return c.Public, nil
}

// common are the values that every challenge uses.
type common struct {
	replicaID               number
	commD, commRLast, commC pce.Num
}

// Synthesize describes the partition (§5.3).
func (c *Circuit) Synthesize(b pce.Builder) error {
	if err := c.validate(); err != nil {
		return err
	}
	s := c.prefix(b)
	in := []pce.Arg{s.commD, s.commRLast, s.commC}
	for _, w := range s.replicaID {
		in = append(in, w)
	}
	b.Blocks("challenge", len(c.Challenges),
		func(int) []pce.Arg { return in },
		func(b pce.Builder, i int, in []pce.Arg) []pce.Arg {
			s := common{commD: in[0].(pce.Num), commRLast: in[1].(pce.Num), commC: in[2].(pce.Num)}
			for k := range s.replicaID {
				s.replicaID[k] = in[3+k].(pce.Word)
			}
			c.challenge(b, s, &c.Challenges[i])
			return nil
		})
	return nil
}

// prefix allocates what all challenges share and ties comm_r to the two roots (§5.3, P1–P7).
func (c *Circuit) prefix(b pce.Builder) common {
	var s common
	replicaID := b.Alloc(c.ReplicaID)
	b.Inputize(replicaID)
	s.replicaID = b.Unpack(replicaID)
	s.commD = b.Alloc(c.CommD)
	b.Inputize(s.commD)
	commR := b.Alloc(c.CommR)
	b.Inputize(commR)
	s.commRLast = b.Alloc(c.CommRLast)
	s.commC = b.Alloc(c.CommC)
	b.Equal(commR, gadget.Poseidon(b, poseidon.ForArity(2), []pce.Num{s.commC, s.commRLast}))
	return s
}

// challenge is §5.3, C1–C10.
func (c *Circuit) challenge(b pce.Builder, s common, ch *Challenge) {
	leaf := b.Alloc(ch.DPath.Leaf)
	gadget.Inclusion(b, gadget.Sha256Tree(), leaf, ch.DPath.Levels, s.commD)

	var drg, exp [][]pce.Num
	for i := range ch.Drg {
		drg = append(drg, c.parent(b, s, &ch.Drg[i]))
	}
	for i := range ch.Exp {
		exp = append(exp, c.parent(b, s, &ch.Exp[i]))
	}
	node := [2]pce.Word{b.AllocWord(uint32(ch.Node)), b.AllocWord(uint32(ch.Node >> 32))}
	b.PackInput(wordBits(node[:]))

	labels := make([]pce.Num, c.Params.Layers)
	for layer := range labels {
		labels[layer] = c.label(b, s, drg, exp, layer, node)
	}
	encoded := encode(b, labels[len(labels)-1], leaf)
	gadget.Inclusion(b, gadget.PoseidonTree(), encoded, ch.RPath.Levels, s.commRLast)
	column := gadget.Poseidon(b, poseidon.ForArity(len(labels)), labels)
	gadget.Inclusion(b, gadget.PoseidonTree(), column, ch.CPath.Levels, s.commC)
}

// parent allocates a parent's labels and proves that their hash is in tree C.
func (c *Circuit) parent(b pce.Builder, s common, p *Column) []pce.Num {
	labels := make([]pce.Num, len(p.Rows))
	for i, v := range p.Rows {
		labels[i] = b.Alloc(v)
	}
	column := gadget.Poseidon(b, poseidon.ForArity(len(labels)), labels)
	gadget.Inclusion(b, gadget.PoseidonTree(), column, p.Path.Levels, s.commC)
	return labels
}

// label computes the node's label in a layer (0 is the first) from its parents: the base graph's in
// the same layer, the expander's in the one before.
func (c *Circuit) label(b pce.Builder, s common, drg, exp [][]pce.Num, layer int, node [2]pce.Word) pce.Num {
	var parents []number
	for _, labels := range drg {
		parents = append(parents, b.Unpack(labels[layer]))
	}
	if layer > 0 {
		for _, labels := range exp {
			parents = append(parents, b.Unpack(labels[layer-1]))
		}
	}
	return createLabel(b, s.replicaID, parents, layer+1, node)
}

// encode is key + value as a variable.
func encode(b pce.Builder, key, value pce.Num) pce.Num {
	var sum pce.LC
	one := fr.One()
	sum.AddNum(key, one)
	sum.AddNum(value, one)
	return b.Allocated(sum)
}

func wordBits(ws []pce.Word) []pce.Bit {
	var out []pce.Bit
	for _, w := range ws {
		for i := range 32 {
			out = append(out, w.Bit(i))
		}
	}
	return out
}

// validate makes sure that the vanilla proofs have the shape that the parameters demand, because rows
// follow from the shape.
func (c *Circuit) validate() error {
	if c == nil {
		return ErrNil
	}
	p := c.Params
	if err := p.Validate(); err != nil {
		return err
	}
	if len(c.Challenges) != p.Challenges {
		return fmt.Errorf("porep: %s: %d challenges, want %d", p.Name(), len(c.Challenges), p.Challenges)
	}
	for i := range c.Challenges {
		if err := c.Challenges[i].validate(p); err != nil {
			return fmt.Errorf("porep: %s: challenge %d: %w", p.Name(), i, err)
		}
	}
	return nil
}

func (ch *Challenge) validate(p Params) error {
	sealed := p.Levels()
	if err := ch.DPath.Validate(p.dataLevels()); err != nil {
		return fmt.Errorf("comm_d path: %w", err)
	}
	if err := ch.RPath.Validate(sealed); err != nil {
		return fmt.Errorf("comm_r_last path: %w", err)
	}
	if err := ch.CPath.Validate(sealed); err != nil {
		return fmt.Errorf("column path: %w", err)
	}
	for i, col := range append(append([]Column(nil), ch.Drg[:]...), ch.Exp[:]...) {
		if len(col.Rows) != p.Layers {
			return fmt.Errorf("parent %d: %d labels, want %d", i, len(col.Rows), p.Layers)
		}
		if err := col.Path.Validate(sealed); err != nil {
			return fmt.Errorf("parent %d: path: %w", i, err)
		}
	}
	return nil
}
