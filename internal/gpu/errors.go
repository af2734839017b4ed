package gpu

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// What an error of this package can be asked for with errors.Is.
var (
	ErrNoDriver     = errors.New("gpu: no CUDA driver")
	ErrDriverTooOld = errors.New("gpu: CUDA driver too old")
	ErrClosed       = errors.New("gpu: use of closed handle")
	ErrBusy         = errors.New("gpu: in use")
	ErrMemory       = errors.New("gpu: not enough memory")
	ErrLost         = errors.New("gpu: device lost after a fatal error; restart the process")
	ErrUnsupported  = errors.New("gpu: no kernel image for this device")
	ErrNoDevice     = errors.New("gpu: no such device")
	ErrArgument     = errors.New("gpu: bad argument")
)

// Error is a failed operation on one card.
type Error struct {
	Device   Identity
	Op       string       // what was called, "cuLaunchKernel" or "arena"
	Kernel   string       // kernel name, or empty
	Result   cudrv.Result // the driver's answer, or Success if the driver was not asked
	Reason   error        // one of the sentinels, or nil
	Cause    error        // of a lost device: the first error
	Detail   string       // the driver compiler's message, or what was wrong with an argument
	Launches []string     // for an error found later: the last kernels launched on the stream

	// Of ErrMemory: bytes asked for, free and in all. Zero elsewhere.
	NeedBytes, FreeBytes, TotalBytes uint64
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("gpu: ")
	if e.Device != (Identity{}) {
		b.WriteString(e.Device.String() + ": ")
	}
	b.WriteString(e.Op)
	if e.Kernel != "" {
		b.WriteString(" " + e.Kernel)
	}
	if e.Result != cudrv.Success {
		b.WriteString(": " + e.Result.String())
	}
	if e.Reason != nil {
		b.WriteString(": " + strings.TrimPrefix(e.Reason.Error(), "gpu: "))
	}
	if e.NeedBytes != 0 {
		fmt.Fprintf(&b, ": need %d bytes, %d free of %d", e.NeedBytes, e.FreeBytes, e.TotalBytes)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if len(e.Launches) > 0 {
		b.WriteString(": last launches: " + strings.Join(e.Launches, ", "))
	}
	if e.Cause != nil {
		b.WriteString(": first cause: " + e.Cause.Error())
	}
	return b.String()
}

// Unwrap gives the sentinel and the first cause.
func (e *Error) Unwrap() []error {
	var out []error
	for _, err := range []error{e.Reason, e.Cause} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// reasonOf maps a driver result to a sentinel.
func reasonOf(r cudrv.Result) error {
	switch {
	case r == cudrv.OutOfMemory:
		return ErrMemory
	case r == cudrv.NoBinaryForGPU, r == cudrv.InvalidPTX, r == cudrv.UnsupportedPTX:
		return ErrUnsupported
	case r == cudrv.NoDevice:
		return ErrNoDevice
	case r == cudrv.StubLibrary:
		return ErrNoDriver
	case r.Sticky():
		return ErrLost
	}
	return nil
}

// argument is the error of a call whose arguments were wrong; the driver was not asked.
func (d *Device) argument(op, format string, args ...any) error {
	return &Error{Device: d.info.Identity, Op: op, Reason: ErrArgument, Detail: fmt.Sprintf(format, args...)}
}

func (d *Device) closedError(op string) error {
	return &Error{Device: d.info.Identity, Op: op, Reason: ErrClosed}
}

// check turns a driver result into an error, and loses the device if the result is sticky.
func (d *Device) check(r cudrv.Result, op, kernel string, launches []string) error {
	if r == cudrv.Success {
		return nil
	}
	e := &Error{Device: d.info.Identity, Op: op, Kernel: kernel, Result: r, Reason: reasonOf(r), Launches: launches}
	if r.Sticky() {
		d.lose(e)
	}
	return e
}

// checkLater is check for a result that may be of work enqueued earlier.
func (d *Device) checkLater(r cudrv.Result, op string, launches *ring) error {
	if !r.Sticky() {
		return d.check(r, op, "", nil)
	}
	return d.check(r, op, "", launches.last())
}

// lose makes e the first cause of the card's loss, unless there is one.
func (d *Device) lose(e *Error) {
	if d.lost.CompareAndSwap(nil, e) {
		close(d.gone)
	}
}

// alive is the error of every call on a device that is lost or closed.
func (d *Device) alive(op string) error {
	if cause := d.lost.Load(); cause != nil {
		return &Error{Device: d.info.Identity, Op: op, Reason: ErrLost, Cause: cause}
	}
	if d.closed.Load() {
		return d.closedError(op)
	}
	return nil
}
