package fakedrv

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/gocuzk/cuzk/internal/cudrv"
)

// Poison fills device memory that nothing has written.
const Poison = 0xa5

// Card describes one made-up card. Zero fields get defaults: a name, an identity and a bus
// address from the ordinal, 1 GiB of memory, capability 9.0, 4 multiprocessors.
type Card struct {
	Name         string
	UUID         [16]byte
	PCI          string
	MemoryBytes  uint64
	Major, Minor int
	SMs          int
	NoImage      bool // no module has code for this card
}

// Config makes a Driver. The zero value is one default card.
type Config struct {
	Cards      []Card
	Seed       uint64 // chooses the order between streams
	Version    int    // driver version; 0 is cudrv.MinVersion
	Accounting bool   // sizes and calls only
	// PinnedBytes limits page-locked memory; 0 is no limit.
	PinnedBytes uint64
}

// Kernel is the Go twin of a CUDA kernel. It runs the whole grid and reads its arguments from
// params. A panic in it is the card's illegal address.
type Kernel func(m *Memory, l cudrv.Launch, params []byte)

// Rule changes what some calls do. A rule applies to the calls that match Op and Card, from
// the After+1st matching call on, Times times.
type Rule struct {
	Op     string          // method name of cudrv.Driver; "" matches all
	Card   int             // ordinal; -1 matches all
	After  int             // matching calls that pass first
	Times  int             // how often it applies; 0 is once, negative for ever
	Result cudrv.Result    // answered instead of making the call, unless Success
	Sticky bool            // with Result: the card is lost from then on
	Delay  time.Duration   // waited before the call
	Block  <-chan struct{} // waited for before the call, as a driver that hangs
	Hang   bool            // from the call on the card runs nothing, until Resume; waits for it block, queries answer NotReady
}

// Call is one line of the log.
type Call struct {
	Op      string
	Card    int // ordinal, or -1
	Context cudrv.Context
	Stream  cudrv.Stream // of a call that concerns one
	Bytes   uint64       // size of an allocation, copy or fill
	Kernel  string       // name of a launched kernel
	Result  cudrv.Result
}

// Usage counts what has been made and not given back.
type Usage struct {
	Contexts, Allocations, Pinned, Registered, Streams, Events, Modules int
	DeviceBytes, PinnedBytes                                            uint64
}

// Driver is the fake. It implements cudrv.Driver.
type Driver struct {
	cfg Config

	mu         sync.Mutex
	resumed    *sync.Cond // of mu: a card that hung runs again
	rng        *rand.Rand
	cards      []*card
	kernels    map[string]Kernel
	funcs      map[cudrv.Function]function
	pinned     map[unsafe.Pointer]pinned
	rules      []*rule
	log        []Call
	next       uintptr
	usage      Usage
	violations []string
}

type rule struct {
	Rule
	seen, done int
}

type function struct {
	name string
	card *card
	mod  cudrv.Module
}

type pinned struct {
	mem        []uint64
	bytes      uint64
	registered bool
}

var _ cudrv.Driver = (*Driver)(nil)

// New makes a driver.
func New(cfg Config) *Driver {
	if len(cfg.Cards) == 0 {
		cfg.Cards = make([]Card, 1)
	}
	if cfg.Version == 0 {
		cfg.Version = cudrv.MinVersion
	}
	d := &Driver{
		cfg:     cfg,
		rng:     rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)),
		kernels: map[string]Kernel{},
		funcs:   map[cudrv.Function]function{},
		pinned:  map[unsafe.Pointer]pinned{},
	}
	d.resumed = sync.NewCond(&d.mu)
	for i, c := range cfg.Cards {
		d.cards = append(d.cards, newCard(d, i, c))
	}
	return d
}

// Register makes a kernel known by name, for all cards.
func (d *Driver) Register(name string, k Kernel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kernels[name] = k
}

// Inject adds a rule. Rules are tried in the order in which they were added; the first that
// applies to a call decides.
func (d *Driver) Inject(r Rule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Times == 0 {
		r.Times = 1
	}
	d.rules = append(d.rules, &rule{Rule: r})
}

// Resume lets a card that hangs run again.
func (d *Driver) Resume(ordinal int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cards[ordinal].hung = false
	d.resumed.Broadcast()
}

// Log is a copy of all calls so far.
func (d *Driver) Log() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.log)
}

// Calls counts the calls so far by method name.
func (d *Driver) Calls() map[string]int {
	n := map[string]int{}
	for _, c := range d.Log() {
		n[c.Op]++
	}
	return n
}

// Usage is what is allocated now, on all cards.
func (d *Driver) Usage() Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usage
}

// PeakBytes is the most device memory that a card has had allocated.
func (d *Driver) PeakBytes(ordinal int) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cards[ordinal].peak
}

// Violations lists the rules of CUDA that callers broke and a real driver would not have
// reported: red zones overwritten, host memory changed under a copy, and the like. It checks
// the red zones of live memory first.
func (d *Driver) Violations() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.cards {
		for _, a := range c.mem.live {
			c.mem.checkZones(a)
		}
	}
	return slices.Clone(d.violations)
}

// Kernels are the registered names, sorted.
func (d *Driver) Kernels() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.kernels))
}

func (d *Driver) violate(format string, args ...any) {
	d.violations = append(d.violations, fmt.Sprintf(format, args...))
}

// call is one driver call in progress. It holds d.mu.
type call struct {
	d    *Driver
	card *card
	line Call
}

// enter starts a call: it takes the lock, applies the rules and checks the context. If the
// result is not Success the call must return it (through leave).
func (d *Driver) enter(op string, ctx cudrv.Context, bytes uint64) (*call, cudrv.Result) {
	d.mu.Lock()
	c := &call{d: d, line: Call{Op: op, Card: -1, Context: ctx, Bytes: bytes}}
	if ctx != 0 {
		for _, k := range d.cards {
			if k.ctx == ctx && k.retained > 0 {
				c.card, c.line.Card = k, k.ordinal
			}
		}
		if c.card == nil {
			return c, cudrv.InvalidContext
		}
	}
	return c, c.rules()
}

// enterCard starts a call that names a card and needs no context.
func (d *Driver) enterCard(op string, dev cudrv.Device) (*call, cudrv.Result) {
	d.mu.Lock()
	c := &call{d: d, line: Call{Op: op, Card: -1}}
	if int(dev) < 0 || int(dev) >= len(d.cards) {
		return c, cudrv.InvalidDevice
	}
	c.card, c.line.Card = d.cards[dev], int(dev)
	return c, c.rules()
}

func (c *call) rules() cudrv.Result {
	for _, r := range c.d.rules {
		if r.Op != "" && r.Op != c.line.Op || r.Card >= 0 && r.Card != c.line.Card {
			continue
		}
		if r.seen++; r.seen <= r.After || r.Times >= 0 && r.done >= r.Times {
			continue
		}
		r.done++
		if r.Delay > 0 || r.Block != nil {
			c.d.mu.Unlock()
			time.Sleep(r.Delay)
			if r.Block != nil {
				<-r.Block
			}
			c.d.mu.Lock()
		}
		if r.Hang && c.card != nil {
			c.card.hung = true
		}
		if r.Result == cudrv.Success {
			break
		}
		if r.Sticky && c.card != nil {
			c.card.lost = r.Result
		}
		return r.Result
	}
	if c.card != nil {
		return c.card.lost
	}
	return cudrv.Success
}

// leave ends a call with its result.
func (c *call) leave(r cudrv.Result) cudrv.Result {
	c.line.Result = r
	c.d.log = append(c.d.log, c.line)
	c.d.mu.Unlock()
	return r
}
