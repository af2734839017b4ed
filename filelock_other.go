//go:build !unix

package cuzk

import "time"

// leasePeriod is after how long without a sign of life the holder of a lock counts as dead.
const leasePeriod = 10 * time.Second

// tryLock takes the lock, or answers errNotLocked if another has it.
func tryLock(path string) (unlock func(), err error) { return lease(path, leasePeriod) }
