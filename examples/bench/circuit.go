package main

import (
	"fmt"
	"strings"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
)

// kinds are the circuits' names as in the table of digests. Those that are not supported yet are known by name, to tell
// them from misspelled ones.
func kinds() []string {
	return []string{"porep", "winning-post", "window-post", "update", "update-poseidon"}
}

// checkKind refuses a --type that is not porep.
func (f *flags) checkKind() error {
	if err := f.require("type"); err != nil {
		return err
	}
	if err := f.oneOf("type", kinds()...); err != nil {
		return err
	}
	if kind := f.Lookup("type").Value.String(); kind != "porep" {
		return fmt.Errorf("%s: circuits of type %s are not supported yet", f.Name(), kind)
	}
	return nil
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
	var known []string
	for _, bytes := range porep.Sizes() {
		p, err := porep.ParamsFor(bytes)
		if err != nil {
			return nil, err
		}
		size := strings.TrimPrefix(p.Name(), *k.kind+"-")
		if size == *k.size {
			return &target{*k.kind, size, bytes, porep.Blank(p)}, nil
		}
		known = append(known, size)
	}
	return nil, usagef("%s: no %s of size %q, only %s", k.Name(), *k.kind, *k.size, strings.Join(known, ", "))
}
