package device

// Device is one GPU or the CPU. Its methods may be called from several goroutines.
type Device interface {
	// Info describes the device. It never changes.
	Info() Info
	// Stats is a snapshot of what the device is used for.
	Stats() Stats
	// Close releases the device. Closing twice does nothing.
	Close() error

	sealed()
}

// CPUOrdinal is the ordinal of the CPU.
const CPUOrdinal = -1

// Info describes a device. Fields that do not apply to the CPU are zero.
type Info struct {
	Ordinal     int    // as the driver counts, or CPUOrdinal
	UUID        string // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	PCI         string // "0000:3b:00.0"
	Name        string // "NVIDIA H200", or "cpu"
	MemoryBytes int64  // in all
	Capability  [2]int // compute capability, major and minor
}

// IsCPU says whether the device is the processor.
func (i Info) IsCPU() bool { return i.Ordinal == CPUOrdinal }

// Stats is what a device is used for at one moment.
type Stats struct {
	BytesInUse, PeakBytes int64
	Allocations           int64
	Launches              int64
	Lost                  bool // the device answers ErrLost from now on
}

// CPU returns the processor as a device. It needs no Close.
func CPU() Device { return cpu{} }

type cpu struct{}

func (cpu) Info() Info   { return Info{Ordinal: CPUOrdinal, Name: "cpu"} }
func (cpu) Stats() Stats { return Stats{} }
func (cpu) Close() error { return nil }
func (cpu) sealed()      {}
