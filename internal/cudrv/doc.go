// Package cudrv binds the CUDA driver API and nothing else.
//
// [Open] opens libcuda.so.1 at run time; importing the package does nothing, and a
// program built without cgo, or for another system than Linux, gets [ErrNoDriver].
// [Driver] is the set of driver calls that this module uses, one method a call; the
// real driver ([Lib]) and the pure-Go fake (package fakedrv) implement it. Methods
// return the driver's [Result] unchanged: only the caller knows device, kernel and
// operation, so only the caller makes an error of it.
//
// [OpenMonitor] opens the monitoring library in the same way, for the little that the driver does not say.
//
// # Rules kept here
//
//   - The library opened is libcuda.so.1 (the driver), never libcuda.so (the toolkit's
//     stub, which answers 34). It is never closed again.
//   - Symbol spelling is ABI: cuMemAlloc is an entry with 32-bit sizes, cuMemAlloc_v2 the
//     one that cuda.h means. The list in shim.h has the exported spelling.
//   - A CUDA context is current for an OS thread, and a goroutine may change thread between
//     two cgo calls. So each C function pushes the context, makes its call and pops the
//     context again: the thread is left as it was found, and no goroutine is locked.
//   - dlerror is kept for each thread; its text is copied inside the C function that failed.
//   - The shim installs no signal handler, prints nothing, never exits and keeps no Go
//     pointer: a copy out of Go memory is finished before its call returns.
package cudrv
