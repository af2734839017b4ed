package update

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/pce"
)

// common are the values that every challenge uses.
type common struct {
	phi, rootROld, rootRNew, commDNew pce.Num
	hSelect                           []pce.Bit
	partition                         []pce.Bit // its number, none in the Poseidon variant
	apex                              []pce.Num // none in the Poseidon variant
}

// args are the values as arguments of a block, followed by a challenge's drawn bits.
func (s *common) args(drawn []pce.Bit) []pce.Arg {
	in := []pce.Arg{s.phi, s.rootROld, s.rootRNew, s.commDNew}
	for _, list := range [][]pce.Bit{s.hSelect, s.partition, drawn} {
		for _, b := range list {
			in = append(in, b)
		}
	}
	for _, n := range s.apex {
		in = append(in, n)
	}
	return in
}

// commonOf takes args apart again.
func commonOf(p Params, in []pce.Arg) (s common, drawn []pce.Bit) {
	bits := func(n int) []pce.Bit {
		out := make([]pce.Bit, n)
		for i := range out {
			out[i] = in[i].(pce.Bit)
		}
		in = in[n:]
		return out
	}
	s = common{phi: in[0].(pce.Num), rootROld: in[1].(pce.Num), rootRNew: in[2].(pce.Num), commDNew: in[3].(pce.Num)}
	in = in[4:]
	s.hSelect, s.partition, drawn = bits(nHeights), bits(p.logPartitions()), bits(p.drawnBits())
	for _, a := range in {
		s.apex = append(s.apex, a.(pce.Num))
	}
	return s, drawn
}

// Synthesize describes the partition (§7.3).
func (c *Circuit) Synthesize(b pce.Builder) error {
	if err := c.validate(); err != nil {
		return err
	}
	s, challenges := c.prefix(b)
	b.Blocks("challenge", len(challenges),
		func(i int) []pce.Arg { return s.args(challenges[i]) },
		func(b pce.Builder, i int, in []pce.Arg) []pce.Arg {
			s, drawn := commonOf(c.Params, in)
			c.challenge(b, &s, drawn, &c.Vanilla.Challenges[i])
			return nil
		})
	return nil
}

// prefix is what comes before the challenges (§7.3, U1–U12, and §7.9). It returns what they share and
// the drawn bits of each.
func (c *Circuit) prefix(b pce.Builder) (s common, drawn [][]pce.Bit) {
	first := &c.Vanilla.Challenges[0]
	selector := b.Alloc(fr.NewElement(c.Params.selector(c.Partition)))
	b.Inputize(selector)
	bits := gadget.Decompose(b, selector, c.Params.logPartitions()+nHeights)
	s.partition, s.hSelect = bits[:c.Params.logPartitions()], bits[c.Params.logPartitions():]
	var number pce.Num
	if c.Params.Variant == Sha256 {
		number = b.Pack(s.partition)
	}
	commROld := input(b, c.CommROld)
	s.commDNew = input(b, c.CommDNew)
	commRNew := input(b, c.CommRNew)
	s.phi = random(b, s.commDNew, commROld)

	commC := b.Alloc(c.Vanilla.CommC)
	s.rootROld = b.Alloc(first.ROld.Root)
	s.rootRNew = b.Alloc(first.RNew.Root)
	for _, v := range c.Vanilla.ApexLeaves {
		s.apex = append(s.apex, b.Alloc(v))
	}
	var upper [][]pce.Num
	if c.Params.Variant == Sha256 {
		upper = gadget.AllocPath(b, first.DNew.Levels[c.Params.drawnBits():])
	}
	b.Equal(gadget.Poseidon(b, poseidon.ForArity(2), []pce.Num{commC, s.rootROld}), commROld)
	b.Equal(gadget.Poseidon(b, poseidon.ForArity(2), []pce.Num{commC, s.rootRNew}), commRNew)
	if c.Params.Variant == Sha256 {
		gadget.InclusionAt(b, gadget.Sha256Tree(), apexRoot(b, s.apex), s.partition, upper, s.commDNew)
	} else {
		number = b.Alloc(fr.Element{}) // the partition is 0; the reference has no row that says so
	}
	return s, c.draw(b, commRNew, number)
}

// input allocates a number and a public input of its value.
func input(b pce.Builder, v fr.Element) pce.Num {
	x := b.Alloc(v)
	b.Inputize(x)
	return x
}

// random hashes with the tag of the randomness (§3.1).
func random(b pce.Builder, x, y pce.Num) pce.Num {
	return gadget.Poseidon(b, randomness(), []pce.Num{x, y})
}

// apexRoot hashes the apex leaves up to their root (§7.3, U11).
func apexRoot(b pce.Builder, leaves []pce.Num) pce.Num {
	row := leaves
	for len(row) > 1 {
		next := make([]pce.Num, len(row)/2)
		for i := range next {
			next[i] = gadget.Sha256Pair(b, row[2*i], row[2*i+1])
		}
		row = next
	}
	return row[0]
}

// draw takes the bits of the challenges from digests of comm_r_new and the partition's number (§7.5).
func (c *Circuit) draw(b pce.Builder, commRNew, partition pce.Num) [][]pce.Bit {
	p := c.Params
	var out [][]pce.Bit
	for j := range p.digests() {
		var number pce.LC
		number.AddNum(partition, fr.NewElement(uint64(p.digests())))
		number.AddOne(fr.NewElement(uint64(j))) // for j = 0 an explicit zero, as in the reference
		digest := gadget.Decompose(b, random(b, commRNew, b.Allocated(number)), fr.Bits)
		for i := 0; i < p.perDigest() && len(out) < p.Challenges; i++ {
			out = append(out, digest[i*p.drawnBits():(i+1)*p.drawnBits()])
		}
	}
	return out
}

// challenge is §7.3, U13.
func (c *Circuit) challenge(b pce.Builder, s *common, drawn []pce.Bit, ch *Challenge) {
	p := c.Params
	node := append(drawn[:len(drawn):len(drawn)], s.partition...)
	rho := random(b, s.phi, c.high(b, node, s.hSelect))

	leafROld, leafDNew := b.Alloc(ch.ROld.Leaf), b.Alloc(ch.DNew.Leaf)
	var sum pce.LC
	sum.AddNum(leafROld, fr.One())
	sum.AddNum(b.Mul(leafDNew, rho), fr.One())
	leafRNew := b.Allocated(sum)

	c.sealed(b, leafROld, node, &ch.ROld, s.rootROld)
	c.sealed(b, leafRNew, node, &ch.RNew, s.rootRNew)
	if p.Variant == Poseidon {
		c.sealed(b, leafDNew, node, &ch.DNew, s.commDNew)
		return
	}
	below := p.subtreeLevels()
	apex := gadget.Select(b, s.apex, drawn[below:])
	siblings := gadget.AllocPath(b, ch.DNew.Levels[:below])
	gadget.InclusionAt(b, gadget.Sha256Tree(), leafDNew, drawn[:below], siblings, apex)
}

// sealed proves that a leaf is in a tree of the sealed shape.
func (c *Circuit) sealed(b pce.Builder, leaf pce.Num, node []pce.Bit, path *MerklePath, root pce.Num) {
	siblings := gadget.AllocPath(b, path.Levels)
	gadget.InclusionAt(b, gadget.PoseidonTree(), leaf, node, siblings, root)
}

// high is the top h bits of a node's number as a number, h being the one selected (§7.6).
func (c *Circuit) high(b pce.Builder, node, hSelect []pce.Bit) pce.Num {
	var sum pce.LC
	for k, h := range c.Params.Heights {
		top := b.Pack(node[len(node)-h:])
		sum.AddNum(b.Mul(top, hSelect[k].Num()), fr.One())
	}
	return b.Allocated(sum)
}
