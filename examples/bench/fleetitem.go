package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/groth16"
)

// fleetType is an entry of --types.
type fleetType struct{ kind, size string } // the input of no size is the file of --c1

// parseTypes reads --types.
func (j *fleetJob) parseTypes() ([]fleetType, error) {
	var list []fleetType
	if j.types != "" {
		for _, entry := range strings.Split(j.types, ",") {
			kind, size, sized := strings.Cut(entry, ":")
			if !slices.Contains(kinds(), kind) {
				return nil, usagef("%s: --types has %q, want some of %s", j.Name(), kind, strings.Join(kinds(), ", "))
			}
			if !sized && (kind != kindPoRep || j.c1 == "") {
				size = j.synthetic
			}
			list = append(list, fleetType{kind, size})
		}
	}
	if j.c1 != "" && !slices.Contains(list, fleetType{kind: kindPoRep}) {
		return nil, usagef("%s: --c1 is for a porep without a size in --types", j.Name())
	}
	return list, nil
}

// fleetItem is one kind of job.
type fleetItem struct {
	blank   circuits.Circuit
	task    func(n uint64) cuzk.Task // the n-th
	maxRows int                      // of circuits that a key is made for if it is missing
}

func (i *fleetItem) name() string { return i.blank.Name() }

// read reads or makes up the input of all jobs.
func (j *fleetJob) read(ctx context.Context) error {
	for _, t := range j.kinds {
		item, err := j.filecoin(ctx, t)
		if err != nil {
			return err
		}
		j.items = append(j.items, item)
	}
	for _, log := range j.logs.logs {
		j.items = append(j.items, madeItem(log, *j.seed))
	}
	if j.every == 0 {
		return nil
	}
	size := j.winning
	if size == "" {
		size = j.synthetic
	}
	var err error
	j.urgent, err = j.filecoin(ctx, fleetType{kindWinningPoSt, size})
	return err
}

// filecoin is a job of one of Filecoin's proofs. All of an item's jobs have the same input.
func (j *fleetJob) filecoin(ctx context.Context, t fleetType) (*fleetItem, error) {
	var in input
	var err error
	if t.size == "" {
		c1, readErr := readC1(ctx, j.c1)
		in, err = &porepInput{c1: c1}, readErr
	} else {
		in, err = madeUp{seed: j.seed, sectors: new(int)}.up(ctx, j.flags, t.kind, t.size, nil)
	}
	if err != nil {
		return nil, err
	}
	task := taskOf(in)
	return &fleetItem{blank: blankOf(in.circuit()), task: func(uint64) cuzk.Task { return task }, maxRows: maxTestRows}, nil
}

// taskOf is the task to prove an input.
func taskOf(in input) cuzk.Task {
	switch in := in.(type) {
	case *porepInput:
		return cuzk.Seal(in.c1)
	case *postInput:
		if in.statement.Proof.Kind() == postKind(kindWinningPoSt) {
			return cuzk.WinningPoSt(in.statement, in.vanilla)
		}
		return cuzk.WindowPoSt(in.statement, in.vanilla)
	}
	u := in.(*updateInput)
	return cuzk.Update(u.statement, u.vanilla)
}

// madeItem is a job of a made-up circuit, each time with other values.
func madeItem(log int, seed uint64) *fleetItem {
	return &fleetItem{
		blank:   &madeCircuit{log: log},
		task:    func(n uint64) cuzk.Task { return cuzk.Statements(&madeCircuit{log: log, seed: seed, number: n}) },
		maxRows: math.MaxInt, // their size was asked for
	}
}

// all are the items, the urgent one first, so that its key is the first in memory.
func (j *fleetJob) all() []*fleetItem {
	if j.urgent == nil {
		return j.items
	}
	return append([]*fleetItem{j.urgent}, j.items...)
}

// paramsDir is where keys are.
func (j *fleetJob) paramsDir() string {
	if j.params != "" {
		return j.params
	}
	return j.cache
}

// makeKeys makes test keys where there are none, unless --params says where keys are.
func (j *fleetJob) makeKeys(ctx context.Context) (err error) {
	o, done, err := j.forKeys()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for _, i := range j.all() {
		if err := j.makeKeyOf(ctx, i, o); err != nil {
			return err
		}
	}
	return nil
}

func (j *fleetJob) makeKeyOf(ctx context.Context, i *fleetItem, o groth16.TestKeyOptions) error {
	key, err := cuzk.TestParamsFolder(j.paramsDir()).OpenKey(ctx, i.name())
	if err == nil {
		return key.Close()
	}
	if j.params != "" || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	system, err := openSystem(ctx, j.e, j.cache, i.blank)
	if err != nil {
		return err
	}
	if rows := system.Counts().Rows; rows > i.maxRows {
		return fmt.Errorf("no parameters for %s: %d rows are too many to make test parameters on the way; give --params",
			i.name(), rows)
	}
	_, err = makeKey(ctx, j.e, j.cache, system, o)
	return err
}
