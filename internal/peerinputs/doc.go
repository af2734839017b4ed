// Package peerinputs makes the inputs of the program "peers", which measures other libraries, so that results can be
// compared with its check values; and what is needed to check results: closed forms of sums, hashes, values of polynomials.
//
// Scalars are plain numbers where a name or comment says so, else elements as package fr has them, in Montgomery form.
// All functions that take a context spread their work over the processors, and return context.Cause(ctx) if ctx ends.
package peerinputs
