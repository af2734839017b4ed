package porep

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
)

// Shape is the arities of a sealed tree (tree C and tree R, spec §4).
type Shape = gadget.Shape

// Params are the sizes that decide a PoRep circuit's constraints (spec §5.1).
type Params struct {
	SectorSize uint64 // bytes
	Shape      Shape
	Layers     int // labels per column
	Partitions int
	Challenges int // per partition
}

// Nodes is the number of 32-byte nodes of a sector.
func (p Params) Nodes() uint64 { return p.SectorSize / 32 }

// PathElement is one level of a Merkle path.
type PathElement = gadget.PathElement

// MerklePath is an inclusion path from a leaf to the root.
type MerklePath = gadget.MerklePath

// Column is a parent's labels in all layers, layer 1 first, and its inclusion in tree C (the leaf of
// the path is the hash of the labels).
type Column struct {
	Node uint64
	Rows []fr.Element // one a layer
	Path MerklePath
}

// Challenge is the vanilla proof of one challenged node, as far as the circuit needs it.
type Challenge struct {
	Node  uint64     // the challenged node
	DPath MerklePath // data leaf in tree D (binary, SHA-256)
	RPath MerklePath // encoded leaf in tree R
	CPath MerklePath // column hash of the challenged node in tree C
	// Labels are the challenged node's own labels in all layers, layer 1 first. The circuit computes
	// them again and does not read these: they are for the native check only, and may be nil.
	Labels []fr.Element
	Drg    [6]Column
	Exp    [8]Column
}
