package main

import (
	"context"
	"encoding/hex"

	"github.com/gocuzk/cuzk/pce"
)

// digestLine has the fields of the table of the reference's digests, in the same (alphabetical) order.
type digestLine struct {
	Aux            int    `json:"aux"`
	Circuit        string `json:"circuit"`
	DensityAAux    int    `json:"density_a_aux"`
	DensityBAux    int    `json:"density_b_aux"`
	DensityBInputs int    `json:"density_b_inputs"`
	Inputs         int    `json:"inputs"`
	NonZeroA       uint64 `json:"nnz_a"`
	NonZeroB       uint64 `json:"nnz_b"`
	NonZeroC       uint64 `json:"nnz_c"`
	Rows           int    `json:"rows"`
	RowsFull       int    `json:"rows_full"`
	SectorBytes    uint64 `json:"sector_bytes"`
	SectorSize     string `json:"sector_size"`
	SHA256         string `json:"sha256"`
	SHA256Full     string `json:"sha256_full"`
	SHA256NoZero   string `json:"sha256_nozero,omitempty"` // known where there are no explicit zeros
	ZeroTerms      uint64 `json:"zero_terms"`

	Phases       map[string]float64 `json:"phases_ms,omitempty"` // with --timed, as what follows
	PeakRSSBytes int64              `json:"peak_rss_bytes,omitempty"`
}

func r1csDigest(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "r1cs-digest")
	which := f.addTarget()
	timed := f.Bool("timed", false, "add times and peak memory to the line")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	target, err := which.target()
	if err != nil {
		return err
	}
	phases := newPhases(e, true)
	var system *pce.System
	err = phases.run("record", func() (err error) {
		system, err = pce.Record(ctx, target.blank.Name(), target.blank.Synthesize, nil)
		return err
	})
	if err != nil {
		return err
	}
	var digest *pce.R1CSDigest
	err = phases.run("digest", func() (err error) {
		digest, err = system.R1CSDigest(ctx)
		return err
	})
	if err != nil {
		return err
	}
	n, density := system.Counts(), system.Layout().Densities
	line := digestLine{
		Circuit: target.kind, SectorSize: target.size, SectorBytes: target.sectorBytes,
		Rows: n.Rows, RowsFull: system.FullRows(), Inputs: n.Inputs, Aux: n.Aux,
		NonZeroA: digest.NonZero[0], NonZeroB: digest.NonZero[1], NonZeroC: digest.NonZero[2], ZeroTerms: digest.ZeroTerms,
		DensityAAux: density.AAux.Count(), DensityBAux: density.BAux.Count(), DensityBInputs: density.BInput.Count(),
		SHA256:     hex.EncodeToString(digest.SHA256[:]),
		SHA256Full: hex.EncodeToString(digest.SHA256Full[:]),
	}
	if line.ZeroTerms == 0 {
		line.SHA256NoZero = line.SHA256
	}
	if *timed {
		line.Phases, line.PeakRSSBytes = phases.ms, peakRSS()
	}
	return e.jsonLine(line)
}
