package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/internal/synth"
)

// source is where a command's input comes from: a file, or sectors that are made up.
type source struct {
	*flags
	kind, c1, input, synthetic *string
	made                       madeUp
	sector                     *sectorFlags // nil: the command has no such flags
}

// maxMadeUp is the most sectors to make up: more than all partitions of a deadline hold.
const maxMadeUp = 30_000

// madeUp are the flags of sectors that are made up.
type madeUp struct {
	seed    *uint64
	sectors *int
}

func (f *flags) addMadeUp() madeUp {
	return madeUp{
		f.Uint64("seed", 1, "what sectors that are made up are drawn from"),
		f.Int("sectors", 0, "how many sectors to make up for a window-post; by default as many as a partition holds"),
	}
}

func (f *flags) addType() *string {
	return f.String("type", "", "kind of proof: "+strings.Join(kinds(), ", "))
}

// addSource adds the flags that name an input. sector may be nil.
func (f *flags) addSource(sector *sectorFlags) source {
	return source{
		flags:     f,
		kind:      f.addType(),
		c1:        f.String("c1", "", "of a porep: phase-1 output, as Lotus or the reference writes it"),
		input:     f.String("input", "", "of the other types: JSON with the statement and the vanilla proofs, as synth writes it"),
		synthetic: f.String("synthetic", "", "in place of a file, make up sectors of this size, in which nothing is stored"),
		made:      f.addMadeUp(),
		sector:    sector,
	}
}

// check refuses command lines that name no kind and no input, or two, and flags that are not for them.
func (s source) check() error {
	if err := s.checkKind(); err != nil {
		return err
	}
	isPoRep, kind := *s.kind == kindPoRep, "--type "+*s.kind
	if err := s.refuseUnused(rule{"c1", isPoRep, kind}, rule{"input", !isPoRep, kind}); err != nil {
		return err
	}
	file, path := "input", *s.input
	if isPoRep {
		file, path = "c1", *s.c1
	}
	isMadeUp := *s.synthetic != ""
	if (path == "") != isMadeUp {
		return usagef("%s: one of --%s and --synthetic is needed", s.Name(), file)
	}
	err := s.refuseUnused(
		rule{"seed", isMadeUp, "--" + file}, rule{"sectors", isMadeUp, "--" + file},
		rule{"miner", isPoRep, kind}, rule{"sector", isPoRep, kind},
	)
	if err == nil && isMadeUp {
		err = s.made.check(s.flags, *s.kind)
	}
	if err == nil && s.sector != nil {
		err = s.sector.check()
	}
	return err
}

// name is what errors call the input.
func (s source) name() string {
	if *s.synthetic != "" {
		return "synthetic " + *s.synthetic
	}
	return *s.c1 + *s.input
}

// read decodes the file or makes up the sectors.
func (s source) read(ctx context.Context) (input, error) {
	if *s.synthetic != "" {
		return s.made.up(ctx, s.flags, *s.kind, *s.synthetic, s.sector)
	}
	if *s.kind == kindPoRep {
		c1, err := readC1(ctx, *s.c1)
		if err != nil {
			return nil, err
		}
		return &porepInput{c1, s.sector}, nil
	}
	return readOther(ctx, *s.input, *s.kind)
}

// readOther decodes the file of a kind other than a PoRep.
func readOther(ctx context.Context, path, kind string) (input, error) {
	if kind == kindWinningPoSt || kind == kindWindowPoSt {
		return readPoSt(ctx, path, kind)
	}
	return readUpdate(ctx, path, kind)
}

// check refuses a number of sectors where there is no choice, or that cannot be.
func (m madeUp) check(f *flags, kind string) error {
	if err := f.refuseUnused(rule{"sectors", kind == kindWindowPoSt, "--type " + kind}); err != nil {
		return err
	}
	if n := *m.sectors; f.given("sectors") && (n < 1 || n > maxMadeUp) {
		return usagef("%s: --sectors is %d, want 1 to %d", f.Name(), n, maxMadeUp)
	}
	return nil
}

// up makes up an input of a size that has a registered proof.
func (m madeUp) up(ctx context.Context, f *flags, kind, size string, sector *sectorFlags) (input, error) {
	var sizes []uint64
	for _, p := range update.RegisteredProofs() { // the same sizes for all kinds
		sizes = append(sizes, p.SectorSize())
	}
	bytes, err := f.pickSize(kind, size, sizes)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindPoRep:
		return m.porep(ctx, bytes, sector)
	case kindWinningPoSt, kindWindowPoSt:
		return m.post(ctx, kind, bytes)
	}
	return m.update(ctx, kind, bytes)
}

func (m madeUp) porep(ctx context.Context, size uint64, sector *sectorFlags) (input, error) {
	for _, proof := range porep.RegisteredProofs() {
		if proof.SectorSize() == size && proof.APIVersion() == porep.APIv1_1 && proof.Feature() == porep.Interactive {
			c1, err := synth.PoRep(ctx, proof, nil, *m.seed)
			if err != nil {
				return nil, err
			}
			return &porepInput{c1, sector}, nil
		}
	}
	return nil, fmt.Errorf("no registered proof for sectors of %d bytes", size)
}

func (m madeUp) post(ctx context.Context, kind string, size uint64) (input, error) {
	for _, proof := range post.RegisteredProofs() {
		if proof.SectorSize() != size || proof.Kind() != postKind(kind) ||
			proof.Kind() == post.Window && proof.APIVersion() != post.APIv1_2 {
			continue
		}
		p, err := proof.Params()
		if err != nil {
			return nil, err
		}
		sectors := *m.sectors
		if sectors == 0 {
			sectors = p.SectorsPerPartition()
		}
		statement, vanilla, err := synth.PoSt(ctx, proof, nil, sectors, *m.seed)
		if err != nil {
			return nil, err
		}
		return &postInput{params: p, statement: statement, vanilla: vanilla}, nil
	}
	return nil, fmt.Errorf("no registered proof for sectors of %d bytes", size)
}

func (m madeUp) update(ctx context.Context, kind string, size uint64) (input, error) {
	proof, err := update.RegisteredProofFor(size)
	if err != nil {
		return nil, err
	}
	p, err := update.ParamsFor(updateVariant(kind), size)
	if err != nil {
		return nil, err
	}
	statement, vanilla, err := synth.Update(ctx, proof, &p, *m.seed)
	if err != nil {
		return nil, err
	}
	return &updateInput{params: p, statement: statement, vanilla: vanilla}, nil
}
