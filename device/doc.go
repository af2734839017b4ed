// Package device describes where proofs are made: a GPU, or the processor.
//
// [List] shows the GPUs of the machine and [Open] opens one of them, by ordinal, UUID or bus address. A [Device] is a
// handle that its opener closes. Only this module implements it. [CPU] is always there.
//
// Importing the package does nothing; the first use opens the driver library. Without a driver, or in a build that
// cannot call one, List and Open answer [ErrNoDriver]. Errors about a GPU are of type [*Error].
package device
