package fakedrv

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

func must(t *testing.T, r cudrv.Result) {
	t.Helper()
	if r != cudrv.Success {
		t.Fatal(r)
	}
}

// start gives a driver with one context and two streams.
func start(t *testing.T, cfg Config) (*Driver, cudrv.Context, [2]cudrv.Stream) {
	t.Helper()
	d := New(cfg)
	c, r := d.PrimaryRetain(0)
	must(t, r)
	var s [2]cudrv.Stream
	for i := range s {
		s[i], r = d.StreamCreate(c)
		must(t, r)
	}
	return d, c, s
}

func alloc(t *testing.T, d *Driver, c cudrv.Context, n uint64) cudrv.DevicePtr {
	t.Helper()
	p, r := d.MemAlloc(c, n)
	must(t, r)
	return p
}

func wantViolation(t *testing.T, d *Driver, text string) {
	t.Helper()
	if v := strings.Join(d.Violations(), "\n"); !strings.Contains(v, text) {
		t.Errorf("violations %q do not contain %q", v, text)
	}
}

// addKernel adds a number to n 64-bit values: params are pointer, n, number.
func addKernel(m *Memory, _ cudrv.Launch, params []byte) {
	p := cudrv.DevicePtr(binary.LittleEndian.Uint64(params))
	n := int(binary.LittleEndian.Uint64(params[8:]))
	for i := range Slice[uint64](m, p, n) {
		Slice[uint64](m, p, n)[i] += binary.LittleEndian.Uint64(params[16:])
	}
}

func addParams(p cudrv.DevicePtr, n, v uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(p))
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, n), v)
}

func load(t *testing.T, d *Driver, c cudrv.Context) cudrv.Function {
	t.Helper()
	d.Register("add", addKernel)
	m, _, r := d.ModuleLoad(c, []byte("image"))
	must(t, r)
	f, r := d.ModuleFunction(c, m, "add")
	must(t, r)
	return f
}

func one(s cudrv.Stream) cudrv.Launch {
	return cudrv.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1}, Stream: s}
}

func TestKernelRunsLazily(t *testing.T) {
	d, c, s := start(t, Config{})
	f := load(t, d, c)
	p := alloc(t, d, c, 16)
	must(t, d.MemsetAsync(c, p, 0, 16, s[0]))
	params := addParams(p, 2, 7)
	must(t, d.LaunchKernel(c, f, one(s[0]), params))
	clear(params) // parameters are copied at the launch
	if b := d.cards[0].mem.Bytes(uint64(p), 1); b[0] != Poison {
		t.Error("work ran before a wait")
	}
	got := make([]byte, 16)
	must(t, d.CopyToHost(c, got, p, s[0]))
	if got[0] != 7 || got[8] != 7 {
		t.Error(got)
	}
	if n := d.Calls()["LaunchKernel"]; n != 1 {
		t.Error(n)
	}
}

// TestMissingDependency: without an event the order of two streams depends on the seed.
func TestMissingDependency(t *testing.T) {
	run := func(seed uint64, depend bool) byte {
		d, c, s := start(t, Config{Seed: seed})
		p := alloc(t, d, c, 1)
		e, r := d.EventCreate(c, 0)
		must(t, r)
		must(t, d.MemsetAsync(c, p, 1, 1, s[0]))
		must(t, d.EventRecord(c, e, s[0]))
		if depend {
			must(t, d.StreamWaitEvent(c, s[1], e))
		}
		must(t, d.MemsetAsync(c, p, 2, 1, s[1]))
		must(t, d.StreamSynchronize(c, s[0]))
		must(t, d.StreamSynchronize(c, s[1]))
		got := make([]byte, 1)
		must(t, d.CopyToHost(c, got, p, s[1]))
		return got[0]
	}
	seen := map[byte]bool{}
	for seed := range uint64(16) {
		seen[run(seed, false)] = true
		if v := run(seed, true); v != 2 {
			t.Fatalf("seed %d: %d in spite of the event", seed, v)
		}
		if first, second := run(seed, false), run(seed, false); first != second {
			t.Fatalf("seed %d does not reproduce", seed)
		}
	}
	if !seen[1] || !seen[2] {
		t.Error("both orders should occur: ", seen)
	}
}

func TestViolations(t *testing.T) {
	d, c, s := start(t, Config{})
	f := load(t, d, c)
	p := alloc(t, d, c, 24)
	host, r := d.HostAlloc(c, 24)
	must(t, r)
	must(t, d.CopyToDeviceAsync(c, p, host, 24, s[0]))
	hostBytes(host, 1)[0] = 1
	must(t, d.StreamSynchronize(c, s[0]))
	wantViolation(t, d, "copy to the card")
	must(t, d.CopyToHostAsync(c, host, p, 24, s[0]))
	hostBytes(host, 1)[0] = 2
	must(t, d.StreamSynchronize(c, s[0]))
	wantViolation(t, d, "copy from the card")
	loose := make([]byte, 8)
	must(t, d.CopyToDeviceAsync(c, p, unsafe.Pointer(&loose[0]), 8, s[0]))
	wantViolation(t, d, "not page-locked")
	d.cards[0].mem.live[0].mem[zoneBytes+24] = 0
	wantViolation(t, d, "red zone")

	must(t, d.LaunchKernel(c, f, one(s[0]), addParams(p, 4, 1))) // one value too many
	if r := d.StreamSynchronize(c, s[0]); r != cudrv.IllegalAddress {
		t.Error(r)
	}
	wantViolation(t, d, "illegal address: 32 bytes")
	if _, r := d.MemAlloc(c, 8); r != cudrv.IllegalAddress {
		t.Error("the card should be lost: ", r)
	}
}

func TestUseAfterFree(t *testing.T) {
	d, c, s := start(t, Config{})
	f := load(t, d, c)
	p := alloc(t, d, c, 8)
	must(t, d.MemFree(c, p))
	if q := alloc(t, d, c, 8); q == p {
		t.Error("an address was given out twice")
	}
	if r := d.MemFree(c, p); r != cudrv.InvalidValue {
		t.Error(r)
	}
	must(t, d.LaunchKernel(c, f, one(s[0]), addParams(p, 1, 1)))
	if r := d.StreamSynchronize(c, s[0]); r != cudrv.IllegalAddress {
		t.Error(r)
	}
}

func TestHandlesBelongToContexts(t *testing.T) {
	d, c, s := start(t, Config{Cards: make([]Card, 2)})
	f := load(t, d, c)
	other, r := d.PrimaryRetain(1)
	must(t, r)
	p := alloc(t, d, c, 8)
	if r := d.MemFree(other, p); r != cudrv.InvalidValue {
		t.Error(r)
	}
	if r := d.StreamSynchronize(other, s[0]); r != cudrv.InvalidHandle {
		t.Error(r)
	}
	if r := d.LaunchKernel(other, f, one(s[0]), make([]byte, 24)); r != cudrv.InvalidHandle {
		t.Error(r)
	}
	if _, _, r := d.MemInfo(12345); r != cudrv.InvalidContext {
		t.Error(r)
	}
	last := d.Log()[len(d.Log())-2]
	if last.Op != "LaunchKernel" || last.Card != 1 || last.Context != other || last.Result != cudrv.InvalidHandle {
		t.Errorf("%+v", last)
	}
	must(t, d.PrimaryRelease(1))
	if r := d.PrimaryRelease(1); r != cudrv.InvalidContext {
		t.Error(r)
	}
	if _, _, r := d.MemInfo(other); r != cudrv.InvalidContext {
		t.Error("a released context was accepted: ", r)
	}
}

func TestRules(t *testing.T) {
	d, c, s := start(t, Config{Cards: []Card{{MemoryBytes: 1000}}, PinnedBytes: 100})
	d.Inject(Rule{Op: "MemAlloc", Card: -1, After: 1, Result: cudrv.OutOfMemory})
	p := alloc(t, d, c, 600)
	if _, r := d.MemAlloc(c, 8); r != cudrv.OutOfMemory {
		t.Error(r)
	}
	alloc(t, d, c, 8)
	if _, r := d.MemAlloc(c, 600); r != cudrv.OutOfMemory {
		t.Error("limit of the card: ", r)
	}
	must(t, d.MemFree(c, p))
	alloc(t, d, c, 600)
	if d.PeakBytes(0) != 608 {
		t.Error(d.PeakBytes(0))
	}
	if _, r := d.HostAlloc(c, 101); r != cudrv.OutOfMemory {
		t.Error("limit of pinned memory: ", r)
	}
	d.Inject(Rule{Op: "StreamQuery", Card: 0, Delay: 20 * time.Millisecond})
	begin := time.Now()
	must(t, d.StreamQuery(c, s[0]))
	if time.Since(begin) < 20*time.Millisecond {
		t.Error("no delay")
	}
	hold := make(chan struct{})
	d.Inject(Rule{Op: "StreamSynchronize", Card: -1, Block: hold})
	done := make(chan cudrv.Result)
	go func() { done <- d.StreamSynchronize(c, s[0]) }()
	select {
	case r := <-done:
		t.Error("the call did not block: ", r)
	case <-time.After(20 * time.Millisecond):
	}
	close(hold)
	must(t, <-done)
	d.Inject(Rule{Card: 0, Result: cudrv.ECCUncorrectable, Sticky: true})
	if _, _, r := d.MemInfo(c); r != cudrv.ECCUncorrectable {
		t.Error(r)
	}
	if r := d.StreamSynchronize(c, s[1]); r != cudrv.ECCUncorrectable {
		t.Error("not sticky: ", r)
	}
}

func TestUsageAndEvents(t *testing.T) {
	d, c, s := start(t, Config{})
	a, r := d.EventCreate(c, 0)
	must(t, r)
	b, r := d.EventCreate(c, cudrv.EventBlocking)
	must(t, r)
	if _, r := d.EventElapsed(c, a, b); r != cudrv.InvalidHandle {
		t.Error("elapsed before recording: ", r)
	}
	p := alloc(t, d, c, 8)
	must(t, d.EventRecord(c, a, s[0]))
	for range queryOps {
		must(t, d.MemsetAsync(c, p, 0, 8, s[0]))
	}
	must(t, d.EventRecord(c, b, s[0]))
	if r := d.EventQuery(c, b); r != cudrv.NotReady {
		t.Error(r)
	}
	must(t, d.EventSynchronize(c, b))
	if ms, r := d.EventElapsed(c, a, b); ms <= 0 || r != cudrv.Success {
		t.Error(ms, r)
	}
	if u := d.Usage(); u.Events != 2 || u.Streams != 2 || u.Allocations != 1 || u.DeviceBytes != 8 || u.Contexts != 1 {
		t.Errorf("%+v", u)
	}
	must(t, d.EventDestroy(c, a))
	must(t, d.EventDestroy(c, b))
	must(t, d.MemFree(c, p))
	must(t, d.StreamDestroy(c, s[0]))
	must(t, d.StreamDestroy(c, s[1]))
	must(t, d.PrimaryRelease(0))
	if u := d.Usage(); u != (Usage{}) {
		t.Errorf("%+v", u)
	}
}

func TestAccounting(t *testing.T) {
	d, c, s := start(t, Config{Cards: []Card{{MemoryBytes: 1 << 45}}, Accounting: true})
	f := load(t, d, c)
	p := alloc(t, d, c, 1<<44) // no such memory is touched
	must(t, d.MemsetAsync(c, p, 0, 1<<44, s[0]))
	must(t, d.LaunchKernel(c, f, one(s[0]), addParams(p, 1<<41, 1)))
	must(t, d.StreamSynchronize(c, s[0]))
	h, r := d.HostAlloc(c, 8)
	must(t, d.MemsetAsync(c, p+64, 5, 128, s[0]))
	must(t, d.MemsetAsync(c, p+128, 7, 64, s[0]))
	must(t, r)
	got := make([]byte, 8)
	must(t, d.CopyToHostAsync(c, h, p+64, 8, s[0]))
	must(t, d.CopyToHost(c, got, p+128, s[0]))
	must(t, d.StreamSynchronize(c, s[0]))
	for i, b := range hostBytes(h, 8) {
		if b != 5 || got[i] != 7 {
			t.Errorf("read back: %x %x", b, got[i])
		}
	}
	must(t, d.HostFree(c, h))
	if r := d.MemsetAsync(c, p, 0, 1<<44+1, s[0]); r != cudrv.InvalidValue {
		t.Error(r)
	}
	if v := d.Violations(); len(v) != 0 {
		t.Error(v)
	}
}

// TestHang: a card that hangs takes work and answers queries, runs nothing, and goes on after Resume.
func TestHang(t *testing.T) {
	d, c, s := start(t, Config{})
	p := alloc(t, d, c, 8)
	d.Inject(Rule{Op: "MemsetAsync", Card: 0, Hang: true})
	must(t, d.MemsetAsync(c, p, 1, 8, s[0]))
	must(t, d.MemsetAsync(c, p, 2, 8, s[0]))
	for range 5 {
		if r := d.StreamQuery(c, s[0]); r != cudrv.NotReady {
			t.Fatal(r)
		}
	}
	must(t, d.StreamQuery(c, s[1])) // nothing in it
	done := make(chan cudrv.Result)
	go func() { done <- d.StreamSynchronize(c, s[0]) }()
	select {
	case r := <-done:
		t.Fatal("a wait for a card that hangs ended: ", r)
	case <-time.After(10 * time.Millisecond):
	}
	d.Resume(0)
	must(t, <-done)
	if v := d.Violations(); len(v) > 0 {
		t.Error(v)
	}
}
