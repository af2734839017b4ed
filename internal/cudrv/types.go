package cudrv

import "unsafe"

// MinVersion is the oldest driver interface that the embedded kernels run on: they are
// built with CUDA 13.0, which came with driver 580.
const MinVersion = 13000

// Handles of the driver. They are distinct integer types, so that they can't be mixed up
// and the collector never looks at them. Zero is no handle.
type (
	// Device is a card's number inside the driver.
	Device int32
	// Context is a CUcontext.
	Context uintptr
	// Stream is a CUstream. Zero would be the default stream, which is never used.
	Stream uintptr
	// Event is a CUevent.
	Event uintptr
	// Module is a CUmodule.
	Module uintptr
	// Function is a CUfunction.
	Function uintptr
	// DevicePtr is an address in device memory.
	DevicePtr uint64
)

// Attribute names a property of a device.
type Attribute int32

// The device attributes in use, with the driver's numbers.
const (
	AttrMultiprocessors     Attribute = 16
	AttrECCEnabled          Attribute = 32
	AttrL2CacheBytes        Attribute = 38
	AttrMajor               Attribute = 75
	AttrMinor               Attribute = 76
	AttrSharedPerMultiproc  Attribute = 81
	AttrSharedPerBlockOptIn Attribute = 97
)

// FuncAttribute names a property of a kernel.
type FuncAttribute int32

// The kernel attributes in use, with the driver's numbers.
const (
	FuncMaxThreads       FuncAttribute = 0
	FuncSharedBytes      FuncAttribute = 1
	FuncLocalBytes       FuncAttribute = 3
	FuncRegisters        FuncAttribute = 4
	FuncMaxDynamicShared FuncAttribute = 8
)

// EventFlags selects the kind of an event.
type EventFlags uint32

// Event kinds. A wait for a blocking event sleeps instead of spinning.
const (
	EventBlocking EventFlags = 1
	EventNoTiming EventFlags = 2
)

// Launch is the geometry of one kernel launch.
type Launch struct {
	Grid, Block [3]uint32
	SharedBytes uint32
	Stream      Stream
}

// Driver is the driver as this module uses it.
//
// All methods may be called from any goroutine, several at once. No method changes the
// context that is current on the calling thread. Pointers to host memory given to an
// asynchronous copy must not be Go memory and must stay valid until the copy has run.
type Driver interface {
	// Version is the driver's interface version, 13000 for CUDA 13.0.
	Version() (int, Result)

	DeviceCount() (int, Result)
	DeviceGet(ordinal int) (Device, Result)
	DeviceName(d Device) (string, Result)
	DeviceUUID(d Device) ([16]byte, Result)
	DevicePCI(d Device) (string, Result)
	DeviceTotalMem(d Device) (uint64, Result)
	DeviceAttribute(a Attribute, d Device) (int, Result)

	// PrimaryRetain counts one use of the device's primary context, creating it if needed.
	PrimaryRetain(d Device) (Context, Result)
	PrimaryRelease(d Device) Result

	MemInfo(c Context) (free, total uint64, r Result)
	MemAlloc(c Context, n uint64) (DevicePtr, Result)
	MemFree(c Context, p DevicePtr) Result
	// HostAlloc allocates page-locked memory, usable from every context.
	HostAlloc(c Context, n uint64) (unsafe.Pointer, Result)
	HostFree(c Context, p unsafe.Pointer) Result
	// HostRegister page-locks n bytes of existing memory outside the Go heap.
	HostRegister(c Context, p unsafe.Pointer, n uint64) Result
	HostUnregister(c Context, p unsafe.Pointer) Result

	// StreamCreate makes a stream that does not synchronise with the default stream.
	StreamCreate(c Context) (Stream, Result)
	StreamDestroy(c Context, s Stream) Result
	StreamSynchronize(c Context, s Stream) Result
	StreamQuery(c Context, s Stream) Result
	StreamWaitEvent(c Context, s Stream, e Event) Result

	EventCreate(c Context, f EventFlags) (Event, Result)
	EventDestroy(c Context, e Event) Result
	EventRecord(c Context, e Event, s Stream) Result
	EventSynchronize(c Context, e Event) Result
	EventQuery(c Context, e Event) Result
	// EventElapsed is the time between two recorded events in milliseconds.
	EventElapsed(c Context, start, end Event) (float32, Result)

	CopyToDeviceAsync(c Context, dst DevicePtr, src unsafe.Pointer, n uint64, s Stream) Result
	CopyToHostAsync(c Context, dst unsafe.Pointer, src DevicePtr, n uint64, s Stream) Result
	CopyOnDeviceAsync(c Context, dst, src DevicePtr, n uint64, s Stream) Result
	MemsetAsync(c Context, p DevicePtr, v byte, n uint64, s Stream) Result
	// CopyToDevice and CopyToHost copy Go memory in stream order and wait for the stream.
	CopyToDevice(c Context, dst DevicePtr, src []byte, s Stream) Result
	CopyToHost(c Context, dst []byte, src DevicePtr, s Stream) Result

	// ModuleLoad loads a cubin, PTX text or fatbin. log is what the driver's compiler said.
	ModuleLoad(c Context, image []byte) (m Module, log string, r Result)
	ModuleUnload(c Context, m Module) Result
	ModuleFunction(c Context, m Module, name string) (Function, Result)
	FuncAttribute(c Context, a FuncAttribute, f Function) (int, Result)
	FuncSetAttribute(c Context, f Function, a FuncAttribute, v int) Result
	// LaunchKernel enqueues f with one parameter, the bytes of its parameter struct, which
	// are copied before the call returns.
	LaunchKernel(c Context, f Function, l Launch, params []byte) Result
}

// Monitor is what the driver's monitoring library knows and the driver does not say. Its methods may be called from several
// goroutines.
type Monitor interface {
	// DriverVersion is the version of the kernel driver, "580.95.05", or empty if it is not known.
	DriverVersion() string
	// ProcessBytes is what this process has of the memory of a card, context and modules included, or 0 if it is not known.
	ProcessBytes(uuid string) uint64
}
