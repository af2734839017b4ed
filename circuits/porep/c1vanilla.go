package porep

import (
	"math"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// vanillaProofs reads {"StackedDrg<size>V1": [[proof, …], …]}. The variant decides the shape of the
// proofs, since the registered proof may come later in the document.
func (d *decoder) vanillaProofs() error {
	err := d.members(func(key []byte) error {
		name := string(key)
		if d.variant.name != "" {
			return inField(name, d.failf(ErrVariant, "a second one beside %s", d.variant.name))
		}
		if err := d.setVariant(name); err != nil {
			return inField(name, err)
		}
		if err := d.colon(); err != nil {
			return inField(name, err)
		}
		_, err := d.elements(d.partition)
		d.variant.end = d.offset()
		return inField(name, err)
	})
	if err == nil && d.variant.name == "" {
		err = d.failf(ErrVariant, "none")
	}
	return err
}

// setVariant takes the parameters of the proofs from the variant's name.
func (d *decoder) setVariant(name string) error {
	p, err := ParseRegisteredProof(name)
	if err != nil || p.APIVersion() != APIv1_0 {
		return d.failf(ErrVariant, "%q, want for instance %q", name, StackedDrg2KiBV1.variant())
	}
	if d.params, err = p.Params(); err != nil {
		return d.fail(err)
	}
	if d.override != nil {
		d.params = *d.override
	}
	d.variant = variant{name: name, size: p.SectorSize()}
	d.levels = d.params.Levels()
	return nil
}

// partition reads the proofs of one partition.
func (d *decoder) partition(int) error {
	var proofs []Challenge
	err := d.array(d.params.Challenges, func(int) error {
		proofs = append(proofs, Challenge{})
		return d.proof(&proofs[len(proofs)-1])
	})
	d.out.Partitions = append(d.out.Partitions, proofs)
	return err
}

// proof reads the vanilla proof of a challenge. Which node it is about is said many times in it; all
// must agree.
func (d *decoder) proof(c *Challenge) error {
	var column uint64 // index of c_x
	var encoding labeling
	var labels []labeling
	names := []string{"comm_d_proofs", "comm_r_last_proof", "replica_column_proofs", "labeling_proofs", "encoding_proof"}
	err := d.object(names, func(field int) (err error) {
		switch field {
		case 0:
			err = d.merkleProof(&c.DPath, Shape{Base: 2}, d.params.dataLevels())
		case 1:
			err = d.sealedProof(&c.RPath)
		case 2:
			column, err = d.columns(c)
		case 3:
			err = d.array(d.params.Layers, func(int) error {
				l, err := d.labeling()
				labels = append(labels, l)
				return err
			})
		case 4:
			encoding, err = d.labeling()
		}
		return err
	})
	if err != nil {
		return err
	}
	c.Node = majority(labels[0].node, encoding.node, column)
	for i, l := range labels {
		if err := d.sameNode(l, c.Node, i+1); err != nil {
			return inField(names[3], atIndex(i, err))
		}
	}
	if err := d.sameNode(encoding, c.Node, d.params.Layers); err != nil {
		return inField(names[4], err)
	}
	if column != c.Node {
		return inField("replica_column_proofs.c_x.column.index", d.failf(ErrIndex, "%d, want %d", column, c.Node))
	}
	return nil
}

// majority is the value that at least two have, so that an error names the odd one; a if there is none.
func majority(a, b, c uint64) uint64 {
	if b == c {
		return b
	}
	return a
}

// sameNode refuses a labeling proof of another node or layer.
func (d *decoder) sameNode(l labeling, node uint64, layer int) error {
	if l.node != node {
		return inField("node", d.failf(ErrIndex, "%d, want %d", l.node, node))
	}
	if l.layer != uint64(layer) {
		return inField("layer_index", d.failf(ErrIndex, "%d, want %d", l.layer, layer))
	}
	return nil
}

// labeling is what is kept of a labeling proof or encoding proof.
type labeling struct{ node, layer uint64 }

// labeling reads {"parents": [label; 37], "layer_index", "node"}. The circuit has the labels of the
// parents from their columns, so these are only read.
func (d *decoder) labeling() (l labeling, err error) {
	err = d.object([]string{"parents", "layer_index", "node"}, func(field int) (err error) {
		switch field {
		case 0:
			err = d.array(totalParents, func(int) error { return d.bytes32(new([32]byte)) })
		case 1:
			l.layer, err = d.uint(math.MaxUint32)
		case 2:
			l.node, err = d.uint(math.MaxUint64)
		}
		return err
	})
	return l, err
}

// columns reads the columns of the challenged node, c_x, and of its parents. index is c_x's.
func (d *decoder) columns(c *Challenge) (index uint64, err error) {
	err = d.object([]string{"c_x", "drg_parents", "exp_parents"}, func(field int) error {
		switch field {
		case 0:
			var own Column
			err := d.column(&own)
			c.CPath, c.Labels, index = own.Path, own.Rows, own.Node
			return err
		case 1:
			return d.array(len(c.Drg), func(i int) error { return d.column(&c.Drg[i]) })
		default:
			return d.array(len(c.Exp), func(i int) error { return d.column(&c.Exp[i]) })
		}
	})
	return index, err
}

// column reads {"column": {"index", "rows"}, "inclusion_proof"}.
func (d *decoder) column(c *Column) error {
	return d.object([]string{"column", "inclusion_proof"}, func(field int) error {
		if field == 1 {
			return d.sealedProof(&c.Path)
		}
		return d.object([]string{"index", "rows"}, func(field int) (err error) {
			if field == 0 {
				c.Node, err = d.uint(math.MaxUint32)
				return err
			}
			c.Rows, err = d.list(d.params.Layers)
			return err
		})
	})
}

// sealedProof reads an inclusion proof in tree C or R.
func (d *decoder) sealedProof(m *MerklePath) error {
	return d.merkleProof(m, d.params.Shape, d.levels)
}

// merkleProof reads {"data": {variant: {…}}}, the variant being that of the shape (spec §8.1). levels
// are the arities from the leaf to the root.
func (d *decoder) merkleProof(m *MerklePath, shape Shape, levels []int) error {
	parts := shape.Parts(len(levels))
	names := []string{"root", "leaf"}
	for _, p := range parts {
		names = append(names, p.Name)
	}
	m.Levels = make([]PathElement, len(levels))
	return d.object([]string{"data"}, func(int) error {
		return d.enum(shape.Variant(), func() error {
			return d.object(names, func(field int) error {
				switch field {
				case 0:
					return d.element(&m.Root)
				case 1:
					return d.element(&m.Leaf)
				}
				p := parts[field-2]
				return d.inclusionPath(m.Levels[p.From:p.To], levels[p.From:p.To])
			})
		})
	})
}

// enum reads {"name": value}: the only variant that fits.
func (d *decoder) enum(name string, read func() error) error {
	seen := false
	err := d.members(func(key []byte) error {
		if string(key) != name {
			return d.failf(ErrVariant, "%q, want %q", key, name)
		}
		if seen {
			return inField(name, d.fail(ErrDuplicate))
		}
		seen = true
		if err := d.colon(); err != nil {
			return inField(name, err)
		}
		return inField(name, read())
	})
	if err == nil && !seen {
		err = d.failf(ErrVariant, "none, want %q", name)
	}
	return err
}

// inclusionPath reads {"path": [{"hashes", "index"}, …]}.
func (d *decoder) inclusionPath(out []PathElement, arities []int) error {
	return d.object([]string{"path"}, func(int) error {
		return d.array(len(out), func(i int) error {
			return d.object([]string{"hashes", "index"}, func(field int) (err error) {
				if field == 0 {
					out[i].Siblings, err = d.list(arities[i] - 1)
					return err
				}
				index, err := d.uint(uint64(arities[i] - 1))
				out[i].Index = int(index)
				return err
			})
		})
	})
}

// list reads an array of n field elements. n is small: layers or siblings.
func (d *decoder) list(n int) ([]fr.Element, error) {
	out := make([]fr.Element, n)
	err := d.array(n, func(i int) error { return d.element(&out[i]) })
	return out, err
}
