package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/pce"
)

// witnessReport is what witness prints with --json.
type witnessReport struct {
	Circuit      string             `json:"circuit"`
	Workers      int                `json:"workers"`
	Partitions   []partitionWitness `json:"partitions"`
	PeakRSSBytes int64              `json:"peak_rss_bytes"`

	read    time.Duration // for decoding the input, or making it up
	readRSS int64         // the peak until then, in bytes
}

// partitionWitness is one witness. The digests are over 32 bytes little-endian a value, as the reference's vectors have them.
type partitionWitness struct {
	Partition    int     `json:"partition"`
	MS           float64 `json:"ms"`
	Inputs       int     `json:"inputs"`
	Aux          int     `json:"aux"`
	Bits         int     `json:"bits"`
	Dense        int     `json:"dense"`
	PackedBytes  int     `json:"packed_bytes"`
	SHA256Inputs string  `json:"sha256_inputs,omitempty"` // with --hash
	SHA256Aux    string  `json:"sha256_aux,omitempty"`
}

func witness(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "witness")
	src := f.addSource(nil)
	workers := f.Int("workers", 0, "goroutines to use; 0 means one per processor")
	only := f.Int("partition", -1, "make the witness of this partition only; by default of all, one after the other")
	withHash := f.Bool("hash", false, "hash public inputs and private variables, as the reference's vectors have it; this takes minutes for 32 GiB")
	asJSON := f.Bool("json", false, "print one line of JSON")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	if err := src.check(); err != nil {
		return err
	}
	if *workers < 0 {
		return usagef("%s: --workers is %d", f.Name(), *workers)
	}
	start := time.Now()
	in, err := src.read(ctx)
	if err != nil {
		return err
	}
	read, readRSS := time.Since(start), peakRSS()
	if err := checkStatement(in); err != nil {
		return fmt.Errorf("%s: %w", src.name(), err)
	}
	from, to := 0, in.partitions()
	if f.given("partition") {
		if *only < 0 || *only >= to {
			return fmt.Errorf("%s: no partition %d of %d", src.name(), *only, to)
		}
		from, to = *only, *only+1
	}
	report, err := makeWitnesses(ctx, in, from, to, *workers, *withHash)
	if err != nil {
		return fmt.Errorf("%s: %w", src.name(), err)
	}
	if *asJSON {
		return e.jsonLine(report)
	}
	report.read, report.readRSS = read, readRSS
	report.print(e)
	return nil
}

// makeWitnesses makes the witnesses of partitions from ≤ k < to, one after the other in the same memory.
func makeWitnesses(ctx context.Context, in input, from, to, workers int, withHash bool) (*witnessReport, error) {
	var layout *pce.Layout
	if withHash {
		blank := blankOf(in.circuit())
		system, err := pce.Record(ctx, blank.Name(), blank.Synthesize, nil)
		if err != nil {
			return nil, err
		}
		layout = system.Layout()
	}
	report := &witnessReport{Circuit: in.circuit().Name(), Workers: workers}
	var w *pce.Witness
	for k := from; k < to; k++ {
		var err error
		start := time.Now()
		if w, err = in.witness(ctx, k, &pce.WitnessOptions{Workers: workers, Reuse: w}); err != nil {
			return nil, err
		}
		p := describeWitness(k, w, time.Since(start))
		if withHash {
			if err := p.hash(ctx, layout, w); err != nil {
				return nil, err
			}
		}
		report.Partitions = append(report.Partitions, p)
	}
	report.PeakRSSBytes = peakRSS()
	return report, nil
}

func (r *witnessReport) print(e *env) {
	e.printf("circuit              %s\n", r.Circuit)
	e.printf("input                %.1f ms, peak memory %s\n", milliseconds(r.read), mebibytes(r.readRSS))
	for _, p := range r.Partitions {
		e.printf("partition %-10d %10.1f ms, %d public inputs, %d bits and %d field elements in %s\n",
			p.Partition, p.MS, p.Inputs, p.Bits, p.Dense, mebibytes(int64(p.PackedBytes)))
		if p.SHA256Aux != "" {
			e.printf("  sha256 inputs      %s\n  sha256 aux         %s\n", p.SHA256Inputs, p.SHA256Aux)
		}
	}
	e.printf("peak memory          %s\n", mebibytes(r.PeakRSSBytes))
}

func describeWitness(k int, w *pce.Witness, took time.Duration) partitionWitness {
	return partitionWitness{
		Partition: k, MS: milliseconds(took), Inputs: len(w.Inputs), Aux: w.NumBits + len(w.Dense), Bits: w.NumBits, Dense: len(w.Dense),
		PackedBytes: 8*len(w.Bits) + fr.Bytes*(len(w.Inputs)+len(w.Dense)),
	}
}

// hash sets the digests.
func (p *partitionWitness) hash(ctx context.Context, layout *pce.Layout, w *pce.Witness) (err error) {
	inputs := sha256.New()
	for i := range w.Inputs {
		b := littleEndian(&w.Inputs[i])
		inputs.Write(b[:])
	}
	p.SHA256Inputs = hex.EncodeToString(inputs.Sum(nil))
	p.SHA256Aux, err = hashAux(ctx, layout, w)
	return err
}

// hashAux hashes all private variables in order without expanding them in memory.
func hashAux(ctx context.Context, layout *pce.Layout, w *pce.Witness) (string, error) {
	if err := layout.Match(w); err != nil {
		return "", err
	}
	hash := sha256.New()
	out := bufio.NewWriterSize(hash, 1<<16)
	for _, r := range layout.Runs {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		for i := r.First; i < r.First+r.N; i++ {
			var b [fr.Bytes]byte
			if !r.Bit {
				b = littleEndian(&w.Dense[i])
			} else if w.Bit(i) {
				b[0] = 1
			}
			out.Write(b[:])
		}
	}
	out.Flush()
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func littleEndian(e *fr.Element) [fr.Bytes]byte {
	b := e.Bytes()
	slices.Reverse(b[:])
	return b
}
