package gpu

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
)

// makers make one child each, given the card, and close it.
func makers() map[string]func(*Device) error {
	return map[string]func(*Device) error{
		"ModuleLoad": func(d *Device) error {
			m, err := d.Load([]byte("image"))
			if err != nil {
				return err
			}
			return m.Close()
		},
		"StreamCreate": func(d *Device) error {
			s, err := d.NewStream()
			if err != nil {
				return err
			}
			return s.Close()
		},
		"EventCreate": func(d *Device) error {
			e, err := d.NewEvent()
			if err != nil {
				return err
			}
			return e.Close()
		},
		"HostAlloc": func(d *Device) error {
			m, err := AllocPinned[byte](d, 100)
			if err != nil {
				return err
			}
			return m.Close()
		},
		"MemAlloc": func(d *Device) error {
			a, err := d.Reserve(100)
			if err != nil {
				return err
			}
			return a.Close()
		},
		"MemInfo": func(d *Device) error {
			_, err := d.Leasable()
			return err
		},
	}
}

// children counts what keeps a card open.
func children(d *Device) (n int64) {
	for k := range kinds {
		n += d.counts[k].Load()
	}
	return n
}

// A card is not closed under a call of the driver that makes a child, however long that takes, and Stats does not wait for
// it.
func TestCloseWhileAChildIsMade(t *testing.T) {
	for op, work := range makers() {
		drv, d := open(t, two(), 0)
		finish := make(chan struct{})
		drv.Inject(fakedrv.Rule{Op: op, Block: finish})
		made := make(chan error)
		go func() { made <- work(d) }()
		for children(d) == 0 {
			runtime.Gosched()
		}
		if err := d.Close(); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", op, err)
		}
		d.Stats()
		close(finish)
		ok(t, <-made, d.Close())
		for other, work := range makers() {
			if err := work(d); !errors.Is(err, ErrClosed) {
				t.Errorf("%s of a closed card: %v", other, err)
			}
		}
		clean(t, drv)
	}
}

// Whatever the order, a card is either closed or has children, and the driver never sees a context that is gone.
func TestCloseRace(t *testing.T) {
	drv := fakedrv.New(two())
	s := NewSystem(drv)
	for range 200 {
		d := must(s.Open(0))(t)
		var wg sync.WaitGroup
		for op, work := range makers() {
			wg.Go(func() {
				if err := work(d); err != nil && !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", op, err)
				}
			})
		}
		wg.Go(func() {
			for err := d.Close(); err != nil; err = d.Close() {
				if !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
				runtime.Gosched()
			}
		})
		wg.Wait()
	}
	clean(t, drv)
}

func TestClosedHandle(t *testing.T) {
	drv, d := open(t, two(), 0)
	for op, work := range makers() {
		err := work(d.Closed())
		var e *Error
		if !errors.Is(err, ErrClosed) || !errors.As(err, &e) || e.Device != d.info.Identity {
			t.Errorf("%s: %v", op, err)
		}
	}
	ok(t, d.Closed().Close())
	if _, _, err := d.Memory(); err != nil {
		t.Error(err)
	}
	ok(t, d.Close())
	clean(t, drv)
}

// A card that is lost by its own Close stays lost.
func TestLostInClose(t *testing.T) {
	drv := fakedrv.New(two())
	s := NewSystem(drv)
	d := must(s.Open(0))(t)
	drv.Inject(fakedrv.Rule{Op: "PrimaryRelease", Result: cudrv.Unknown, Sticky: true})
	if err := d.Close(); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	if _, err := s.Open(0); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	ok(t, d.Close(), must(s.Open(1))(t).Close())
}

// A call of the driver that gives something back and does not return costs the card, after the time of the watchdog, and
// nobody's close waits longer. The call may come back later.
func TestReleaseThatHangs(t *testing.T) {
	for op, maker := range map[string]string{
		"MemFree": "MemAlloc", "HostFree": "HostAlloc", "StreamDestroy": "StreamCreate", "EventDestroy": "EventCreate",
		"ModuleUnload": "ModuleLoad", "PrimaryRelease": "EventCreate",
	} {
		drv := fakedrv.New(two())
		s := NewSystem(drv)
		d := must(s.OpenWith(0, &Options{Watchdog: 20 * time.Millisecond}))(t)
		finish := make(chan struct{})
		drv.Inject(fakedrv.Rule{Op: op, Block: finish})
		ok(t, makers()[maker](d)) // that the card is lost is for those to say who need it
		closed := d.Close()
		if (op == "PrimaryRelease") != errors.Is(closed, ErrLost) || op != "PrimaryRelease" && closed != nil {
			t.Errorf("%s: %v", op, closed)
		}
		_, err := s.Open(0)
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "nothing completed for 20") {
			t.Errorf("%s: %v", op, err)
		}
		other := must(s.Open(1))(t)
		ok(t, makers()["MemAlloc"](other), other.Close())
		before := drv.Calls()[op]
		close(finish)
		for drv.Calls()[op] == before {
			runtime.Gosched()
		}
	}
}

// While one waits for the driver to give something back, the loss of the card ends the wait.
func TestReleaseOnALostCard(t *testing.T) {
	drv, d := open(t, two(), 0)
	a := must(d.Reserve(100))(t)
	finish := make(chan struct{})
	defer close(finish)
	drv.Inject(fakedrv.Rule{Op: "MemFree", Block: finish})
	closed := make(chan error)
	go func() { closed <- a.Close() }()
	drv.Inject(fakedrv.Rule{Op: "MemInfo", Result: cudrv.ECCUncorrectable, Sticky: true})
	if _, _, err := d.Memory(); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	ok(t, <-closed, d.Close())
}
