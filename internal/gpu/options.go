package gpu

import "time"

// Options tunes a card. The zero value, and nil, mean the defaults. Open copies it.
type Options struct {
	// Piece is the estimated time of the work between two marks of a stream. 0 is 50 ms.
	Piece time.Duration
	// Watchdog is the time without a completed piece, or for the driver to take something back, after which the card is lost.
	// 0 is 30 s.
	Watchdog time.Duration
	// Patience is the longest time that a stream waits, at the edge of a piece, for more urgent ones. 0 is 1 s.
	Patience time.Duration
	// MemoryLimit is the most memory in bytes that the process may take of the card, context and modules included. 0 is
	// what is free at the first lease.
	MemoryLimit uint64
	// DebugSync waits after each launch, so that a fault names its kernel.
	DebugSync bool
}

// withDefaults is a copy of o, which may be nil, with every field set.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Piece == 0 {
		c.Piece = 50 * time.Millisecond
	}
	if c.Watchdog == 0 {
		c.Watchdog = 30 * time.Second
	}
	if c.Patience == 0 {
		c.Patience = time.Second
	}
	return c
}
