//go:build cgo && linux

package cudrv

/*
#cgo LDFLAGS: -ldl
#cgo noescape cudrv_open
#cgo nocallback cudrv_open
#cgo noescape cudrv_init
#cgo nocallback cudrv_init
#cgo noescape cudrv_version
#cgo nocallback cudrv_version
#cgo noescape cudrv_dev_count
#cgo nocallback cudrv_dev_count
#cgo noescape cudrv_dev_get
#cgo nocallback cudrv_dev_get
#cgo noescape cudrv_dev_name
#cgo nocallback cudrv_dev_name
#cgo noescape cudrv_dev_uuid
#cgo nocallback cudrv_dev_uuid
#cgo noescape cudrv_dev_pci
#cgo nocallback cudrv_dev_pci
#cgo noescape cudrv_dev_mem
#cgo nocallback cudrv_dev_mem
#cgo noescape cudrv_dev_attr
#cgo nocallback cudrv_dev_attr
#cgo noescape cudrv_primary_retain
#cgo nocallback cudrv_primary_retain
#cgo noescape cudrv_primary_release
#cgo nocallback cudrv_primary_release
#cgo noescape cudrv_ctx_get
#cgo nocallback cudrv_ctx_get
#cgo noescape cudrv_mem_info
#cgo nocallback cudrv_mem_info
#cgo noescape cudrv_mem_alloc
#cgo nocallback cudrv_mem_alloc
#cgo noescape cudrv_mem_free
#cgo nocallback cudrv_mem_free
#cgo noescape cudrv_host_alloc
#cgo nocallback cudrv_host_alloc
#cgo noescape cudrv_host_free
#cgo nocallback cudrv_host_free
#cgo noescape cudrv_host_register
#cgo nocallback cudrv_host_register
#cgo noescape cudrv_host_unregister
#cgo nocallback cudrv_host_unregister
#cgo noescape cudrv_stream_create
#cgo nocallback cudrv_stream_create
#cgo noescape cudrv_stream_destroy
#cgo nocallback cudrv_stream_destroy
#cgo noescape cudrv_stream_sync
#cgo nocallback cudrv_stream_sync
#cgo noescape cudrv_stream_query
#cgo nocallback cudrv_stream_query
#cgo noescape cudrv_stream_wait
#cgo nocallback cudrv_stream_wait
#cgo noescape cudrv_event_create
#cgo nocallback cudrv_event_create
#cgo noescape cudrv_event_destroy
#cgo nocallback cudrv_event_destroy
#cgo noescape cudrv_event_record
#cgo nocallback cudrv_event_record
#cgo noescape cudrv_event_sync
#cgo nocallback cudrv_event_sync
#cgo noescape cudrv_event_query
#cgo nocallback cudrv_event_query
#cgo noescape cudrv_event_elapsed
#cgo nocallback cudrv_event_elapsed
#cgo noescape cudrv_copy_htod
#cgo nocallback cudrv_copy_htod
#cgo noescape cudrv_copy_dtoh
#cgo nocallback cudrv_copy_dtoh
#cgo noescape cudrv_copy_dtod
#cgo nocallback cudrv_copy_dtod
#cgo noescape cudrv_memset8
#cgo nocallback cudrv_memset8
#cgo noescape cudrv_copy_htod_wait
#cgo nocallback cudrv_copy_htod_wait
#cgo noescape cudrv_copy_dtoh_wait
#cgo nocallback cudrv_copy_dtoh_wait
#cgo noescape cudrv_module_load
#cgo nocallback cudrv_module_load
#cgo noescape cudrv_module_unload
#cgo nocallback cudrv_module_unload
#cgo noescape cudrv_module_func
#cgo nocallback cudrv_module_func
#cgo noescape cudrv_func_attr
#cgo nocallback cudrv_func_attr
#cgo noescape cudrv_func_set_attr
#cgo nocallback cudrv_func_set_attr
#cgo noescape cudrv_launch
#cgo nocallback cudrv_launch
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"strings"
	"unsafe"
)

// Lib is an opened driver library: the real [Driver].
type Lib struct{ api *C.cudrv_api }

var _ Driver = (*Lib)(nil)

// open opens one library, starts the driver and checks its version.
func open(path string) (*Lib, *OpenError) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	var (
		l       Lib
		msg     [512]C.char
		version C.int
	)
	switch C.cudrv_open(p, &l.api, &msg[0], C.size_t(len(msg)), &version) {
	case 0:
	case 2:
		return nil, &OpenError{Path: path, Reason: ErrTooOld, Symbol: C.GoString(&msg[0]), Version: int(version)}
	default:
		return nil, &OpenError{Path: path, Reason: ErrNoDriver, Detail: C.GoString(&msg[0])}
	}
	if err := l.start(path, int(version)); err != nil {
		C.free(unsafe.Pointer(l.api))
		return nil, err
	}
	return &l, nil
}

// start checks the driver's version, 0 if it did not say, and starts it.
func (l *Lib) start(path string, version int) *OpenError {
	if version != 0 && version < MinVersion {
		return &OpenError{Path: path, Reason: ErrTooOld, Version: version}
	}
	switch r := Result(C.cudrv_init(l.api)); r {
	case Success:
		return nil
	case NoDevice:
		return &OpenError{Path: path, Reason: ErrNoDevice, Result: r}
	case StubLibrary:
		return &OpenError{Path: path, Reason: ErrNoDriver, Result: r}
	default:
		return &OpenError{Path: path, Reason: ErrInit, Result: r}
	}
}

// Version is the driver's interface version.
func (l *Lib) Version() (int, Result) {
	var v C.int
	r := C.cudrv_version(l.api, &v)
	return int(v), Result(r)
}

// CurrentContext is the context that is current on the calling thread. It serves tests
// that check that the binding leaves threads as it found them.
func (l *Lib) CurrentContext() (Context, Result) {
	var c C.cu_h
	r := C.cudrv_ctx_get(l.api, &c)
	return Context(c), Result(r)
}

// DeviceCount is the number of cards that the driver shows.
func (l *Lib) DeviceCount() (int, Result) {
	var n C.int
	r := C.cudrv_dev_count(l.api, &n)
	return int(n), Result(r)
}

// DeviceGet gives the card with an ordinal.
func (l *Lib) DeviceGet(ordinal int) (Device, Result) {
	var d C.int
	r := C.cudrv_dev_get(l.api, C.int(ordinal), &d)
	return Device(d), Result(r)
}

// DeviceName is the card's product name.
func (l *Lib) DeviceName(d Device) (string, Result) {
	var s [256]C.char
	r := C.cudrv_dev_name(l.api, C.int(d), &s[0], C.int(len(s)))
	return C.GoString(&s[0]), Result(r)
}

// DeviceUUID is the card's (or MIG instance's) identity.
func (l *Lib) DeviceUUID(d Device) (u [16]byte, r Result) {
	r = Result(C.cudrv_dev_uuid(l.api, C.int(d), unsafe.Pointer(&u[0])))
	return u, r
}

// DevicePCI is the card's bus address, "0000:1b:00.0".
func (l *Lib) DevicePCI(d Device) (string, Result) {
	var s [32]C.char
	r := C.cudrv_dev_pci(l.api, C.int(d), &s[0], C.int(len(s)))
	return strings.ToLower(C.GoString(&s[0])), Result(r)
}

// DeviceTotalMem is the card's memory in bytes.
func (l *Lib) DeviceTotalMem(d Device) (uint64, Result) {
	var n C.size_t
	r := C.cudrv_dev_mem(l.api, C.int(d), &n)
	return uint64(n), Result(r)
}

// DeviceAttribute reads one property of a card.
func (l *Lib) DeviceAttribute(a Attribute, d Device) (int, Result) {
	var v C.int
	r := C.cudrv_dev_attr(l.api, C.int(a), C.int(d), &v)
	return int(v), Result(r)
}

// PrimaryRetain counts one use of the primary context.
func (l *Lib) PrimaryRetain(d Device) (Context, Result) {
	var c C.cu_h
	r := C.cudrv_primary_retain(l.api, C.int(d), &c)
	return Context(c), Result(r)
}

// PrimaryRelease gives one use of the primary context back.
func (l *Lib) PrimaryRelease(d Device) Result {
	return Result(C.cudrv_primary_release(l.api, C.int(d)))
}

// MemInfo is the free and the whole memory in bytes.
func (l *Lib) MemInfo(c Context) (free, total uint64, r Result) {
	var f, t C.size_t
	r = Result(C.cudrv_mem_info(l.api, C.cu_h(c), &f, &t))
	return uint64(f), uint64(t), r
}

// MemAlloc allocates n bytes of device memory.
func (l *Lib) MemAlloc(c Context, n uint64) (DevicePtr, Result) {
	var p C.uint64_t
	r := C.cudrv_mem_alloc(l.api, C.cu_h(c), C.size_t(n), &p)
	return DevicePtr(p), Result(r)
}

// MemFree frees device memory.
func (l *Lib) MemFree(c Context, p DevicePtr) Result {
	return Result(C.cudrv_mem_free(l.api, C.cu_h(c), C.uint64_t(p)))
}

// HostAlloc allocates n bytes of page-locked memory.
func (l *Lib) HostAlloc(c Context, n uint64) (unsafe.Pointer, Result) {
	var p unsafe.Pointer
	r := C.cudrv_host_alloc(l.api, C.cu_h(c), C.size_t(n), &p)
	return p, Result(r)
}

// HostFree frees what HostAlloc gave.
func (l *Lib) HostFree(c Context, p unsafe.Pointer) Result {
	return Result(C.cudrv_host_free(l.api, C.cu_h(c), p))
}

// HostRegister page-locks existing memory.
func (l *Lib) HostRegister(c Context, p unsafe.Pointer, n uint64) Result {
	return Result(C.cudrv_host_register(l.api, C.cu_h(c), p, C.size_t(n)))
}

// HostUnregister undoes HostRegister.
func (l *Lib) HostUnregister(c Context, p unsafe.Pointer) Result {
	return Result(C.cudrv_host_unregister(l.api, C.cu_h(c), p))
}

// StreamCreate makes a non-blocking stream.
func (l *Lib) StreamCreate(c Context) (Stream, Result) {
	var s C.cu_h
	r := C.cudrv_stream_create(l.api, C.cu_h(c), &s)
	return Stream(s), Result(r)
}

// StreamDestroy destroys a stream; work in it still runs.
func (l *Lib) StreamDestroy(c Context, s Stream) Result {
	return Result(C.cudrv_stream_destroy(l.api, C.cu_h(c), C.cu_h(s)))
}

// StreamSynchronize waits until a stream is empty.
func (l *Lib) StreamSynchronize(c Context, s Stream) Result {
	return Result(C.cudrv_stream_sync(l.api, C.cu_h(c), C.cu_h(s)))
}

// StreamQuery answers NotReady while a stream has work.
func (l *Lib) StreamQuery(c Context, s Stream) Result {
	return Result(C.cudrv_stream_query(l.api, C.cu_h(c), C.cu_h(s)))
}

// StreamWaitEvent lets later work of s wait for e.
func (l *Lib) StreamWaitEvent(c Context, s Stream, e Event) Result {
	return Result(C.cudrv_stream_wait(l.api, C.cu_h(c), C.cu_h(s), C.cu_h(e)))
}

// EventCreate makes an event.
func (l *Lib) EventCreate(c Context, f EventFlags) (Event, Result) {
	var e C.cu_h
	r := C.cudrv_event_create(l.api, C.cu_h(c), C.uint(f), &e)
	return Event(e), Result(r)
}

// EventDestroy destroys an event.
func (l *Lib) EventDestroy(c Context, e Event) Result {
	return Result(C.cudrv_event_destroy(l.api, C.cu_h(c), C.cu_h(e)))
}

// EventRecord marks the present end of a stream.
func (l *Lib) EventRecord(c Context, e Event, s Stream) Result {
	return Result(C.cudrv_event_record(l.api, C.cu_h(c), C.cu_h(e), C.cu_h(s)))
}

// EventSynchronize waits for an event.
func (l *Lib) EventSynchronize(c Context, e Event) Result {
	return Result(C.cudrv_event_sync(l.api, C.cu_h(c), C.cu_h(e)))
}

// EventQuery answers NotReady until an event has passed.
func (l *Lib) EventQuery(c Context, e Event) Result {
	return Result(C.cudrv_event_query(l.api, C.cu_h(c), C.cu_h(e)))
}

// EventElapsed is the time between two events in milliseconds.
func (l *Lib) EventElapsed(c Context, start, end Event) (float32, Result) {
	var ms C.float
	r := C.cudrv_event_elapsed(l.api, C.cu_h(c), C.cu_h(start), C.cu_h(end), &ms)
	return float32(ms), Result(r)
}

// CopyToDeviceAsync enqueues a copy from memory outside the Go heap.
func (l *Lib) CopyToDeviceAsync(c Context, dst DevicePtr, src unsafe.Pointer, n uint64, s Stream) Result {
	return Result(C.cudrv_copy_htod(l.api, C.cu_h(c), C.uint64_t(dst), src, C.size_t(n), C.cu_h(s)))
}

// CopyToHostAsync enqueues a copy to memory outside the Go heap.
func (l *Lib) CopyToHostAsync(c Context, dst unsafe.Pointer, src DevicePtr, n uint64, s Stream) Result {
	return Result(C.cudrv_copy_dtoh(l.api, C.cu_h(c), dst, C.uint64_t(src), C.size_t(n), C.cu_h(s)))
}

// CopyOnDeviceAsync enqueues a copy inside the card.
func (l *Lib) CopyOnDeviceAsync(c Context, dst, src DevicePtr, n uint64, s Stream) Result {
	return Result(C.cudrv_copy_dtod(l.api, C.cu_h(c), C.uint64_t(dst), C.uint64_t(src), C.size_t(n), C.cu_h(s)))
}

// MemsetAsync enqueues the filling of n bytes with v.
func (l *Lib) MemsetAsync(c Context, p DevicePtr, v byte, n uint64, s Stream) Result {
	return Result(C.cudrv_memset8(l.api, C.cu_h(c), C.uint64_t(p), C.uchar(v), C.size_t(n), C.cu_h(s)))
}

// CopyToDevice copies Go memory to the card in stream order and waits.
func (l *Lib) CopyToDevice(c Context, dst DevicePtr, src []byte, s Stream) Result {
	return Result(C.cudrv_copy_htod_wait(l.api, C.cu_h(c), C.uint64_t(dst),
		unsafe.Pointer(unsafe.SliceData(src)), C.size_t(len(src)), C.cu_h(s)))
}

// CopyToHost copies from the card into Go memory in stream order and waits.
func (l *Lib) CopyToHost(c Context, dst []byte, src DevicePtr, s Stream) Result {
	return Result(C.cudrv_copy_dtoh_wait(l.api, C.cu_h(c), unsafe.Pointer(unsafe.SliceData(dst)),
		C.uint64_t(src), C.size_t(len(dst)), C.cu_h(s)))
}

// ModuleLoad loads kernels. image must be a whole cubin or fatbin, or PTX ending in a zero byte.
func (l *Lib) ModuleLoad(c Context, image []byte) (Module, string, Result) {
	if len(image) == 0 {
		return 0, "", InvalidImage
	}
	var (
		m   C.cu_h
		log [4096]C.char
	)
	r := C.cudrv_module_load(l.api, C.cu_h(c), unsafe.Pointer(&image[0]), &m, &log[0], C.size_t(len(log)))
	runtime.KeepAlive(image)
	return Module(m), C.GoString(&log[0]), Result(r)
}

// ModuleUnload unloads kernels.
func (l *Lib) ModuleUnload(c Context, m Module) Result {
	return Result(C.cudrv_module_unload(l.api, C.cu_h(c), C.cu_h(m)))
}

// ModuleFunction finds a kernel by name.
func (l *Lib) ModuleFunction(c Context, m Module, name string) (Function, Result) {
	n := C.CString(name)
	defer C.free(unsafe.Pointer(n))
	var f C.cu_h
	r := C.cudrv_module_func(l.api, C.cu_h(c), C.cu_h(m), n, &f)
	return Function(f), Result(r)
}

// FuncAttribute reads one property of a kernel.
func (l *Lib) FuncAttribute(c Context, a FuncAttribute, f Function) (int, Result) {
	var v C.int
	r := C.cudrv_func_attr(l.api, C.cu_h(c), C.int(a), C.cu_h(f), &v)
	return int(v), Result(r)
}

// FuncSetAttribute sets one property of a kernel.
func (l *Lib) FuncSetAttribute(c Context, f Function, a FuncAttribute, v int) Result {
	return Result(C.cudrv_func_set_attr(l.api, C.cu_h(c), C.cu_h(f), C.int(a), C.int(v)))
}

// LaunchKernel enqueues a kernel with one parameter struct.
func (l *Lib) LaunchKernel(c Context, f Function, g Launch, params []byte) Result {
	if len(params) == 0 {
		return InvalidValue
	}
	geometry := [7]C.uint32_t{
		C.uint32_t(g.Grid[0]), C.uint32_t(g.Grid[1]), C.uint32_t(g.Grid[2]),
		C.uint32_t(g.Block[0]), C.uint32_t(g.Block[1]), C.uint32_t(g.Block[2]), C.uint32_t(g.SharedBytes),
	}
	return Result(C.cudrv_launch(l.api, C.cu_h(c), C.cu_h(f), &geometry[0], C.cu_h(g.Stream),
		unsafe.Pointer(&params[0])))
}
