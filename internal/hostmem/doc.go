// Package hostmem holds memory outside the Go heap: files mapped read-only.
//
// A mapped file can change under its reader. If it is cut short, touching the lost pages raises
// SIGBUS, which would end the process. Two things stand against that: the size is looked up again before
// every use of a range, and a fault during the use is caught and returned as [ErrTruncated]. What can't be
// had is protection from contents that change while they are read; whoever reads must cope with any
// bytes.
//
// Where files can't be mapped, ranges are read into the heap; callers see no difference.
package hostmem
