package cuzk

import (
	"time"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
)

// Steps of a partition that an Engine adds to those of [groth16.Phase].
const (
	PhaseQueue groth16.Phase = "queue" // from the submission of the job to the start of the partition
	PhaseLoad  groth16.Phase = "load"  // the partition waited for its key or its constraint system to be loaded
)

// Stats is what an Engine does and has done at one moment. Nothing in it changes later. Numbers of type uint64 only grow
// while the Engine lives; all others are those of the moment. Lists are in a fixed order, entries appear with
// their first use and stay.
type Stats struct {
	Time   time.Time // of the snapshot
	Opened time.Time // when the Engine was opened

	Jobs       []JobStats       // by kind
	Queues     []QueueStats     // the most urgent class first
	Partitions []PartitionStats // by circuit
	Phases     []PhaseStats     // by circuit and, within it, in the order in which a partition goes through them
	Devices    []DeviceStats    // in the order of the options

	HostPromisedBytes int64 // memory of the host that running partitions may take
	HostPeakBytes     int64 // the most that was promised at a time
	HostLimitBytes    int64 // the most that can be promised
}

// JobStats counts the jobs of one kind.
type JobStats struct {
	Kind                    string // "porep", "winning-post", "window-post", "update" or "statements"
	Queued, Running         int
	Done, Failed, Cancelled uint64
	Refused                 uint64 // at submission: with Submit's error, whatever it was
}

// QueueStats is what waits in one class of urgency.
type QueueStats struct {
	Class            string // "winning", "window" or "sealing"
	Jobs, Partitions int
	OldestWait       time.Duration // of the job that has waited longest; 0 if none waits
}

// PartitionStats counts the partitions of one circuit.
type PartitionStats struct {
	Circuit      string // "porep-32GiB"
	Done, Failed uint64
	Retried      uint64 // attempts that were made once more after a fault of the device
}

// PhaseStats adds up how long one phase took for all partitions of a circuit. Sum divided by Count is the mean.
type PhaseStats struct {
	Circuit   string
	Phase     groth16.Phase
	Count     uint64        // partitions that went through the phase
	Sum       time.Duration // wall time
	DeviceSum time.Duration // by the GPU's own clock; 0 for what runs on the processor
}

// DeviceStats is what one device of an Engine is used for.
type DeviceStats struct {
	Info          device.Info
	Stats         device.Stats // of all users in the process; Lost and Cause are here
	OnlyWinning   bool         // reserved for WinningPoSt
	Workers, Busy int          // Busy are the workers that have a partition
	Done, Failed  uint64       // partitions
	Keys          []KeyStats   // loaded, by circuit
}

// KeyStats is a proving key that is loaded on a device, with its constraint system.
type KeyStats struct {
	Circuit string
	Bytes   int64     // of the device that the key holds; of its file on the processor
	Users   int       // partitions that need it now
	LastUse time.Time // when the last of them began or ended
}
