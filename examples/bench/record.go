package main

import (
	"context"
	"encoding/hex"

	"github.com/gocuzk/cuzk/pce"
)

func record(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "record")
	which := f.addTarget()
	out := f.String("out", "", "file to write; none by default")
	var o pce.RecordOptions
	f.BoolVar(&o.VerifyBlocks, "verify-blocks", false, "compare every instance of every block with the stored one")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	target, err := which.target()
	if err != nil {
		return err
	}
	phases := newPhases(e, false)
	var system *pce.System
	err = phases.run("record", func() (err error) {
		system, err = pce.Record(ctx, target.blank.Name(), target.blank.Synthesize, &o)
		return err
	})
	if err != nil {
		return err
	}
	if *out != "" {
		if err := phases.run("write", func() error { return system.WriteFile(*out) }); err != nil {
			return err
		}
	}
	printSystem(e, system)
	e.printf("peak memory          %s\n", mebibytes(peakRSS()))
	return nil
}

// printSystem prints counts and sizes of a constraint system.
func printSystem(e *env, s *pce.System) {
	n, st := s.Counts(), s.Stats()
	e.printf("circuit              %s\n", s.Name())
	e.printf("rows                 %d and %d of the public inputs\n", n.Rows, s.FullRows()-n.Rows)
	e.printf("public inputs        %d with ONE\n", n.Inputs)
	e.printf("private variables    %d: %d bits, %d field elements\n", n.Aux, n.Bits, n.Dense)
	e.printf("stored               %d templates with %d rows, %d coefficients (%d distinct), %d calls for %d blocks\n",
		st.Templates, st.StoredRows, st.StoredTerms, st.Coefficients, st.Calls, st.Instances)
	d := s.Digest()
	e.printf("digest               %s\n", hex.EncodeToString(d[:]))
}
