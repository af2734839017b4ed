// Package fakedrv is a CUDA driver in plain Go, for tests on machines without a card.
//
// A [Driver] has any number of made-up cards. It is strict where the real driver lets
// mistakes pass, so that a mistake shows:
//
//   - Device memory has red zones around every allocation, is filled with [Poison] when it is
//     allocated and when it is freed, and an address is never given out twice.
//   - Streams are lazy: nothing runs until a wait demands it, and which stream runs next is
//     chosen by a seeded random number. A missing dependency becomes a wrong result that
//     the seed reproduces.
//   - Host memory given to an asynchronous copy is compared at enqueue and at run.
//   - Every handle is checked against the context of the call, and every call is logged with it.
//   - Faults, delays and limits are injected by rule.
//
// Kernels are Go functions registered by name; they get the bytes of the parameter struct and
// the card's memory. In accounting mode memory has no content and kernels do not run: only
// sizes, calls and order are kept, so that plans of large circuits can be replayed. What is read back is what
// was filled in last at the place, or zero, as if no kernel had anything to say.
package fakedrv
