package fakedrv

import (
	"bytes"
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// handle makes a number that no other handle has.
func (d *Driver) handle() uintptr {
	d.next += 16
	return d.next
}

// Version implements cudrv.Driver, as the methods below do.
func (d *Driver) Version() (int, cudrv.Result) {
	c, r := d.enter("Version", 0, 0)
	return d.cfg.Version, c.leave(r)
}

// DeviceCount counts the cards.
func (d *Driver) DeviceCount() (int, cudrv.Result) {
	c, r := d.enter("DeviceCount", 0, 0)
	return len(d.cards), c.leave(r)
}

// DeviceGet gives the card with an ordinal.
func (d *Driver) DeviceGet(ordinal int) (cudrv.Device, cudrv.Result) {
	c, r := d.enterCard("DeviceGet", cudrv.Device(ordinal))
	return cudrv.Device(ordinal), c.leave(r)
}

// DeviceName is the card's name.
func (d *Driver) DeviceName(dev cudrv.Device) (s string, r cudrv.Result) {
	c, r := d.enterCard("DeviceName", dev)
	if r == cudrv.Success {
		s = c.card.Name
	}
	return s, c.leave(r)
}

// DeviceUUID is the card's identity.
func (d *Driver) DeviceUUID(dev cudrv.Device) (u [16]byte, r cudrv.Result) {
	c, r := d.enterCard("DeviceUUID", dev)
	if r == cudrv.Success {
		u = c.card.UUID
	}
	return u, c.leave(r)
}

// DevicePCI is the card's bus address.
func (d *Driver) DevicePCI(dev cudrv.Device) (s string, r cudrv.Result) {
	c, r := d.enterCard("DevicePCI", dev)
	if r == cudrv.Success {
		s = c.card.PCI
	}
	return s, c.leave(r)
}

// DeviceTotalMem is the card's memory.
func (d *Driver) DeviceTotalMem(dev cudrv.Device) (n uint64, r cudrv.Result) {
	c, r := d.enterCard("DeviceTotalMem", dev)
	if r == cudrv.Success {
		n = c.card.MemoryBytes
	}
	return n, c.leave(r)
}

// DeviceAttribute is a property of the card.
func (d *Driver) DeviceAttribute(a cudrv.Attribute, dev cudrv.Device) (v int, r cudrv.Result) {
	c, r := d.enterCard("DeviceAttribute", dev)
	if r == cudrv.Success {
		switch a {
		case cudrv.AttrMultiprocessors:
			v = c.card.SMs
		case cudrv.AttrMajor:
			v = c.card.Major
		case cudrv.AttrMinor:
			v = c.card.Minor
		case cudrv.AttrL2CacheBytes:
			v = 50 << 20
		case cudrv.AttrSharedPerMultiproc:
			v = 228 << 10
		case cudrv.AttrSharedPerBlockOptIn:
			v = 227 << 10
		}
	}
	return v, c.leave(r)
}

// PrimaryRetain counts one use of the context.
func (d *Driver) PrimaryRetain(dev cudrv.Device) (ctx cudrv.Context, r cudrv.Result) {
	c, r := d.enterCard("PrimaryRetain", dev)
	if r == cudrv.Success {
		if c.card.retained++; c.card.retained == 1 {
			c.card.ctx = cudrv.Context(d.handle())
		}
		d.usage.Contexts++
		ctx, c.line.Context = c.card.ctx, c.card.ctx
	}
	return ctx, c.leave(r)
}

// PrimaryRelease gives one use of the context back.
func (d *Driver) PrimaryRelease(dev cudrv.Device) cudrv.Result {
	c, r := d.enterCard("PrimaryRelease", dev)
	if r == cudrv.Success {
		if c.card.retained == 0 {
			return c.leave(cudrv.InvalidContext)
		}
		if c.card.retained--; c.card.retained == 0 && len(c.card.mem.live) > 0 {
			d.violate("card %d: context released with %d allocations", dev, len(c.card.mem.live))
		}
		d.usage.Contexts--
	}
	return c.leave(r)
}

// MemInfo is the free and the whole memory.
func (d *Driver) MemInfo(ctx cudrv.Context) (free, total uint64, r cudrv.Result) {
	c, r := d.enter("MemInfo", ctx, 0)
	if r == cudrv.Success {
		free, total = c.card.MemoryBytes-c.card.used, c.card.MemoryBytes
	}
	return free, total, c.leave(r)
}

// MemAlloc allocates device memory.
func (d *Driver) MemAlloc(ctx cudrv.Context, n uint64) (p cudrv.DevicePtr, r cudrv.Result) {
	c, r := d.enter("MemAlloc", ctx, n)
	if r != cudrv.Success {
		return 0, c.leave(r)
	}
	k := c.card
	if n == 0 {
		return 0, c.leave(cudrv.InvalidValue)
	}
	if n > k.MemoryBytes-k.used {
		return 0, c.leave(cudrv.OutOfMemory)
	}
	k.used += n
	k.peak = max(k.peak, k.used)
	d.usage.Allocations++
	d.usage.DeviceBytes += n
	return cudrv.DevicePtr(k.mem.alloc(n).base), c.leave(cudrv.Success)
}

// MemFree waits for the card and frees device memory.
func (d *Driver) MemFree(ctx cudrv.Context, p cudrv.DevicePtr) cudrv.Result {
	c, r := d.enter("MemFree", ctx, 0)
	if r == cudrv.Success {
		r = c.card.drainAll()
	}
	if r != cudrv.Success {
		return c.leave(r)
	}
	a := c.card.mem.free(p)
	if a == nil {
		return c.leave(cudrv.InvalidValue)
	}
	c.card.used -= a.n
	c.line.Bytes = a.n
	d.usage.Allocations--
	d.usage.DeviceBytes -= a.n
	return c.leave(cudrv.Success)
}

// HostAlloc allocates memory that counts as page-locked.
func (d *Driver) HostAlloc(ctx cudrv.Context, n uint64) (unsafe.Pointer, cudrv.Result) {
	c, r := d.enter("HostAlloc", ctx, n)
	if r == cudrv.Success && d.cfg.PinnedBytes > 0 && d.usage.PinnedBytes+n > d.cfg.PinnedBytes {
		r = cudrv.OutOfMemory
	}
	if r == cudrv.Success && n == 0 {
		r = cudrv.InvalidValue
	}
	if r != cudrv.Success {
		return nil, c.leave(r)
	}
	mem := make([]uint64, (n+7)/8)
	p := unsafe.Pointer(unsafe.SliceData(mem))
	d.pinned[p] = pinned{mem: mem, bytes: n}
	d.usage.Pinned++
	d.usage.PinnedBytes += n
	return p, c.leave(r)
}

// HostFree frees what HostAlloc gave.
func (d *Driver) HostFree(ctx cudrv.Context, p unsafe.Pointer) cudrv.Result {
	return d.unpin("HostFree", ctx, p, false)
}

// HostRegister page-locks existing memory.
func (d *Driver) HostRegister(ctx cudrv.Context, p unsafe.Pointer, n uint64) cudrv.Result {
	c, r := d.enter("HostRegister", ctx, n)
	if r == cudrv.Success && d.cfg.PinnedBytes > 0 && d.usage.PinnedBytes+n > d.cfg.PinnedBytes {
		r = cudrv.OutOfMemory
	}
	if r == cudrv.Success {
		d.pinned[p] = pinned{bytes: n, registered: true}
		d.usage.Registered++
		d.usage.PinnedBytes += n
	}
	return c.leave(r)
}

// HostUnregister undoes HostRegister.
func (d *Driver) HostUnregister(ctx cudrv.Context, p unsafe.Pointer) cudrv.Result {
	return d.unpin("HostUnregister", ctx, p, true)
}

func (d *Driver) unpin(op string, ctx cudrv.Context, p unsafe.Pointer, registered bool) cudrv.Result {
	c, r := d.enter(op, ctx, 0)
	if r == cudrv.Success {
		r = c.card.drainAll()
	}
	if r != cudrv.Success {
		return c.leave(r)
	}
	h, ok := d.pinned[p]
	if !ok || h.registered != registered {
		return c.leave(cudrv.InvalidValue)
	}
	delete(d.pinned, p)
	d.usage.PinnedBytes -= h.bytes
	if registered {
		d.usage.Registered--
	} else {
		d.usage.Pinned--
	}
	return c.leave(cudrv.Success)
}

// ModuleLoad accepts any image that is not empty.
func (d *Driver) ModuleLoad(ctx cudrv.Context, image []byte) (cudrv.Module, string, cudrv.Result) {
	c, r := d.enter("ModuleLoad", ctx, uint64(len(image)))
	switch {
	case r != cudrv.Success:
		return 0, "", c.leave(r)
	case len(image) == 0:
		return 0, "empty image", c.leave(cudrv.InvalidImage)
	case c.card.NoImage:
		return 0, "", c.leave(cudrv.NoBinaryForGPU)
	}
	m := cudrv.Module(d.handle())
	c.card.modules[m] = true
	d.usage.Modules++
	return m, "", c.leave(r)
}

// ModuleUnload forgets a module and its kernels.
func (d *Driver) ModuleUnload(ctx cudrv.Context, m cudrv.Module) cudrv.Result {
	c, r := d.enter("ModuleUnload", ctx, 0)
	if r == cudrv.Success && !c.card.modules[m] {
		r = cudrv.InvalidHandle
	}
	if r == cudrv.Success {
		delete(c.card.modules, m)
		d.usage.Modules--
		for f, fn := range d.funcs {
			if fn.mod == m {
				delete(d.funcs, f)
			}
		}
	}
	return c.leave(r)
}

// ModuleFunction finds a registered kernel.
func (d *Driver) ModuleFunction(ctx cudrv.Context, m cudrv.Module, name string) (cudrv.Function, cudrv.Result) {
	c, r := d.enter("ModuleFunction", ctx, 0)
	c.line.Kernel = name
	if r == cudrv.Success && !c.card.modules[m] {
		r = cudrv.InvalidHandle
	}
	if r == cudrv.Success && d.kernels[name] == nil {
		r = cudrv.NotFound
	}
	if r != cudrv.Success {
		return 0, c.leave(r)
	}
	f := cudrv.Function(d.handle())
	d.funcs[f] = function{name: name, card: c.card, mod: m}
	return f, c.leave(r)
}

// FuncAttribute answers plausible values.
func (d *Driver) FuncAttribute(ctx cudrv.Context, a cudrv.FuncAttribute, f cudrv.Function) (int, cudrv.Result) {
	c, r := d.enter("FuncAttribute", ctx, 0)
	if r == cudrv.Success && d.funcs[f].card != c.card {
		r = cudrv.InvalidHandle
	}
	v := 0
	switch a {
	case cudrv.FuncMaxThreads:
		v = 1024
	case cudrv.FuncRegisters:
		v = 64
	}
	return v, c.leave(r)
}

// FuncSetAttribute accepts what a card of this size would.
func (d *Driver) FuncSetAttribute(ctx cudrv.Context, f cudrv.Function, a cudrv.FuncAttribute, v int) cudrv.Result {
	c, r := d.enter("FuncSetAttribute", ctx, 0)
	if r == cudrv.Success && d.funcs[f].card != c.card {
		r = cudrv.InvalidHandle
	}
	if r == cudrv.Success && (a != cudrv.FuncMaxDynamicShared || v < 0 || v > 227<<10) {
		r = cudrv.InvalidValue
	}
	return c.leave(r)
}

// LaunchKernel enqueues a twin.
func (d *Driver) LaunchKernel(ctx cudrv.Context, f cudrv.Function, l cudrv.Launch, params []byte) cudrv.Result {
	c, r := d.enter("LaunchKernel", ctx, uint64(len(params)))
	c.line.Stream = l.Stream
	if r != cudrv.Success {
		return c.leave(r)
	}
	fn, ok := d.funcs[f]
	if !ok || fn.card != c.card {
		return c.leave(cudrv.InvalidHandle)
	}
	c.line.Kernel = fn.name
	threads := uint64(l.Block[0]) * uint64(l.Block[1]) * uint64(l.Block[2])
	if threads == 0 || threads > 1024 || l.Grid[0] == 0 || l.Grid[1] == 0 || l.Grid[2] == 0 ||
		l.Grid[0] > 1<<31-1 || l.Grid[1] > 65535 || l.Grid[2] > 65535 {
		return c.leave(cudrv.InvalidValue)
	}
	k, p, mem := d.kernels[fn.name], slices.Clone(params), c.card.mem
	o := op{run: func() { k(mem, l, p) }}
	if d.cfg.Accounting {
		o.run = nil
	}
	return c.leave(c.card.enqueue(l.Stream, o))
}

// copyOp checks the device range of a copy and makes the operation. In accounting mode that is account, or nothing.
func (c *call) copyOp(p cudrv.DevicePtr, n uint64, run func(dev []byte), account func(*allocation)) (op, cudrv.Result) {
	mem := c.card.mem
	a := mem.find(p, n)
	if a == nil {
		return op{}, cudrv.InvalidValue
	}
	if c.d.cfg.Accounting {
		if account == nil {
			return op{}, cudrv.Success
		}
		return op{run: func() { account(a) }}, cudrv.Success
	}
	return op{run: func() { run(mem.Bytes(uint64(p), n)) }}, cudrv.Success
}

// CopyToDeviceAsync enqueues a copy and remembers what the host memory held.
func (d *Driver) CopyToDeviceAsync(ctx cudrv.Context, dst cudrv.DevicePtr, src unsafe.Pointer, n uint64, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("CopyToDeviceAsync", ctx, n)
	c.line.Stream = s
	if r != cudrv.Success {
		return c.leave(r)
	}
	d.checkPinned("CopyToDeviceAsync", src, n)
	host := hostBytes(src, n)
	var sum uint64
	if !d.cfg.Accounting {
		sum = maphash.Bytes(hashSeed, host)
	}
	o, r := c.copyOp(dst, n, func(dev []byte) {
		if maphash.Bytes(hashSeed, host) != sum {
			d.violate("host memory changed between the enqueuing of a copy to the card and its run")
		}
		copy(dev, host)
	}, nil)
	if r == cudrv.Success {
		r = c.card.enqueue(s, o)
	}
	return c.leave(r)
}

// CopyToHostAsync enqueues a copy; until it runs the host memory must not be touched.
func (d *Driver) CopyToHostAsync(ctx cudrv.Context, dst unsafe.Pointer, src cudrv.DevicePtr, n uint64, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("CopyToHostAsync", ctx, n)
	c.line.Stream = s
	if r != cudrv.Success {
		return c.leave(r)
	}
	d.checkPinned("CopyToHostAsync", dst, n)
	host := hostBytes(dst, n)
	before := bytes.Clone(host)
	o, r := c.copyOp(src, n, func(dev []byte) {
		if !bytes.Equal(host, before) {
			d.violate("host memory changed between the enqueuing of a copy from the card and its run")
		}
		copy(host, dev)
	}, func(a *allocation) { fill(host, a.lastFill(uint64(src))) })
	if r == cudrv.Success {
		r = c.card.enqueue(s, o)
	}
	return c.leave(r)
}

// CopyOnDeviceAsync enqueues a copy inside the card.
func (d *Driver) CopyOnDeviceAsync(ctx cudrv.Context, dst, src cudrv.DevicePtr, n uint64, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("CopyOnDeviceAsync", ctx, n)
	c.line.Stream = s
	if r != cudrv.Success {
		return c.leave(r)
	}
	mem := c.card.mem
	if mem.find(src, n) == nil {
		return c.leave(cudrv.InvalidValue)
	}
	o, r := c.copyOp(dst, n, func(dev []byte) { copy(dev, mem.Bytes(uint64(src), n)) }, nil)
	if r == cudrv.Success {
		r = c.card.enqueue(s, o)
	}
	return c.leave(r)
}

// MemsetAsync enqueues a fill.
func (d *Driver) MemsetAsync(ctx cudrv.Context, p cudrv.DevicePtr, v byte, n uint64, s cudrv.Stream) cudrv.Result {
	c, r := d.enter("MemsetAsync", ctx, n)
	c.line.Stream = s
	if r != cudrv.Success {
		return c.leave(r)
	}
	o, r := c.copyOp(p, n, func(dev []byte) { fill(dev, v) }, func(a *allocation) { a.noteFill(uint64(p), n, v) })
	if r == cudrv.Success {
		r = c.card.enqueue(s, o)
	}
	return c.leave(r)
}

// CopyToDevice copies in stream order and waits.
func (d *Driver) CopyToDevice(ctx cudrv.Context, dst cudrv.DevicePtr, src []byte, s cudrv.Stream) cudrv.Result {
	return d.copyWait("CopyToDevice", ctx, dst, uint64(len(src)), s, func(dev []byte) { copy(dev, src) }, nil)
}

// CopyToHost copies in stream order and waits.
func (d *Driver) CopyToHost(ctx cudrv.Context, dst []byte, src cudrv.DevicePtr, s cudrv.Stream) cudrv.Result {
	return d.copyWait("CopyToHost", ctx, src, uint64(len(dst)), s, func(dev []byte) { copy(dst, dev) },
		func(a *allocation) { fill(dst, a.lastFill(uint64(src))) })
}

func (d *Driver) copyWait(name string, ctx cudrv.Context, p cudrv.DevicePtr, n uint64, s cudrv.Stream, run func([]byte),
	account func(*allocation),
) cudrv.Result {
	c, r := d.enter(name, ctx, n)
	c.line.Stream = s
	if r != cudrv.Success {
		return c.leave(r)
	}
	o, r := c.copyOp(p, n, run, account)
	if r == cudrv.Success {
		r = c.card.enqueue(s, o)
	}
	if q := c.card.drainStream(s); r == cudrv.Success {
		r = q
	}
	return c.leave(r)
}
