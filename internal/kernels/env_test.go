package kernels

import (
	"os"
	"strings"
	"testing"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// env is a card ready for kernels.
type env struct {
	d    *gpu.Device
	l    *Library
	s    *gpu.Stream
	a    *gpu.Arena
	ntt  *NTT
	fake *fakedrv.Driver // nil on a real card
}

func newEnv(t testing.TB, drv cudrv.Driver, arenaBytes uint64) *env {
	t.Helper()
	e := &env{}
	var err error
	check := func(what string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	e.d, err = gpu.NewSystem(drv).Open(0)
	check("open")
	if arenaBytes == 0 {
		free, _, merr := e.d.Memory()
		err = merr
		check("memory")
		arenaBytes = free - 1<<30
	}
	e.l, err = Load(e.d)
	check("load")
	e.s, err = e.d.NewStream()
	check("stream")
	e.a, err = e.d.Reserve(arenaBytes)
	check("reserve")
	e.ntt, err = NewNTT(e.l, e.s, e.a)
	check("tables")
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{e.a, e.s, e.l, e.d} {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if e.fake != nil {
			if v := e.fake.Violations(); len(v) > 0 {
				t.Errorf("violations:\n%s", strings.Join(v, "\n"))
			}
			if u := e.fake.Usage(); u != (fakedrv.Usage{}) {
				t.Errorf("not given back: %+v", u)
			}
		}
	})
	return e
}

// registerTwins makes the twins known to a fake driver.
func registerTwins(d *fakedrv.Driver) {
	for name, twin := range Twins() {
		d.Register(name, func(m *fakedrv.Memory, l cudrv.Launch, params []byte) {
			twin(m, gpu.Grid{Blocks: int(l.Grid[0]), BlocksY: int(l.Grid[1]), Threads: int(l.Block[0])}, params)
		})
	}
}

// onFake is a made-up card on which the twins run.
func onFake(t testing.TB, seed uint64) *env {
	t.Helper()
	fake := fakedrv.New(fakedrv.Config{Seed: seed})
	registerTwins(fake)
	e := newEnv(t, fake, 96<<20)
	e.fake = fake
	return e
}

// onGPU is the first real card, with all of its memory but 1 GiB. Without a card the test is skipped
// with the reason, or fails if CUZK_REQUIRE_GPU is 1.
func onGPU(t testing.TB) *env {
	t.Helper()
	return onGPUWith(t, 0)
}

// onGPUWith is onGPU with an arena of some bytes.
func onGPUWith(t testing.TB, arenaBytes uint64) *env {
	t.Helper()
	lib, err := cudrv.Open("")
	if err != nil {
		if os.Getenv("CUZK_REQUIRE_GPU") == "1" {
			t.Fatalf("CUZK_REQUIRE_GPU is set: %v", err)
		}
		t.Skip("no GPU: ", err)
	}
	return newEnv(t, lib, arenaBytes)
}

// upload puts a slice into the arena.
func upload[T any](t testing.TB, e *env, s []T) gpu.View[T] {
	t.Helper()
	v := room[T](t, e, len(s))
	if err := gpu.UploadSlice(e.s, v, s); err != nil {
		t.Fatal(err)
	}
	return v
}

func room[T any](t testing.TB, e *env, n int) gpu.View[T] {
	t.Helper()
	v, err := gpu.Alloc[T](e.a, n)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func fetch[T any](t testing.TB, e *env, v gpu.View[T]) []T {
	t.Helper()
	s := make([]T, v.Len())
	if err := gpu.DownloadSlice(e.s, s, v); err != nil {
		t.Fatal(err)
	}
	return s
}
