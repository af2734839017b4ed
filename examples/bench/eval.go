package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/pce"
)

// evalReport is what eval prints with --json.
type evalReport struct {
	Circuit      string             `json:"circuit"`
	Partition    int                `json:"partition"`
	Kept         bool               `json:"kept"`
	Rows         int                `json:"rows"`
	Phases       map[string]float64 `json:"phases_ms"`
	PeakRSSBytes int64              `json:"peak_rss_bytes"`
	Satisfied    bool               `json:"satisfied"`
}

// eval makes the witness of a partition, evaluates A, B and C in every row and checks a·b = c.
func eval(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "eval")
	src := f.addSource(nil)
	partition := f.Int("partition", 0, "which partition")
	keep := f.Bool("keep", false, "keep all values of A, B and C, as a prover does, instead of looking at them tile by tile")
	asJSON := f.Bool("json", false, "print one line of JSON")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	if err := src.check(); err != nil {
		return err
	}
	phases := newPhases(e, *asJSON)
	var in input
	err := phases.run("input", func() (err error) {
		if in, err = src.read(ctx); err != nil {
			return err
		}
		if err := checkStatement(in); err != nil {
			return fmt.Errorf("%s: %w", src.name(), err)
		}
		if n := in.partitions(); *partition < 0 || *partition >= n {
			return fmt.Errorf("%s: no partition %d of %d", src.name(), *partition, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var system *pce.System
	err = phases.run("record", func() (err error) {
		blank := blankOf(in.circuit())
		system, err = pce.Record(ctx, blank.Name(), blank.Synthesize, nil)
		return err
	})
	if err != nil {
		return err
	}
	var w *pce.Witness
	err = phases.run("witness", func() (err error) {
		w, err = in.witness(ctx, *partition, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", src.name(), err)
	}
	if err := evaluate(ctx, phases, system, w, *keep); err != nil {
		return err
	}
	report := evalReport{
		Circuit: system.Name(), Partition: *partition, Kept: *keep, Rows: system.FullRows(),
		Phases: phases.ms, PeakRSSBytes: peakRSS(), Satisfied: true,
	}
	if *asJSON {
		return e.jsonLine(report)
	}
	e.printf("rows                 %d, all satisfied\n", report.Rows)
	e.printf("peak memory          %s\n", mebibytes(report.PeakRSSBytes))
	return nil
}

// evaluate runs the evaluation and returns an error for a row with a·b ≠ c.
func evaluate(ctx context.Context, phases *phases, system *pce.System, w *pce.Witness, keep bool) error {
	bad := atomic.Int64{}
	bad.Store(-1)
	check := func(first int, a, b, c []fr.Element) {
		var p fr.Element
		for i := range a {
			if p.Mul(&a[i], &b[i]); !p.Equal(&c[i]) {
				bad.CompareAndSwap(-1, int64(first+i))
				return
			}
		}
	}
	err := phases.run("evaluate", func() error {
		if !keep {
			return system.EvalTiles(ctx, w, func(first int, a, b, c []fr.Element) error {
				check(first, a, b, c)
				return nil
			})
		}
		var abc [3][]fr.Element
		for m := range abc {
			abc[m] = make([]fr.Element, system.FullRows())
		}
		start := time.Now()
		if err := system.Eval(ctx, w, abc[0], abc[1], abc[2]); err != nil {
			return err
		}
		phases.add("evaluate, kept", time.Since(start))
		check(0, abc[0], abc[1], abc[2])
		return nil
	})
	if err == nil && bad.Load() >= 0 {
		err = &pce.RowError{Row: int(bad.Load()), Path: system.Name()}
	}
	return err
}
