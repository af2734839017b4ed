package device

import (
	"errors"
	"strings"

	"github.com/gocuzk/cuzk/internal/gpu"
)

// What an error of this package can be asked for with errors.Is.
var (
	// ErrNoDriver reports that there is no CUDA driver, or that this build cannot use one.
	ErrNoDriver = errors.New("device: CUDA driver not available")
	// ErrNoDevice reports that the driver sees no GPU, or none of the name asked for.
	ErrNoDevice = errors.New("device: no usable GPU")
	// ErrDriverTooOld reports a driver that cannot run this module's kernels.
	ErrDriverTooOld = errors.New("device: CUDA driver too old")
	// ErrUnsupported reports a GPU that this module has no kernels for.
	ErrUnsupported = errors.New("device: no kernel image for this GPU")
	// ErrMemory reports work that does not fit.
	ErrMemory = errors.New("device: not enough memory")
	// ErrLost reports a GPU that no longer works for this process.
	ErrLost = errors.New("device: GPU lost after a fatal error; restart the process")
	// ErrClosed reports the use of a closed handle.
	ErrClosed = errors.New("device: use of closed handle")
	// ErrBusy reports a GPU that is closed while provers use it, or opened with other options than it is open with.
	ErrBusy = errors.New("device: GPU in use")
)

// Error is a failed operation on a GPU.
type Error struct {
	// Ordinal, UUID, PCI and Name say which GPU. They are zero where no one GPU failed, as in a search.
	Ordinal         int
	UUID, PCI, Name string
	Op              string // what failed, for instance the call of the driver
	Kernel          string // or empty
	Reason          error  // one of the errors above, or nil
	// Of ErrMemory: bytes asked for, free and in all. Zero elsewhere.
	NeedBytes, FreeBytes, TotalBytes int64

	err error // of the packages below
}

func (e *Error) Error() string { return "device: " + strings.TrimPrefix(e.err.Error(), "gpu: ") }

// Unwrap gives the reason and the error from below.
func (e *Error) Unwrap() []error {
	if e.Reason == nil {
		return []error{e.err}
	}
	return []error{e.Reason, e.err}
}

// Err makes an [*Error] of an error in which there is one of this module's GPU packages. Any other error, nil included,
// is returned as it is. Of joined errors the first one decides.
func Err(err error) error {
	below, ok := firstOf(err).(*gpu.Error)
	if !ok {
		return err
	}
	return &Error{
		Ordinal: below.Device.Ordinal, UUID: below.Device.UUID, PCI: below.Device.PCI, Name: below.Device.Name,
		Op: below.Op, Kernel: below.Kernel, Reason: reasonOf(below),
		NeedBytes: int64(below.NeedBytes), FreeBytes: int64(below.FreeBytes), TotalBytes: int64(below.TotalBytes),
		err: err,
	}
}

// firstOf is the first error in the tree of err that is about a GPU, of this package or of the one below, or nil.
func firstOf(err error) error {
	switch e := err.(type) {
	case *Error, *gpu.Error:
		return err
	case interface{ Unwrap() error }:
		return firstOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if found := firstOf(one); found != nil {
				return found
			}
		}
	}
	return nil
}

// reasonOf is the public name of an error's reason, or nil. The loss of a GPU comes before what it leads to.
func reasonOf(err error) error {
	for _, r := range []struct{ below, public error }{
		{gpu.ErrLost, ErrLost},
		{gpu.ErrNoDriver, ErrNoDriver},
		{gpu.ErrDriverTooOld, ErrDriverTooOld},
		{gpu.ErrNoDevice, ErrNoDevice},
		{gpu.ErrUnsupported, ErrUnsupported},
		{gpu.ErrMemory, ErrMemory},
		{gpu.ErrClosed, ErrClosed},
		{gpu.ErrBusy, ErrBusy},
	} {
		if errors.Is(err, r.below) {
			return r.public
		}
	}
	return nil
}
