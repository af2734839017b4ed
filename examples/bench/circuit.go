package main

import (
	"strings"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
)

// The kinds of circuits, named as in the table of digests.
const (
	kindPoRep          = "porep"
	kindWinningPoSt    = "winning-post"
	kindWindowPoSt     = "window-post"
	kindUpdate         = "update"
	kindUpdatePoseidon = "update-poseidon"
)

func kinds() []string {
	return []string{kindPoRep, kindWinningPoSt, kindWindowPoSt, kindUpdate, kindUpdatePoseidon}
}

// postKind is which PoSt a kind is.
func postKind(kind string) post.Kind {
	if kind == kindWinningPoSt {
		return post.Winning
	}
	return post.Window
}

// updateVariant is which update circuit a kind is.
func updateVariant(kind string) update.Variant {
	if kind == kindUpdatePoseidon {
		return update.Poseidon
	}
	return update.Sha256
}

// checkKind refuses a --type that is no kind.
func (f *flags) checkKind() error {
	if err := f.require("type"); err != nil {
		return err
	}
	return f.oneOf("type", kinds()...)
}

// circuitParams name a circuit and its parameter files.
type circuitParams interface {
	Name() string
	CacheName() string
}

// paramsOf are the parameters of a kind for a sector size.
func paramsOf(kind string, size uint64) (circuitParams, error) {
	switch kind {
	case kindPoRep:
		return porep.ParamsFor(size)
	case kindWinningPoSt, kindWindowPoSt:
		return post.ParamsFor(postKind(kind), size)
	}
	return update.ParamsFor(updateVariant(kind), size)
}

// blankOf is the blank circuit with the parameters p.
func blankOf(p circuitParams) circuits.Circuit {
	switch p := p.(type) {
	case porep.Params:
		return porep.Blank(p)
	case post.Params:
		return post.Blank(p)
	}
	return update.Blank(p.(update.Params))
}

// sizesOf are the sector sizes of a kind.
func sizesOf(kind string) []uint64 {
	switch kind {
	case kindPoRep:
		return porep.Sizes()
	case kindWinningPoSt, kindWindowPoSt:
		return post.Sizes()
	}
	return update.Sizes()
}

// target is the circuit that --type and --size name.
type target struct {
	kind, size  string
	sectorBytes uint64
	blank       circuits.Circuit
}

// targetFlags are --type and --size.
type targetFlags struct {
	*flags
	kind, size *string
}

func (f *flags) addTarget() targetFlags {
	return targetFlags{
		f, f.String("type", "", "kind of circuit: "+strings.Join(kinds(), ", ")),
		f.String("size", "", "sector size, for instance 2KiB or 32GiB"),
	}
}

// target is the blank circuit that the flags name.
func (k targetFlags) target() (*target, error) {
	if err := k.checkKind(); err != nil {
		return nil, err
	}
	if err := k.require("size"); err != nil {
		return nil, err
	}
	bytes, err := k.pickSize(*k.kind, *k.size, sizesOf(*k.kind))
	if err != nil {
		return nil, err
	}
	p, err := paramsOf(*k.kind, bytes)
	if err != nil {
		return nil, err
	}
	return &target{*k.kind, *k.size, bytes, blankOf(p)}, nil
}

// pickSize is the sector size of that name among those of a kind.
func (f *flags) pickSize(kind, name string, sizes []uint64) (uint64, error) {
	var known []string
	for _, bytes := range sizes {
		p, err := paramsOf(kind, bytes)
		if err != nil {
			return 0, err
		}
		size := strings.TrimPrefix(p.Name(), kind+"-")
		if size == name {
			return bytes, nil
		}
		known = append(known, size)
	}
	return 0, usagef("%s: no %s of size %q, only %s", f.Name(), kind, name, strings.Join(known, ", "))
}
