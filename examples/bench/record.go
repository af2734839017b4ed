package main

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/gocuzk/cuzk/pce"
)

func record(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "record")
	which := f.addTarget()
	out := f.String("out", "", "file to write; none by default")
	var o pce.RecordOptions
	f.BoolVar(&o.VerifyBlocks, "verify-blocks", false, "compare every instance of every block with the stored one")
	asJSON := f.Bool("json", false, "print one line of JSON")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	target, err := which.target()
	if err != nil {
		return err
	}
	if *out != "" {
		if err := checkOut(*out); err != nil {
			return err
		}
	}
	phases := newPhases(e, *asJSON)
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
	if *asJSON {
		return e.jsonLine(describeRecording(system, phases, o.VerifyBlocks))
	}
	printSystem(e, system)
	e.printf("peak memory          %s\n", mebibytes(peakRSS()))
	return nil
}

// recordReport is what record prints with --json.
type recordReport struct {
	Circuit      string             `json:"circuit"`
	Rows         int                `json:"rows"`
	Inputs       int                `json:"inputs"`
	Aux          int                `json:"aux"`
	Templates    int                `json:"templates"`
	StoredRows   int                `json:"stored_rows"`
	StoredTerms  int                `json:"stored_terms"`
	VerifyBlocks bool               `json:"verify_blocks"`
	FileBytes    int64              `json:"file_bytes"`
	Digest       string             `json:"digest"`
	Phases       map[string]float64 `json:"phases_ms"`
	PeakRSSBytes int64              `json:"peak_rss_bytes"`
}

func describeRecording(s *pce.System, p *phases, verified bool) recordReport {
	peak := peakRSS() // before the digest, which makes the file in memory
	n, st, d := s.Counts(), s.Stats(), s.Digest()
	size, _ := s.WriteTo(io.Discard) // nothing can fail there
	return recordReport{
		Circuit: s.Name(), Rows: n.Rows, Inputs: n.Inputs, Aux: n.Aux,
		Templates: st.Templates, StoredRows: st.StoredRows, StoredTerms: st.StoredTerms, VerifyBlocks: verified,
		FileBytes: size, Digest: hex.EncodeToString(d[:]), Phases: p.ms, PeakRSSBytes: peak,
	}
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
