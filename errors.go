package cuzk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gocuzk/cuzk/device"
)

var (
	// ErrClosed reports the use of an Engine that is closed or being closed.
	ErrClosed = errors.New("cuzk: engine closed")
	// ErrBusy reports a full queue, or a key that can't be evicted while partitions use it.
	ErrBusy = errors.New("cuzk: busy")
	// ErrLate reports a job that can't be done before its deadline.
	ErrLate = errors.New("cuzk: deadline can't be met")
	// ErrCancelled is why the partitions of a job failed that was ended with [Job.Cancel].
	ErrCancelled = errors.New("cuzk: job cancelled")
	// ErrTask reports a task without a statement, with statements that are not of one circuit, or of a circuit that has no
	// proper name.
	ErrTask = errors.New("cuzk: unusable task")
	// ErrUnsound reports a proof that does not verify though its statement holds: the device or the key is at fault.
	ErrUnsound = errors.New("cuzk: wrong proof of a true statement")
	// ErrCircuit reports the name of a circuit that is neither one of Filecoin's nor one that a job has had.
	ErrCircuit = errors.New("cuzk: unknown circuit")
)

// PartitionError says which partition of a job failed.
type PartitionError struct {
	Circuit    string
	Partition  int
	Partitions int
	Attempts   int // 0 if none was made
	Err        error
}

func (e *PartitionError) Error() string {
	return fmt.Sprintf("cuzk: prove %s partition %d of %d: %s", e.Circuit, e.Partition, e.Partitions, unprefixed(e.Err))
}

func (e *PartitionError) Unwrap() error { return e.Err }

// unprefixed is an error's text for use behind this package's name.
func unprefixed(err error) string { return strings.TrimPrefix(err.Error(), "cuzk: ") }

// MemoryError refuses a job that can never fit, or work that others have left no room for. It is a device.ErrMemory.
type MemoryError struct {
	Need           *Need
	HostLimitBytes int64 // the most that can be promised of the host; 0 if that is not what is missing
}

func (e *MemoryError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cuzk: %s: %v", e.Need.Circuit, device.ErrMemory)
	for _, d := range e.Need.Devices {
		fmt.Fprintf(&b, "; %s %s: ", d.Info.Name, d.Info.UUID)
		if e.HostLimitBytes > 0 && d.HostBytes > e.HostLimitBytes {
			fmt.Fprintf(&b, "a partition needs %d bytes of the host, the limit is %d; ", d.HostBytes, e.HostLimitBytes)
		}
		fmt.Fprintf(&b, "need %d bytes, or %d for the whole key, %d free, at most %d of %d can be had",
			d.LeastBytes, d.AmpleBytes, d.FreeBytes, d.LimitBytes, d.Info.MemoryBytes)
	}
	return b.String()
}

func (e *MemoryError) Unwrap() error { return device.ErrMemory }
