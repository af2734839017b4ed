package cuzk

import (
	"context"
	"fmt"
	"strings"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/internal/nilvalue"
	"github.com/gocuzk/cuzk/internal/queue"
	"github.com/gocuzk/cuzk/pce"
)

// Task is what a job proves: the statements of one or more partitions with their witnesses. It is made by the functions
// below, which look at nothing yet: what is wrong with the input is said by [Engine.Submit].
type Task struct {
	kind  string // in Stats
	class queue.Class
	open  func() (*work, error)
}

// work is a task with its circuits.
type work struct {
	name     string
	circuits []circuits.Circuit                             // all of that name
	check    func(ctx context.Context, partition int) error // natively; names what is wrong
	native   bool                                           // check is more than nothing
}

// Kinds of tasks in Stats.
const (
	kindPoRep       = "porep"
	kindWinningPoSt = "winning-post"
	kindWindowPoSt  = "window-post"
	kindUpdate      = "update"
	kindStatements  = "statements"
)

// Seal is the proof of replication of a phase-1 output, all partitions of it.
func Seal(c1 *porep.C1) Task {
	return Task{kind: kindPoRep, class: queue.Rest, open: func() (*work, error) {
		if c1 == nil {
			return nil, fmt.Errorf("%w: no phase-1 output", ErrTask)
		}
		list, err := c1.Circuits()
		if err != nil {
			return nil, err
		}
		return newWork(list, func(ctx context.Context, k int) error { return c1.CheckPartition(ctx, k, 0) })
	}}
}

// WinningPoSt is the proof of a won ticket. It is the most urgent task.
func WinningPoSt(s *post.Statement, vanilla []*post.Vanilla) Task {
	return postTask(kindWinningPoSt, queue.Winning, post.Winning, s, vanilla)
}

// WindowPoSt is the proof of all partitions that s is about. It goes before all but WinningPoSt.
func WindowPoSt(s *post.Statement, vanilla []*post.Vanilla) Task {
	return postTask(kindWindowPoSt, queue.Window, post.Window, s, vanilla)
}

// WindowPoStPartition is the proof of one partition of a WindowPoSt: s has its sectors alone, whatever partition s itself
// says that they begin with.
func WindowPoStPartition(s *post.Statement, vanilla []*post.Vanilla, partition int) Task {
	if s != nil {
		one := *s
		one.FirstPartition, one.Partitions = partition, 1
		s = &one
	}
	return WindowPoSt(s, vanilla)
}

func postTask(kind string, class queue.Class, want post.Kind, s *post.Statement, vanilla []*post.Vanilla) Task {
	return Task{kind: kind, class: class, open: func() (*work, error) {
		if s == nil {
			return nil, fmt.Errorf("%w: no statement", ErrTask)
		}
		if s.Proof.Valid() && s.Proof.Kind() != want {
			return nil, fmt.Errorf("%w: %w: %v is no %vPoSt", ErrTask, post.ErrProofType, s.Proof, want)
		}
		list, err := s.Circuits(vanilla)
		if err != nil {
			return nil, err
		}
		return newWork(list, nil)
	}}
}

// Update is the proof of an empty sector update (SnapDeals), all partitions of it.
func Update(s *update.Statement, vanilla []*update.Vanilla) Task {
	return Task{kind: kindUpdate, class: queue.Rest, open: func() (*work, error) {
		if s == nil {
			return nil, fmt.Errorf("%w: no statement", ErrTask)
		}
		list, err := s.Circuits(vanilla)
		if err != nil {
			return nil, err
		}
		return newWork(list, nil)
	}}
}

// Statements is a task of any circuits of one name, each of which becomes a partition. What circuits say about their
// structure must not depend on their values, as always.
func Statements(c ...circuits.Circuit) Task {
	return Task{kind: kindStatements, class: queue.Rest, open: func() (*work, error) {
		return newWork(c, nil)
	}}
}

// newWork makes sure that all circuits are there and of one name. Without check, those circuits are checked that can check
// themselves.
func newWork[C circuits.Circuit](list []C, check func(context.Context, int) error) (*work, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no partitions", ErrTask)
	}
	w := &work{check: check, native: true}
	for i, c := range list {
		if nilvalue.Is(c) {
			return nil, fmt.Errorf("%w: circuit %d is nil", ErrTask, i)
		}
		name := c.Name()
		if i == 0 {
			w.name = name
		}
		if name != w.name {
			return nil, fmt.Errorf("%w: circuit %d is %s, circuit 0 %s", ErrTask, i, name, w.name)
		}
		w.circuits = append(w.circuits, c)
	}
	if check == nil {
		_, w.native = w.circuits[0].(checkedCircuit)
		w.check = func(ctx context.Context, k int) error {
			c, ok := w.circuits[k].(checkedCircuit)
			if !ok {
				return nil
			}
			_, err := c.Witness(ctx, nil)
			return err
		}
	}
	return w, nil
}

// checkedCircuit checks itself natively while it makes its witness.
type checkedCircuit interface {
	Witness(ctx context.Context, o *pce.WitnessOptions) (*pce.Witness, error)
}

// blankOf is the blank circuit of a name if it is one of Filecoin's, or nil.
func blankOf(name string) circuits.Circuit {
	for _, c := range filecoinCircuits() {
		if c.Name() != name {
			continue
		}
		switch p := c.(type) {
		case porep.Params:
			return porep.Blank(p)
		case post.Params:
			return post.Blank(p)
		case update.Params:
			return update.Blank(p)
		}
	}
	return nil
}

// classOf is the class of the tasks that a circuit of this name is for.
func classOf(name string) queue.Class {
	switch {
	case strings.HasPrefix(name, "winning-post-"):
		return queue.Winning
	case strings.HasPrefix(name, "window-post-"):
		return queue.Window
	}
	return queue.Rest
}
