package device

// Device is one GPU or the CPU. Its methods may be called from several goroutines.
type Device interface {
	// Info describes the device. It never changes.
	Info() Info
	// Stats is a snapshot of what the device is used for, by all who opened it in this process.
	Stats() Stats
	// Close gives the device back. Closing twice does nothing. A GPU is released with the last handle that was opened on
	// it; that Close fails with ErrBusy, and may be tried again, while provers use the GPU.
	Close() error

	sealed()
}

// CPUOrdinal is the ordinal of the CPU.
const CPUOrdinal = -1

// Info describes a device. Fields that do not apply to the CPU, or are not known, are zero.
type Info struct {
	Ordinal         int    // as the driver counts, or CPUOrdinal
	UUID            string // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", or "MIG-…" for a part of a GPU
	PCI             string // "0000:3b:00.0"
	Name            string // "NVIDIA H200", or "cpu"
	MemoryBytes     int64  // in all
	Capability      [2]int // compute capability, major and minor
	Multiprocessors int
	MIG             bool   // the device is a part of a GPU
	CUDA            string // what the driver offers, "13.0"
	Driver          string // version of the kernel driver, "580.95.05"
}

// IsCPU says whether the device is the processor.
func (i Info) IsCPU() bool { return i.Ordinal == CPUOrdinal }

// Stats is what a device is used for at one moment. Sizes are in bytes. All fields of the CPU's are zero.
type Stats struct {
	LeasedBytes, PeakLeasedBytes int64 // promised to provers
	LimitBytes                   int64 // the most that can be promised; 0 before the first promise
	BytesInUse, PeakBytes        int64 // allocated
	ProcessBytes                 int64 // all that the process has of the GPU, context and kernels included; 0 if not known
	PinnedBytes                  int64 // page-locked memory of the host; what a lost GPU may still write to is never freed
	PinnedRefused                int64 // streams that do without page-locked memory, since the system refused it
	Allocations                  int64
	Launches                     int64
	Yields                       int64 // pieces of work that waited for more urgent ones
	Leaks                        int64 // handles that nobody closed
	Lost                         bool  // the device answers ErrLost from now on
	Cause                        error // of the loss, or nil
}

// CPU returns the processor as a device. It needs no Close.
func CPU() Device { return cpu{} }

type cpu struct{}

func (cpu) Info() Info   { return Info{Ordinal: CPUOrdinal, Name: "cpu"} }
func (cpu) Stats() Stats { return Stats{} }
func (cpu) Close() error { return nil }
func (cpu) sealed()      {}
