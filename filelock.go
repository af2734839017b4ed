package cuzk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// errNotLocked reports a lock that another process holds.
var errNotLocked = errors.New("locked by another process")

// lockPause is how long to wait before a lock is tried again.
const lockPause = 20 * time.Millisecond

// lockFile waits until this caller is the only one in all processes that has the lock with the name of a file, which goes
// with unlock. A holder that dies loses the lock.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err = tryLock(path)
		if err == nil || !errors.Is(err, errNotLocked) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
}

// lease is a lock for systems that have no better one: a file that is there while somebody holds the lock. The
// holder renews its time; one that is older than period belongs to a holder that has died and is removed. Two
// callers that remove it at the same moment could both get the lock, which costs no more than a second recording.
func lease(path string, period time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Stat(path)
		if err == nil && time.Since(info.ModTime()) > period {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", path, errNotLocked)
	}
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		renew(path, period/4, stop)
	}()
	return func() {
		close(stop)
		<-stopped
		os.Remove(path) // if it can't be removed, it runs out
	}, nil
}

// renew sets a file's time again and again until stop is closed.
func renew(path string, every time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-tick.C:
			os.Chtimes(path, now, now) // if it fails, the lease runs out early
		}
	}
}
