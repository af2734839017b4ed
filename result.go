package cuzk

import (
	"time"

	"github.com/gocuzk/cuzk/groth16"
)

// Result is what a job made. On partial failure it comes beside an error, and the proofs of the partitions whose report has
// no Err are good.
type Result struct {
	Proofs     []groth16.Proof // by partition; the zero Proof where one failed
	Partitions []PartitionReport
}

// PartitionReport says how a partition went. What it has of [groth16.PartitionReport] is of the last attempt, but for
// Attempts, which counts all.
type PartitionReport struct {
	groth16.PartitionReport
	// Queued is how long the partition waited for a worker, Loaded how long for its key to be loaded, and Took how long its
	// attempts lasted, the latter included.
	Queued, Loaded, Took time.Duration
	// Fault is what ended the first attempt if there was another one; nil otherwise.
	Fault error
}

// Bytes is the concatenation of all proofs in the order of partitions, or nil if there is none or one is missing.
func (r *Result) Bytes() []byte {
	if r == nil {
		return nil
	}
	g := groth16.Result{Proofs: r.Proofs, Partitions: make([]groth16.PartitionReport, len(r.Partitions))}
	for i := range r.Partitions {
		g.Partitions[i] = r.Partitions[i].PartitionReport
	}
	return g.Bytes()
}
