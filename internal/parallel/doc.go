// Package parallel spreads work over the processors: ranges are handed out one by one, the first
// error or the end of the context stops the rest, a panic becomes an error with its stack, and no
// goroutine is left when a call returns.
package parallel
