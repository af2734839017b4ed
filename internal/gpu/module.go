package gpu

import (
	"errors"
	"runtime"
	"time"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// Module is a loaded image of kernels. It is safe for concurrent use.
type Module struct {
	d       *Device
	m       cudrv.Module
	h       *handle
	cleanup runtime.Cleanup
}

// Load loads a fatbin or cubin.
func (d *Device) Load(image []byte) (*Module, error) {
	const op = "cuModuleLoadDataEx"
	if err := d.adopt(kindModule, op); err != nil {
		return nil, err
	}
	mod, log, r := d.drv.ModuleLoad(d.ctx, image)
	if err := d.check(r, op, "", nil); err != nil {
		d.disown(kindModule)
		err.(*Error).Detail = log
		return nil, err
	}
	m := &Module{d: d, m: mod}
	m.h = d.child(kindModule, "cuModuleUnload", func() cudrv.Result { return d.drv.ModuleUnload(d.ctx, mod) })
	m.cleanup = runtime.AddCleanup(m, leaked, m.h)
	return m, nil
}

// Close unloads the kernels. None of them may be running.
func (m *Module) Close() error {
	m.cleanup.Stop()
	return m.h.close()
}

// Function is one kernel of a Module.
type Function struct {
	m    *Module
	f    cudrv.Function
	name string
}

// Function finds a kernel.
func (m *Module) Function(name string) (*Function, error) {
	if err := m.d.alive("cuModuleGetFunction"); err != nil {
		return nil, err
	}
	f, r := m.d.drv.ModuleFunction(m.d.ctx, m.m, name)
	if err := m.d.check(r, "cuModuleGetFunction", name, nil); err != nil {
		return nil, err
	}
	return &Function{m: m, f: f, name: name}, nil
}

// Name is the kernel's name.
func (f *Function) Name() string { return f.name }

// Registers is the number of registers of a thread.
func (f *Function) Registers() (int, error) {
	if err := f.m.d.alive("cuFuncGetAttribute"); err != nil {
		return 0, err
	}
	n, r := f.m.d.drv.FuncAttribute(f.m.d.ctx, cudrv.FuncRegisters, f.f)
	return n, f.m.d.check(r, "cuFuncGetAttribute", f.name, nil)
}

// Grid is the geometry of a launch: blocks in x and y, threads of a block. Micros is a rough estimate of the launch's
// time on the card in microseconds, from which streams cut their pieces; it should be at most a piece, 50 ms.
type Grid struct {
	Blocks, BlocksY, Threads int
	Micros                   int
}

// Launch enqueues a kernel with its parameter struct, whose bytes are copied. P must mirror the
// kernel's struct and hold no Go pointers.
func Launch[P any](s *Stream, f *Function, g Grid, params *P) error {
	const op = "cuLaunchKernel"
	if err := s.usable(op); err != nil {
		return err
	}
	if f.m.d != s.d {
		return s.d.argument(op, "kernel %s is loaded on %s", f.name, f.m.d.info.Identity)
	}
	if g.BlocksY == 0 {
		g.BlocksY = 1
	}
	if g.Blocks < 1 || g.Blocks > 1<<31-1 || g.BlocksY < 0 || g.BlocksY > 65535 || g.Threads < 1 || g.Threads > 1024 ||
		g.Micros < 0 {
		return s.d.argument(op, "kernel %s with geometry %+v", f.name, g)
	}
	if err := s.enter(op); err != nil {
		return err
	}
	return s.launch(f, g, unsafe.Slice((*byte)(unsafe.Pointer(params)), unsafe.Sizeof(*params)))
}

func (s *Stream) launch(f *Function, g Grid, params []byte) error {
	s.ring.add(f.name)
	s.d.launches.Add(1)
	r := s.d.drv.LaunchKernel(s.d.ctx, f.f, cudrv.Launch{
		Grid:   [3]uint32{uint32(g.Blocks), uint32(g.BlocksY), 1},
		Block:  [3]uint32{uint32(g.Threads), 1, 1},
		Stream: s.p.s,
	}, params)
	if err := s.d.check(r, "cuLaunchKernel", f.name, nil); err != nil {
		return err
	}
	if s.d.opts.DebugSync {
		return s.settle(f.name)
	}
	return s.spend(time.Duration(g.Micros) * time.Microsecond)
}

// settle waits for the stream and names the kernel that was launched last in what it answers.
func (s *Stream) settle(kernel string) error {
	err := s.Wait()
	var e *Error
	if errors.As(err, &e) {
		named := *e
		named.Kernel = kernel
		return &named
	}
	return err
}
