//go:build !cgo || !linux

package cudrv

// Lib is an opened driver library. In this build there is none: [Open] always fails.
type Lib struct{ Driver }

// open answers that this build has no way to call a driver.
func open(path string) (*Lib, *OpenError) {
	return nil, &OpenError{Path: path, Reason: ErrNoDriver, Detail: "built without cgo or not for Linux"}
}

// OpenMonitor is nil in this build.
func OpenMonitor(string) Monitor { return nil }
