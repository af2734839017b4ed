package groth16

import (
	"fmt"
	"time"

	"github.com/gocuzk/cuzk/device"
)

// Result is what Prove made. On partial failure it comes beside an error, and the proofs of the partitions whose
// report has no Err are good.
type Result struct {
	Proofs     []Proof // by partition; the zero Proof where one failed
	Partitions []PartitionReport
}

// PartitionReport says how a partition went.
type PartitionReport struct {
	Attempts int
	Device   device.Info
	Backend  Backend // BackendGPU or BackendCPU
	Stats    Stats
	Err      error // nil if the proof is good
}

// Stats are the wall times of a partition's phases. Witness may have overlapped with the partition before. Verify is the time of
// the one check of all partitions.
type Stats struct {
	Witness, Assign, Quotient, Sums, Assemble, Verify time.Duration
	// Device has the times of a GPU's own clock.
	Device DeviceTimes
}

// DeviceTimes are how long a GPU took for the phases that run there, from the first to the last command of each. They are zero on
// the CPU.
type DeviceTimes struct{ Assign, Quotient, Sums time.Duration }

// Bytes is the concatenation of all proofs in the order of partitions, or nil if there is none or one is missing.
func (r *Result) Bytes() []byte {
	if r == nil || len(r.Proofs) == 0 {
		return nil
	}
	out := make([]byte, 0, len(r.Proofs)*ProofSize)
	for i := range r.Proofs {
		if r.Partitions[i].Err != nil || !r.Proofs[i].complete() {
			return nil
		}
		b := r.Proofs[i].Bytes()
		out = append(out, b[:]...)
	}
	return out
}

// PartitionError says which partition failed.
type PartitionError struct {
	Circuit   string
	Partition int
	Err       error
}

func (e *PartitionError) Error() string {
	return fmt.Sprintf("groth16: prove %s partition %d: %s", e.Circuit, e.Partition, unprefixed(e.Err))
}

func (e *PartitionError) Unwrap() error { return e.Err }
