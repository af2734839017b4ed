// Package device describes where proofs are made: a GPU, or the processor.
//
// A [Device] is a handle that its opener closes. Only this module implements it. [CPU] is always there.
package device
