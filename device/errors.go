package device

import "errors"

var (
	// ErrNoDriver reports that there is no CUDA driver, or that this build cannot use one.
	ErrNoDriver = errors.New("device: CUDA driver not available")
	// ErrNoDevice reports that the driver sees no GPU.
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
)
