package gpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// pause sleeps for d, or until a signal comes. time.Sleep would take more than a millisecond: the runtime waits for its timers in
// whole ones.
func pause(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // one that ends early does no harm
}
