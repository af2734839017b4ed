package main

import (
	"context"
	"strings"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/internal/synth"
)

// source is where a command's phase-1 output comes from: a file, or a sector that is made up.
type source struct {
	*flags
	c1, synthetic *string
	seed          *uint64
}

// addSource adds the flags that name an input.
func (f *flags) addSource() source {
	return source{
		flags:     f,
		c1:        f.String("c1", "", "phase-1 output, as Lotus or the reference writes it"),
		synthetic: f.String("synthetic", "", "in place of --c1, make up a sector of this size; its statement is true, but nothing is stored in it"),
		seed:      f.Uint64("seed", 1, "what a sector that is made up is drawn from"),
	}
}

// check refuses command lines that name no input, or two.
func (s source) check() error {
	if (*s.c1 == "") == (*s.synthetic == "") {
		return usagef("%s: one of --c1 and --synthetic is needed", s.Name())
	}
	return nil
}

// name is what errors call the input.
func (s source) name() string {
	if *s.c1 != "" {
		return *s.c1
	}
	return "synthetic " + *s.synthetic
}

// read decodes the file or makes up the sector.
func (s source) read(ctx context.Context) (*porep.C1, error) {
	if *s.c1 != "" {
		return readC1(ctx, *s.c1)
	}
	return synthesizeC1(*s.synthetic, *s.seed)
}

// synthesizeC1 makes up a sector of a size that has a registered proof.
func synthesizeC1(size string, seed uint64) (*porep.C1, error) {
	var known []string
	for _, proof := range porep.RegisteredProofs() {
		if proof.APIVersion() != porep.APIv1_1 || proof.Feature() != porep.Interactive {
			continue
		}
		p, err := proof.Params()
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(p.Name(), "porep-")
		if name == size {
			return synth.PoRep(proof, nil, seed)
		}
		known = append(known, name)
	}
	return nil, usagef("no registered PoRep of size %q, only %s", size, strings.Join(known, ", "))
}
