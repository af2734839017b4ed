// Package gpu drives cards through a [cudrv.Driver]: devices, memory, streams, events, modules
// and launches, with typed errors, lost devices and leak accounting.
//
// A [System] is one opened driver and the table of its opened cards. [System.Open] gives a
// [Device]; everything else is made by it or by its children, keeps it open, and is closed by its
// owner before it. There is no current device and no package-level state.
//
// # Work
//
// Everything is enqueued on a [Stream], cut into pieces of about 50 ms by the estimates that launches carry, with at most
// two unfinished ones; [Stream.Bind] makes the end of a context stop it, and lets less urgent work of the card pause at
// the edge of a piece. Every wait asks the driver again and again, so that a card that completes nothing for the time of
// the watchdog is found out and lost. What gives something back to the driver, which waits there for the card, is given the
// same time.
//
// # Memory
//
// A [Lease] is a share of the card, entered into its ledger, and waited for in order, before anything is allocated.
// Device memory is reserved in an [Arena], once, and cut into [View] values without further calls
// of the driver. A View knows its length and element type; addresses stay inside this package and
// internal/kernels. Ordinary memory is copied through page-locked memory of the stream, or, where the
// system refuses that, by the driver while the call waits.
//
// # Faults
//
// After an error that CUDA calls sticky the card is useless for the life of the process: the
// Device is lost, every later call answers an [*Error] that wraps [ErrLost] and the first cause.
package gpu
